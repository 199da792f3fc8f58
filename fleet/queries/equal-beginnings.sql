-- Which files have the same size and the same first 8 KiB, but different contents?
SELECT size, head, count(DISTINCT digest) AS contents, count(*) AS files
FROM inodes
WHERE head IS NOT NULL AND digest IS NOT NULL
GROUP BY bucket, size, head
HAVING count(DISTINCT digest) > 1
ORDER BY size DESC, head
