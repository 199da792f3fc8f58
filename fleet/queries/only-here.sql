-- How many files of each host exist elsewhere, how many exist only here, and how many have not been compared?
-- Digests of different lengths are of different kinds and cannot be compared.
-- The query compares each file with all files of its size. 'lop-fleet report' answers it in linear time.
WITH answers AS (
    SELECT i.host, i.inode_id, i.size, CASE
        WHEN bool_or(coalesce(o.digest = i.digest, false)) THEN 'elsewhere'
        WHEN bool_and(o.host IS NULL
            OR coalesce(o.head <> i.head, false)
            OR coalesce(o.digest <> i.digest AND length(hex(o.digest)) = length(hex(i.digest)), false)) THEN 'only here'
        ELSE 'not compared' END AS answer
    FROM inodes i
    LEFT JOIN inodes o ON o.bucket = i.bucket AND o.size = i.size AND o.host <> i.host
    GROUP BY i.host, i.inode_id, i.size)
SELECT host, answer, count(*) AS files, sum(size) AS bytes
FROM answers
GROUP BY host, answer
ORDER BY host, answer
