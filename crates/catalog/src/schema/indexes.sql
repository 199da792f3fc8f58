-- Built after the rows of a new catalog are inserted: sorting once is cheaper than inserting in random order.
CREATE INDEX IF NOT EXISTS file_by_content ON file (content) WHERE content IS NOT NULL;
-- Only files whose state is not 0: usually few, but many after an interrupted scan.
CREATE INDEX IF NOT EXISTS file_by_state ON file (state, size) WHERE state <> 0;
