"""Compares the keyed exports of some hosts with the plain exports of the same catalogs.

Usage: duckdb_keyed.py PLAIN KEYED

Equal values must have equal hashes on all hosts, and different values different ones. So each question
that only asks which values are equal must have the same answer.
"""

import sys

import duckdb

QUESTIONS = {
    "groups": "SELECT bucket, size, count(*), count(DISTINCT host), count(DISTINCT head)"
    " FROM '{}/*/*/inodes*.parquet' WHERE digest IS NOT NULL GROUP BY bucket, size, digest",
    "heads": "SELECT bucket, size, count(*), count(DISTINCT host)"
    " FROM '{}/*/*/inodes*.parquet' WHERE head IS NOT NULL GROUP BY bucket, size, head",
    # Inodes are numbered in the order of the exported names, which keys change.
    "inodes": "SELECT host, size, inode, mtime_ns, names, content_id, state, digest IS NULL,"
    " head IS NULL FROM '{}/*/*/inodes*.parquet'",
    "names": "SELECT count(*), count(DISTINCT host) FROM '{}/*/*/names*.parquet' GROUP BY name",
    "directories": "SELECT host, dir_id, parent_id, name = ''::BLOB FROM '{}/*/*/dirs*.parquet'",
    "problems": "SELECT host, scan_id, reason FROM '{}/*/*/problems*.parquet'",
}

HIDDEN = {
    "paths of directories": "SELECT count(path) FROM '{}/*/*/dirs*.parquet'",
    "paths of problems": "SELECT count(path) FROM '{}/*/*/problems*.parquet'",
    # The order of the rows would reveal the order of what the key hides.
    "names in another order than that of their hashes": "SELECT count(*) FROM (SELECT name, lag(name) OVER"
    " (PARTITION BY filename, dir_id ORDER BY file_row_number) AS before"
    " FROM read_parquet('{}/*/*/names*.parquet', filename = true, file_row_number = true)) WHERE before > name",
    "inodes in another order than that of the names": "SELECT count(*) FROM (SELECT inode_id, max(inode_id) OVER"
    " (PARTITION BY filename ORDER BY file_row_number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before"
    " FROM read_parquet('{}/*/*/names*.parquet', filename = true, file_row_number = true))"
    " WHERE inode_id > coalesce(before, -1) + 1",
    "heads in another order than that of their hashes": "SELECT count(*) FROM (SELECT head, lag(head) OVER"
    " (PARTITION BY filename, bucket, size ORDER BY file_row_number) AS before"
    " FROM read_parquet('{}/*/*/inodes*.parquet', filename = true, file_row_number = true)) WHERE before > head",
    "names that are no hashes": "SELECT count(*) FROM '{}/*/*/names*.parquet' WHERE octet_length(name) <> 16",
}


def ask(sql, folder):
    return sorted(duckdb.execute(sql.format(folder)).fetchall(), key=str)


def main(plain, keyed):
    differing = 0
    for what, sql in QUESTIONS.items():
        expected, found = ask(sql, plain), ask(sql, keyed)
        if expected != found or not expected:
            differing += 1
            print(f"{what} differ: {expected[:5]} {found[:5]}")
    for what, sql in HIDDEN.items():
        if ask(sql, keyed) != [(0,)]:
            differing += 1
            print(f"{what} are in the keyed export")
    digests = "SELECT DISTINCT digest FROM '{}/*/*/inodes*.parquet' WHERE digest IS NOT NULL"
    if set(ask(digests, plain)) & set(ask(digests, keyed)):
        differing += 1
        print("a plain digest is in the keyed export")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
