-- How many files of each host are elsewhere, only here, or not compared, and how many of them are redundant?
-- The first and the last host (by name) that have one of some files show whether a host other than X has one.
-- Two digests can be compared only if they are of one kind (1: MD5, 2: BLAKE3). If those of two files cannot be compared,
-- or one is missing, the files may be equal, unless both have a head and the heads differ.
, kinds AS (
    SELECT bucket, size, head, digest, host, count(*) AS files,
        CASE WHEN digest IS NULL THEN 0 WHEN length(hex(digest)) = 32 THEN 1 ELSE 2 END AS kind
    FROM files
    GROUP BY bucket, size, head, digest, host),
numbered AS (
    SELECT bucket, size, head, digest, host, files, kind,
        -- The host, if its files may equal a file with a digest of kind 1, and the same for kind 2.
        CASE WHEN kind <> 1 THEN host END AS for_1,
        CASE WHEN kind <> 2 THEN host END AS for_2,
        row_number() OVER (PARTITION BY bucket, size, digest, host ORDER BY head) AS number
    FROM kinds),
of_digests AS (
    SELECT bucket, size, head, host, files, kind, for_1, for_2,
        CASE WHEN head IS NULL THEN host END AS headless,
        CASE WHEN head IS NULL THEN for_1 END AS headless_1,
        CASE WHEN head IS NULL THEN for_2 END AS headless_2,
        digest IS NOT NULL AND min(host) OVER same <> max(host) OVER same AS is_elsewhere,
        CASE WHEN digest IS NULL THEN 0 WHEN number = 1 THEN files - 1 ELSE files END AS redundant
    FROM numbered
    WINDOW same AS (PARTITION BY bucket, size, digest)),
-- Does another host have files that may be equal: of the same head, of the same size, or of this size without a head?
of_sizes AS (
    SELECT size, head, host, files, is_elsewhere, redundant,
        CASE kind
            WHEN 0 THEN min(host) OVER heads <> host OR max(host) OVER heads <> host
            WHEN 1 THEN min(for_1) OVER heads <> host OR max(for_1) OVER heads <> host
            ELSE min(for_2) OVER heads <> host OR max(for_2) OVER heads <> host END AS same_head,
        CASE kind
            WHEN 0 THEN min(host) OVER sizes <> host OR max(host) OVER sizes <> host
            WHEN 1 THEN min(for_1) OVER sizes <> host OR max(for_1) OVER sizes <> host
            ELSE min(for_2) OVER sizes <> host OR max(for_2) OVER sizes <> host END AS same_size,
        CASE kind
            WHEN 0 THEN min(headless) OVER sizes <> host OR max(headless) OVER sizes <> host
            WHEN 1 THEN min(headless_1) OVER sizes <> host OR max(headless_1) OVER sizes <> host
            ELSE min(headless_2) OVER sizes <> host OR max(headless_2) OVER sizes <> host END AS without_head
    FROM of_digests
    WINDOW heads AS (PARTITION BY bucket, size, head), sizes AS (PARTITION BY bucket, size)),
answers AS (
    SELECT host, size, files, redundant, CASE
        WHEN is_elsewhere THEN 'elsewhere'
        WHEN head IS NULL AND same_size THEN 'unknown'
        WHEN head IS NOT NULL AND (same_head OR without_head) THEN 'unknown'
        ELSE 'only_here' END AS answer
    FROM of_sizes)
SELECT host, answer, sum(files) AS files, sum(files * size) AS bytes,
    sum(redundant) AS redundant_files, sum(redundant * size) AS redundant_bytes
FROM answers
GROUP BY host, answer
