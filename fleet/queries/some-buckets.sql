-- Which groups are in the first quarter of the buckets? Four such queries need less memory than one for all buckets.
SELECT bucket, size, hex(digest) AS digest, count(*) AS files
FROM inodes
WHERE bucket BETWEEN 0 AND 63 AND digest IS NOT NULL
GROUP BY bucket, size, digest
HAVING count(*) > 1
ORDER BY bucket, size, digest
