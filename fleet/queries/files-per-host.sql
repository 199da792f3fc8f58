-- How many files does each host have, and how large are they?
SELECT host, count(*) AS files, sum(size) AS bytes, sum(allocated) AS allocated
FROM inodes
GROUP BY host
ORDER BY host
