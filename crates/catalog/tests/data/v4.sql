-- A catalog of format 4, as lop 0.1.0 wrote it while 'lop watch' ran. Never changed: newer versions have to open it.
PRAGMA application_id = 1819242545;
PRAGMA user_version = 4;
CREATE TABLE volume (
    id      INTEGER PRIMARY KEY,
    magic   INTEGER NOT NULL,
    fsid    INTEGER NOT NULL,
    device  INTEGER NOT NULL,
    UNIQUE (magic, fsid, device)
) STRICT;
INSERT INTO volume VALUES(1,61267,-3260436121557369720,1090921693184);
CREATE TABLE scan (
    id           INTEGER PRIMARY KEY,
    started_ms   INTEGER NOT NULL,
    finished_ms  INTEGER NOT NULL,
    options      TEXT NOT NULL,
    files        INTEGER NOT NULL,
    bytes        INTEGER NOT NULL,
    problems     INTEGER NOT NULL
, complete INTEGER NOT NULL DEFAULT 1) STRICT;
INSERT INTO scan VALUES(1,1795260850155,1795260850211,'',4,21,1,1);
CREATE TABLE root (
    path  BLOB PRIMARY KEY,
    scan  INTEGER NOT NULL REFERENCES scan (id)
, watcher BLOB, position INTEGER) STRICT, WITHOUT ROWID;
INSERT INTO root VALUES(X'2f686f6d652f6d652f7069637475726573',1,X'000102030405060708090a0b0c0d0e0f',17);
CREATE TABLE problem (
    scan    INTEGER NOT NULL REFERENCES scan (id),
    path    BLOB NOT NULL,
    reason  TEXT NOT NULL
) STRICT;
INSERT INTO problem VALUES(1,X'2f686f6d652f6d652f6d697373696e67','cannot stat: No such file or directory (os error 2)');
CREATE TABLE dir (
    id      INTEGER PRIMARY KEY,
    parent  INTEGER REFERENCES dir (id),
    name    BLOB NOT NULL,
    UNIQUE (parent, name)
) STRICT;
INSERT INTO dir VALUES(1,NULL,X'');
INSERT INTO dir VALUES(2,1,X'686f6d65');
INSERT INTO dir VALUES(3,2,X'6d65');
INSERT INTO dir VALUES(4,3,X'7069637475726573');
INSERT INTO dir VALUES(5,4,X'6f6c64');
CREATE TABLE file (
    dir       INTEGER NOT NULL,
    name      BLOB NOT NULL,
    volume    INTEGER NOT NULL,
    inode     INTEGER NOT NULL,
    size      INTEGER NOT NULL,
    mtime_ns  INTEGER NOT NULL,
    ctime_ns  INTEGER NOT NULL,
    head      INTEGER,
    content   INTEGER, state INTEGER NOT NULL DEFAULT 0, allocated INTEGER,
    PRIMARY KEY (dir, name)
) STRICT, WITHOUT ROWID;
INSERT INTO file VALUES(4,X'612e6a7067',1,13238269,5,1795260850037479750,1795260850041479750,-8335081785667433908,1,0,NULL);
INSERT INTO file VALUES(4,X'632e6a7067',1,13238267,6,1795260850037479750,1795260850037479750,NULL,NULL,0,512);
INSERT INTO file VALUES(4,X'6c696e6b2e6a7067',1,13238269,5,1795260850037479750,1795260850041479750,-8335081785667433908,1,0,NULL);
INSERT INTO file VALUES(5,X'62ff2e6a7067',1,13238268,5,1795260850037479750,1795260850037479750,-8335081785667433908,1,0,NULL);
CREATE TABLE content (
    id           INTEGER PRIMARY KEY,
    size         INTEGER NOT NULL,
    digest       BLOB,
    inodes       INTEGER NOT NULL,
    reclaimable  INTEGER NOT NULL
) STRICT;
INSERT INTO content VALUES(1,5,X'bb69dc4bd3a0ed0d1c4200832c5c12392bca598a5ad7bb717d122d894fa69b22',2,5);
CREATE TABLE scan_space (
    scan  INTEGER NOT NULL REFERENCES scan (id),
    root  BLOB NOT NULL,
    data  BLOB NOT NULL,
    PRIMARY KEY (scan, root)
) STRICT, WITHOUT ROWID;
INSERT INTO scan_space VALUES(1,X'2f686f6d652f6d652f7069637475726573',X'0102');
CREATE TABLE decision (
    id       INTEGER PRIMARY KEY,
    made_ms  INTEGER NOT NULL,
    scope    TEXT NOT NULL,
    subject  BLOB NOT NULL,
    choice   TEXT NOT NULL,
    value    BLOB NOT NULL,
    UNIQUE (scope, subject)
) STRICT;
INSERT INTO decision VALUES(1,1795260850300,'group',X'bb69dc4bd3a0ed0d1c4200832c5c12392bca598a5ad7bb717d122d894fa69b22','leave',X'');
CREATE VIEW groups AS
    SELECT id AS "group", size, inodes, reclaimable, lower(hex(digest)) AS digest
    FROM content WHERE inodes > 1;
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
CREATE INDEX file_by_content ON file (content) WHERE content IS NOT NULL;
CREATE INDEX file_by_state ON file (state, size) WHERE state <> 0;
