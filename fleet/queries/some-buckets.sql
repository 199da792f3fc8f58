-- The groups of a quarter of all files. With four such queries, any fleet fits into memory.
SELECT bucket, size, hex(digest) AS digest, count(*) AS files
FROM inodes
WHERE bucket BETWEEN 0 AND 63 AND digest IS NOT NULL
GROUP BY bucket, size, digest
HAVING count(*) > 1
ORDER BY bucket, size, digest
