-- Built after the rows of a new catalog: sorting once is cheaper than inserting in random order.
CREATE INDEX file_by_content ON file (content) WHERE content IS NOT NULL;
-- The few files that are not state 0, or the many of a scan that was interrupted.
CREATE INDEX file_by_state ON file (state, size) WHERE state <> 0;
