-- Which contents have the most redundant bytes?
SELECT size, digest, count(*) AS files, count(DISTINCT host) AS hosts, (count(*) - 1) * size AS bytes
FROM files
WHERE digest IS NOT NULL
GROUP BY bucket, size, digest
HAVING count(*) > 1
ORDER BY bytes DESC, size DESC, digest DESC
LIMIT {limit}
