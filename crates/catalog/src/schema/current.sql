-- The tables of a new catalog. Names and paths are BLOBs: file names are bytes.

-- File systems. One is recognized by (magic, fsid), or by its device number if it has no fsid.
CREATE TABLE volume (
    id      INTEGER PRIMARY KEY,
    magic   INTEGER NOT NULL,
    fsid    INTEGER NOT NULL,
    device  INTEGER NOT NULL,
    UNIQUE (magic, fsid, device)
) STRICT;

-- One row per committed scan. complete is 0 for an interrupted scan whose results were kept. Its files with state 1 still
-- have to be compared.
CREATE TABLE scan (
    id           INTEGER PRIMARY KEY,
    started_ms   INTEGER NOT NULL,
    finished_ms  INTEGER NOT NULL,
    options      TEXT NOT NULL,
    files        INTEGER NOT NULL,
    bytes        INTEGER NOT NULL,
    problems     INTEGER NOT NULL,
    complete     INTEGER NOT NULL DEFAULT 1
) STRICT;

-- The paths that were scanned, each with its last scan, and the position of this scan among the changes that 'lop watch'
-- noted. watcher identifies the process that noted them; watcher and position are NULL if none was watching.
CREATE TABLE root (
    path      BLOB PRIMARY KEY,
    scan      INTEGER NOT NULL REFERENCES scan (id),
    watcher   BLOB,
    position  INTEGER
) STRICT, WITHOUT ROWID;

-- Entries that the last scan of a root could not examine.
CREATE TABLE problem (
    scan    INTEGER NOT NULL REFERENCES scan (id),
    path    BLOB NOT NULL,
    reason  TEXT NOT NULL
) STRICT;

-- Directories. The root directory has id 1 and no parent.
CREATE TABLE dir (
    id      INTEGER PRIMARY KEY,
    parent  INTEGER REFERENCES dir (id),
    name    BLOB NOT NULL,
    UNIQUE (parent, name)
) STRICT;
INSERT INTO dir (id, parent, name) VALUES (1, NULL, x'');

-- Names of regular files. head is the XXH3-64 of the first bytes. content shows which files are equal:
-- if two files of one size both have a content, equal numbers mean equal bytes, and different numbers
-- mean different bytes.
--
-- state is 0 known, 1 not compared yet, 2 damaged (its bytes differ from those that were scanned, but its size and times
-- are the same), 3 unreadable. A file does not count as a copy unless its state is 0. For other states, head and content
-- are the last known ones.
--
-- allocated is the number of bytes on disk. It is NULL if it equals the size rounded up to a multiple of 4096, as for
-- most files.
CREATE TABLE file (
    dir       INTEGER NOT NULL,
    name      BLOB NOT NULL,
    volume    INTEGER NOT NULL,
    inode     INTEGER NOT NULL,
    size      INTEGER NOT NULL,
    mtime_ns  INTEGER NOT NULL,
    ctime_ns  INTEGER NOT NULL,
    head      INTEGER,
    content   INTEGER,
    state     INTEGER NOT NULL DEFAULT 0,
    allocated INTEGER,
    PRIMARY KEY (dir, name)
) STRICT, WITHOUT ROWID;

-- Contents that were compared: BLAKE3 (as b3sum prints it) if it was computed, the number of inodes
-- with this content, and the bytes that keeping one copy would free.
CREATE TABLE content (
    id           INTEGER PRIMARY KEY,
    size         INTEGER NOT NULL,
    digest       BLOB,
    inodes       INTEGER NOT NULL,
    reclaimable  INTEGER NOT NULL
) STRICT;

-- The sizes of the directories that a scan found below a root, in the compact form that the crate `space` defines. A
-- scan with the same result as the previous scan has no row, and old rows are thinned out.
CREATE TABLE scan_space (
    scan  INTEGER NOT NULL REFERENCES scan (id),
    root  BLOB NOT NULL,
    data  BLOB NOT NULL,
    PRIMARY KEY (scan, root)
) STRICT, WITHOUT ROWID;

-- The user's decisions. scope is 'group' (subject: the digest), 'folders' (subject: the paths of a folder set) or
-- 'filter' (subject: the text of a filter). choice is 'leave', 'rules' (value: keep rules), 'folder' (value: the folders
-- whose files stay) or 'files' (value: the paths that stay, two NULs, and the paths of the other files of the group at
-- that time). The items of a list are separated by NUL.
CREATE TABLE decision (
    id       INTEGER PRIMARY KEY,
    made_ms  INTEGER NOT NULL,
    scope    TEXT NOT NULL,
    subject  BLOB NOT NULL,
    choice   TEXT NOT NULL,
    value    BLOB NOT NULL,
    UNIQUE (scope, subject)
) STRICT;

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

CREATE VIEW groups AS
    SELECT id AS "group", size, inodes, reclaimable, lower(hex(digest)) AS digest
    FROM content WHERE inodes > 1;

CREATE VIEW duplicates AS
    SELECT content.id AS "group", content.size, lower(hex(content.digest)) AS digest,
           dir_path.path || '/' || CAST(file.name AS TEXT) AS path
    FROM content
    JOIN file ON file.content = content.id AND file.state = 0
    JOIN dir_path ON dir_path.id = file.dir
    WHERE content.inodes > 1;
