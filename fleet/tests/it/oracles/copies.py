"""Counts the copies of each content in exports, in a loop and with SQL.

Usage: copies.py FLEET QUERY

DuckDB reads the rows for the loop, a part at a time, because they may not fit into memory as Python objects. Prints the
answer of the loop to groups-on-several-hosts.sql, and the answer of DuckDB to QUERY.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

import duckdb


def main(fleet, query):
    files = sorted(map(str, Path(fleet).glob("*/*Z/inodes*.parquet")))
    db = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    db.execute(f"CREATE VIEW inodes AS SELECT * FROM read_parquet({files}, hive_partitioning = false)")
    copies = defaultdict(lambda: defaultdict(int))
    rows = db.execute("SELECT size, digest, host FROM inodes")
    while part := rows.fetchmany(100_000):
        for size, digest, host in part:
            copies[size, digest][host] += 1
    found = [[size, digest.hex(), sum(n.values()), len(n)] for (size, digest), n in copies.items()]
    print(json.dumps(found))
    found = [[size, digest.hex(), *rest] for size, digest, *rest in db.execute(Path(query).read_text()).fetchall()]
    print(json.dumps(found))


main(*sys.argv[1:])
