-- Which files have several names?
SELECT host, inode, size, names
FROM inodes
WHERE names > 1
ORDER BY names DESC, host, inode, size
