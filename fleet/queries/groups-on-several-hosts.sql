-- Which contents exist on several hosts? The contents with the most redundant bytes come first.
SELECT size, digest, count(*) AS files, count(DISTINCT host) AS hosts
FROM inodes
WHERE digest IS NOT NULL
GROUP BY bucket, size, digest
HAVING count(DISTINCT host) > 1
ORDER BY (count(*) - 1) * size DESC, digest
