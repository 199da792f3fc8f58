-- How many bytes would each host save if it kept one file of each content?
WITH groups AS (
    SELECT host, size, count(*) AS files
    FROM inodes
    WHERE digest IS NOT NULL
    GROUP BY bucket, size, digest, host)
SELECT host, sum(files - 1) AS files, sum((files - 1) * size) AS bytes
FROM groups
GROUP BY host
ORDER BY host
