-- How many files of each host have a head, and how many have a digest?
SELECT h.host, count(i.inode_id) AS files, count(i.head) AS heads, count(i.digest) AS digests,
    count(DISTINCT i.digest) AS contents
FROM hosts h
LEFT JOIN inodes i ON i.host = h.host AND i.export_id = h.export_id
GROUP BY h.host
ORDER BY h.host
