-- The files that 'lop-fleet report' compares. Each of its other queries follows this one.
-- A file of a file system that several hosts have scanned counts for the first of them.
--
-- The hints in /*+ */ are for Spark; other engines ignore them. Few volumes are shared, so each worker receives all of
-- them, and only the inodes of shared volumes move to other workers. Equal files have equal sizes, so all files of a
-- size then go to one worker. The queries that follow group and join files without moving them again.
WITH shared AS (
    SELECT magic, fsid
    FROM volumes
    WHERE fsid <> 0
    GROUP BY magic, fsid
    HAVING count(DISTINCT host) > 1),
shared_volumes AS (
    SELECT v.host, v.volume_id, v.magic, v.fsid
    FROM volumes v
    JOIN shared s ON s.magic = v.magic AND s.fsid = v.fsid),
identities AS (
    SELECT /*+ BROADCAST(v) */ i.bucket, i.size, i.head, i.digest, i.host,
        rank() OVER (PARTITION BY v.magic, v.fsid, i.inode ORDER BY i.host) AS place
    FROM inodes i
    JOIN shared_volumes v ON v.host = i.host AND v.volume_id = i.volume_id),
counted AS (
    SELECT /*+ BROADCAST(v) */ i.bucket, i.size, i.head, i.digest, i.host
    FROM inodes i
    LEFT JOIN shared_volumes v ON v.host = i.host AND v.volume_id = i.volume_id
    WHERE v.host IS NULL
    UNION ALL
    SELECT bucket, size, head, digest, host
    FROM identities
    WHERE place = 1),
files AS (
    SELECT /*+ REPARTITION(bucket, size) */ bucket, size, head, digest, host
    FROM counted
    WHERE size >= {min_size})
