-- Built after the rows of a new catalog: sorting once is cheaper than inserting in random order.
CREATE INDEX file_by_content ON file (content) WHERE content IS NOT NULL;
