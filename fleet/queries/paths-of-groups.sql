-- Where are the files of each group? Names consist of bytes.
WITH groups AS (
    SELECT bucket, size, digest
    FROM inodes
    WHERE digest IS NOT NULL
    GROUP BY bucket, size, digest
    HAVING count(*) > 1)
SELECT i.size, i.digest, i.host, d.path, n.name
FROM groups g
JOIN inodes i ON i.bucket = g.bucket AND i.size = g.size AND i.digest = g.digest
JOIN names n ON n.host = i.host AND n.export_id = i.export_id AND n.inode_id = i.inode_id
JOIN dirs d ON d.host = n.host AND d.export_id = n.export_id AND d.dir_id = n.dir_id
WHERE d.path IS NOT NULL
ORDER BY i.size DESC, i.digest, i.host, d.path, n.name
