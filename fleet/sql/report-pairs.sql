-- Which pairs of hosts share the most bytes? Each content counts once for a pair of hosts.
, contents_of_hosts AS (
    SELECT DISTINCT bucket, size, digest, host
    FROM files
    WHERE digest IS NOT NULL)
SELECT a.host AS host, b.host AS other, sum(a.size) AS bytes
FROM contents_of_hosts a
JOIN contents_of_hosts b ON b.bucket = a.bucket AND b.size = a.size AND b.digest = a.digest
WHERE a.host < b.host
GROUP BY a.host, b.host
HAVING sum(a.size) > 0
ORDER BY bytes DESC, a.host, b.host
LIMIT {pairs}
