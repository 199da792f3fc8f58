-- Version 3: the disk space of files, the sizes of directories at earlier scans, and the user's decisions.

-- Bytes on disk. NULL if these are the size rounded up to a multiple of 4096, as they are for most files.
ALTER TABLE file ADD COLUMN allocated INTEGER;

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
