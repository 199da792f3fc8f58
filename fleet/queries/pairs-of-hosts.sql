-- Which pairs of hosts have the most bytes in common? Each content counts once for a pair of hosts.
WITH contents_of_hosts AS (
    SELECT DISTINCT bucket, size, digest, host
    FROM inodes
    WHERE digest IS NOT NULL)
SELECT a.host AS host, b.host AS other, count(*) AS shared_contents, sum(a.size) AS shared_bytes
FROM contents_of_hosts a
JOIN contents_of_hosts b ON a.bucket = b.bucket AND a.size = b.size AND a.digest = b.digest
WHERE a.host < b.host
GROUP BY a.host, b.host
ORDER BY shared_bytes DESC, a.host, b.host
