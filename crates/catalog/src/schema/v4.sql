-- Version 4: the position of a root's last scan among the changes that 'lop watch' noted. watcher identifies the process
-- that noted them; both are NULL if none was watching.
ALTER TABLE root ADD COLUMN watcher BLOB;
ALTER TABLE root ADD COLUMN position INTEGER;
