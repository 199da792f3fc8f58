-- Which three files of each host are the largest?
WITH ranked AS (
    SELECT host, size, inode,
        row_number() OVER (PARTITION BY host ORDER BY size DESC, inode, inode_id) AS place
    FROM inodes)
SELECT host, place, size, inode
FROM ranked
WHERE place <= 3
ORDER BY host, place
