-- For scans that examine only what 'lop watch' noted: they look up remembered files without reading all rows. Only
-- catalogs of watched trees have these indexes.
CREATE INDEX IF NOT EXISTS file_by_size ON file (size, head, content);
CREATE INDEX IF NOT EXISTS file_by_inode ON file (inode);
-- Files that changed shortly before they were scanned, so the next scan reads them again.
CREATE INDEX IF NOT EXISTS file_unsettled ON file (dir) WHERE head IS NULL AND content IS NOT NULL;
-- For the totals of all groups.
CREATE INDEX IF NOT EXISTS content_copies ON content (inodes, reclaimable) WHERE inodes > 1;
