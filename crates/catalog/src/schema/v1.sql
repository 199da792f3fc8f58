-- The catalog, version 1. Names and paths are BLOBs: file names are bytes.

-- File systems. One is recognized by (magic, fsid), or by its device number if it has no fsid.
CREATE TABLE volume (
    id      INTEGER PRIMARY KEY,
    magic   INTEGER NOT NULL,
    fsid    INTEGER NOT NULL,
    device  INTEGER NOT NULL,
    UNIQUE (magic, fsid, device)
) STRICT;

-- One row per committed scan.
CREATE TABLE scan (
    id           INTEGER PRIMARY KEY,
    started_ms   INTEGER NOT NULL,
    finished_ms  INTEGER NOT NULL,
    options      TEXT NOT NULL,
    files        INTEGER NOT NULL,
    bytes        INTEGER NOT NULL,
    problems     INTEGER NOT NULL
) STRICT;

-- The paths that were scanned, each with its last scan.
CREATE TABLE root (
    path  BLOB PRIMARY KEY,
    scan  INTEGER NOT NULL REFERENCES scan (id)
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

CREATE VIEW dir_path AS
    WITH RECURSIVE walk (id, path) AS (
        SELECT id, '' FROM dir WHERE id = 1
        UNION ALL
        SELECT dir.id, walk.path || '/' || CAST(dir.name AS TEXT)
        FROM walk JOIN dir ON dir.parent = walk.id
    )
    SELECT id, path FROM walk;

CREATE VIEW files AS
    SELECT dir_path.path || '/' || CAST(file.name AS TEXT) AS path,
           file.size, file.inode, file.volume,
           datetime(file.mtime_ns / 1000000000, 'unixepoch') AS modified,
           file.content AS "group",
           lower(hex(content.digest)) AS digest,
           coalesce(content.inodes, 1) - 1 AS duplicates
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
    JOIN file ON file.content = content.id
    JOIN dir_path ON dir_path.id = file.dir
    WHERE content.inodes > 1;
