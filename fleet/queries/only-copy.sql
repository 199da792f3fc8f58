-- How many contents of each host exist in only one file, as far as digests show? Losing the file loses the content.
WITH lone AS (
    SELECT min(host) AS owner, size
    FROM inodes
    WHERE digest IS NOT NULL
    GROUP BY bucket, size, digest
    HAVING count(*) = 1)
SELECT owner, count(*) AS contents, sum(size) AS bytes
FROM lone
GROUP BY owner
ORDER BY owner
