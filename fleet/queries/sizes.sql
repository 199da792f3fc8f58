-- How many files are in each range of sizes?
WITH classes AS (
    SELECT host, size, CASE
        WHEN size < 1024 THEN 0
        WHEN size < 1048576 THEN 1
        WHEN size < 1073741824 THEN 2
        ELSE 3 END AS class
    FROM inodes)
SELECT class, count(*) AS files, count(DISTINCT host) AS hosts, min(size) AS smallest, max(size) AS largest,
    sum(size) AS bytes
FROM classes
GROUP BY class
ORDER BY class
