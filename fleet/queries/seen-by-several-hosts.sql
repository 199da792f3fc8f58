-- Which inodes did several hosts scan because they share a file system? Each of these files exists only once.
SELECT v.magic, v.fsid, i.inode, count(DISTINCT i.host) AS hosts, min(i.size) AS smallest, max(i.size) AS largest
FROM inodes i
JOIN volumes v ON v.host = i.host AND v.export_id = i.export_id AND v.volume_id = i.volume_id
WHERE v.fsid <> 0
GROUP BY v.magic, v.fsid, i.inode
HAVING count(DISTINCT i.host) > 1
ORDER BY v.magic, v.fsid, i.inode
