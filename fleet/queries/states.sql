-- Which hosts have damaged, unreadable or pending files?
SELECT host, state, count(*) AS files, sum(size) AS bytes, count(head) AS heads, count(digest) AS digests
FROM inodes
WHERE state <> 0
GROUP BY host, state
ORDER BY host, state
