-- How many files of each host are elsewhere, only here, or not compared, and how many are redundant?
-- The first and the last host (by name) that have one of some files show whether a host other than X has one.
-- Only digests of one kind (1: MD5, 2: BLAKE3) can be compared. Files with another kind, or without one, may be equal.
, kinds AS (
    SELECT bucket, size, head, digest, host, count(*) AS files,
        CASE WHEN digest IS NULL THEN 0 WHEN length(hex(digest)) = 32 THEN 1 ELSE 2 END AS kind
    FROM files
    GROUP BY bucket, size, head, digest, host),
digests AS (
    SELECT bucket, size, digest, count(DISTINCT host) AS hosts
    FROM kinds
    WHERE digest IS NOT NULL
    GROUP BY bucket, size, digest),
heads AS (
    SELECT k.bucket, k.size, k.head, w.kind, min(k.host) AS least, max(k.host) AS most
    FROM kinds k
    CROSS JOIN (SELECT 0 AS kind UNION ALL SELECT 1 AS kind UNION ALL SELECT 2 AS kind) w
    WHERE w.kind = 0 OR w.kind <> k.kind
    GROUP BY k.bucket, k.size, k.head, w.kind),
sizes AS (
    SELECT bucket, size, kind, min(least) AS least, max(most) AS most,
        min(CASE WHEN head IS NULL THEN least END) AS headless_least,
        max(CASE WHEN head IS NULL THEN most END) AS headless_most
    FROM heads
    GROUP BY bucket, size, kind),
answers AS (
    SELECT k.host, k.size, k.files, CASE
        WHEN d.hosts > 1 THEN 'elsewhere'
        WHEN k.head IS NULL AND (s.least <> k.host OR s.most <> k.host) THEN 'unknown'
        WHEN k.head IS NOT NULL AND (h.least <> k.host OR h.most <> k.host
            OR s.headless_least <> k.host OR s.headless_most <> k.host) THEN 'unknown'
        ELSE 'only_here' END AS answer
    FROM kinds k
    LEFT JOIN digests d ON d.bucket = k.bucket AND d.size = k.size AND d.digest = k.digest
    LEFT JOIN sizes s ON s.bucket = k.bucket AND s.size = k.size AND s.kind = k.kind
    LEFT JOIN heads h ON h.bucket = k.bucket AND h.size = k.size AND h.kind = k.kind AND h.head = k.head),
copies AS (
    SELECT host, size, sum(files) - 1 AS files
    FROM kinds
    WHERE digest IS NOT NULL
    GROUP BY bucket, size, digest, host)
SELECT host, answer, sum(files) AS files, sum(files * size) AS bytes
FROM answers
GROUP BY host, answer
UNION ALL
SELECT host, 'redundant' AS answer, sum(files) AS files, sum(files * size) AS bytes
FROM copies
GROUP BY host
