-- Which directories contain the most bytes? A file with several names counts in each of its directories.
SELECT d.host, d.dir_id, coalesce(d.path, 'unknown') AS path, count(*) AS files, sum(i.size) AS bytes
FROM dirs d
JOIN names n ON n.host = d.host AND n.export_id = d.export_id AND n.dir_id = d.dir_id
JOIN inodes i ON i.host = n.host AND i.export_id = n.export_id AND i.inode_id = n.inode_id
GROUP BY d.host, d.dir_id, d.path
ORDER BY bytes DESC, d.host, d.dir_id
LIMIT 50
