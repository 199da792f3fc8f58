"""Compares the keyed exports of some hosts with the plain exports of the same catalogs.

Usage: duckdb_keyed.py PLAIN KEYED

Equal values must have equal hashes on all hosts, and different values different ones. So each question
that only asks which values are equal must have the same answer.
"""

import sys

import duckdb

QUESTIONS = {
    "groups": "SELECT bucket, size, count(*), count(DISTINCT host), count(DISTINCT head)"
    " FROM '{}/*/2*/inodes*.parquet' WHERE digest IS NOT NULL GROUP BY bucket, size, digest",
    "heads": "SELECT bucket, size, count(*), count(DISTINCT host)"
    " FROM '{}/*/2*/inodes*.parquet' WHERE head IS NOT NULL GROUP BY bucket, size, head",
    "inodes": "SELECT host, inode_id, size, inode, mtime_ns, names, content_id, state, digest IS NULL,"
    " head IS NULL FROM '{}/*/2*/inodes*.parquet'",
    "names": "SELECT count(*), count(DISTINCT host) FROM '{}/*/2*/names*.parquet' GROUP BY name",
    "directories": "SELECT host, dir_id, parent_id, name = ''::BLOB FROM '{}/*/2*/dirs*.parquet'",
    "problems": "SELECT host, scan_id, reason FROM '{}/*/2*/problems*.parquet'",
}

HIDDEN = {
    "paths of directories": "SELECT count(path) FROM '{}/*/2*/dirs*.parquet'",
    "paths of problems": "SELECT count(path) FROM '{}/*/2*/problems*.parquet'",
    "names that are no hashes": "SELECT count(*) FROM '{}/*/2*/names*.parquet' WHERE octet_length(name) <> 16",
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
    digests = "SELECT DISTINCT digest FROM '{}/*/2*/inodes*.parquet' WHERE digest IS NOT NULL"
    if set(ask(digests, plain)) & set(ask(digests, keyed)):
        differing += 1
        print("a plain digest is in the keyed export")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
