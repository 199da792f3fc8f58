-- Version 2: stores which files were found bad, and the results of interrupted scans.

-- 0 known, 1 not compared yet, 2 damaged (its bytes differ from those that were scanned, but its size and times are
-- the same), 3 unreadable. A file does not count as a copy unless its state is 0. For other states, head and content
-- are the last known ones.
ALTER TABLE file ADD COLUMN state INTEGER NOT NULL DEFAULT 0;

-- 0 for an interrupted scan whose results were kept. Its files with state 1 still have to be compared.
ALTER TABLE scan ADD COLUMN complete INTEGER NOT NULL DEFAULT 1;

DROP INDEX IF EXISTS file_by_content;

DROP VIEW duplicates;
DROP VIEW files;
DROP VIEW dir_path;

-- A directory has a greater id than its parent. The condition on ids ends the recursion even if the parents form a
-- cycle in a damaged catalog.
CREATE VIEW dir_path AS
    WITH RECURSIVE walk (id, path) AS (
        SELECT id, '' FROM dir WHERE id = 1
        UNION ALL
        SELECT dir.id, walk.path || '/' || CAST(dir.name AS TEXT)
        FROM walk JOIN dir ON dir.parent = walk.id AND dir.id > walk.id
    )
    SELECT id, path FROM walk;

CREATE VIEW files AS
    SELECT dir_path.path || '/' || CAST(file.name AS TEXT) AS path,
           file.size, file.inode, file.volume,
           datetime(file.mtime_ns / 1000000000, 'unixepoch') AS modified,
           file.content AS "group",
           lower(hex(content.digest)) AS digest,
           CASE file.state WHEN 0 THEN coalesce(content.inodes, 1) - 1 END AS duplicates,
           CASE file.state WHEN 0 THEN 'known' WHEN 2 THEN 'damaged' WHEN 3 THEN 'unreadable'
                           ELSE 'pending' END AS state
    FROM file
    JOIN dir_path ON dir_path.id = file.dir
    LEFT JOIN content ON content.id = file.content;

CREATE VIEW duplicates AS
    SELECT content.id AS "group", content.size, lower(hex(content.digest)) AS digest,
           dir_path.path || '/' || CAST(file.name AS TEXT) AS path
    FROM content
    JOIN file ON file.content = content.id AND file.state = 0
    JOIN dir_path ON dir_path.id = file.dir
    WHERE content.inodes > 1;
