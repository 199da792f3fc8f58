"""Groups the files of all hosts by their contents with DuckDB, as `lop-fleet report` does.

Usage: groups.py EXPORTS SCRATCH

Prints the number of contents that several files have, of these files, of those that are redundant with their bytes,
and of contents that several hosts have, as JSON. The memory is that of `lop-fleet report --memory 2G`.
"""

import json
import sys

import duckdb

QUERY = """
SELECT count(*), sum(files)::BIGINT, sum((files - 1) * size)::HUGEINT, count(*) FILTER (first_host <> last_host)
FROM (
    SELECT size, count(*) AS files, min(host) AS first_host, max(host) AS last_host
    FROM read_parquet(?)
    WHERE digest IS NOT NULL
    GROUP BY bucket, size, digest
    HAVING count(*) > 1
)
"""

exports, scratch = sys.argv[1:]
db = duckdb.connect()
db.execute("SET memory_limit = '2GiB'")
db.execute("SET preserve_insertion_order = false")
db.execute(f"SET temp_directory = '{scratch}'")
groups, files, redundant, shared = db.execute(QUERY, [f"{exports}/*/*/inodes*.parquet"]).fetchone()
print(
    json.dumps(
        {
            "groups": groups,
            "redundant": {"files": (files or 0) - groups, "bytes": redundant or 0},
            "shared_groups": shared,
        }
    )
)
