-- Which hosts have the contents with the most copies?
WITH most AS (
    SELECT bucket, size, digest, count(*) AS files
    FROM inodes
    WHERE digest IS NOT NULL
    GROUP BY bucket, size, digest
    HAVING count(*) > 1
    ORDER BY files DESC, size DESC, digest
    LIMIT 20)
SELECT m.files, m.size, lower(hex(m.digest)) AS digest, i.host, count(*) AS on_host
FROM most m
JOIN inodes i ON i.bucket = m.bucket AND i.size = m.size AND i.digest = m.digest
GROUP BY m.files, m.size, m.digest, i.host
ORDER BY m.files DESC, m.size DESC, digest, i.host
