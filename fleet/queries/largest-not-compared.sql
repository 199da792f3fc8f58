-- Which large files should be read next? They have no digest, and another host has a file of the same size.
SELECT i.size, i.host, i.inode
FROM inodes i
WHERE i.digest IS NULL
    AND EXISTS (SELECT 1 FROM inodes o WHERE o.bucket = i.bucket AND o.size = i.size AND o.host <> i.host)
ORDER BY i.size DESC, i.host, i.inode, i.inode_id
LIMIT 100
