-- The files that 'lop-fleet report' compares. Each of its other queries follows this one.
-- A file of a file system that several hosts have scanned counts for the first of them.
WITH shared AS (
    SELECT magic, fsid
    FROM volumes
    WHERE fsid <> 0
    GROUP BY magic, fsid
    HAVING count(DISTINCT host) > 1),
identities AS (
    SELECT i.host, i.inode_id, i.inode, v.magic, v.fsid
    FROM inodes i
    JOIN volumes v ON v.host = i.host AND v.volume_id = i.volume_id
    JOIN shared s ON s.magic = v.magic AND s.fsid = v.fsid),
owners AS (
    SELECT magic, fsid, inode, min(host) AS host
    FROM identities
    GROUP BY magic, fsid, inode),
seen AS (
    SELECT i.host, i.inode_id
    FROM identities i
    JOIN owners o ON o.magic = i.magic AND o.fsid = i.fsid AND o.inode = i.inode
    WHERE o.host <> i.host),
files AS (
    SELECT i.bucket, i.size, i.head, i.digest, i.host
    FROM inodes i
    LEFT JOIN seen s ON s.host = i.host AND s.inode_id = i.inode_id
    WHERE s.host IS NULL AND i.size >= {min_size})
