"""Compares the exports of several hosts, as DuckDB reads them, with the catalogs they were made of.

Usage: duckdb_fleet.py PAGE FLEET HOST=CATALOG...

PAGE is docs/fleet.md: its views define the newest exports, and its other queries must run. Every
question is answered by SQL over the Parquet files and, naively, from the SQLite catalogs.
"""

import re
import sqlite3
import sys
from collections import Counter, defaultdict

import duckdb

BLOCK = 4096


class Catalog:
    """The rows of a catalog: inodes by identity, and their names."""

    def __init__(self, host, path):
        self.host = host
        self.database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.database.text_factory = bytes
        self.digests = dict(self.query("SELECT id, digest FROM content"))
        self.dirs = self.read_dirs()
        self.inodes = {}
        self.names = []
        columns = "dir, name, volume, inode, size, mtime_ns, ctime_ns, head, content, state, allocated"
        for dir, name, *row in self.query(f"SELECT {columns} FROM file"):
            volume, inode, size, mtime, ctime, head, content, state, allocated = row
            if state != 0:
                head = content = None
            if allocated is None:
                allocated = (size + BLOCK - 1) // BLOCK * BLOCK
            key = (volume, inode, size, mtime, ctime)
            self.inodes[key] = (head, self.digests.get(content), content, state, allocated)
            parent = self.dirs[dir]
            self.names.append((parent + b"/" + name if parent != b"/" else b"/" + name, key))

    def query(self, sql):
        return self.database.execute(sql).fetchall()

    def read_dirs(self):
        paths = {1: b"/"}
        # The number of a directory is greater than that of its parent.
        for id, parent, name in self.query("SELECT id, parent, name FROM dir WHERE id > 1 ORDER BY id"):
            above = paths[parent]
            paths[id] = (b"" if above == b"/" else above) + b"/" + name
        return paths

    def names_of(self):
        return Counter(key for _, key in self.names)


class Fleet:
    """The Parquet files, through the views of the documentation."""

    def __init__(self, page, folder):
        text = open(page, encoding="utf-8").read()
        blocks = re.findall(r"^```sql\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        self.blocks = [block.replace("/srv/fleet", folder) for block in blocks]
        self.duckdb = duckdb.connect(config={"autoinstall_known_extensions": "false"})

    def run_page(self):
        for block in self.blocks:
            for statement in duckdb.extract_statements(block):
                self.duckdb.execute(statement).fetchall()
        return len(self.blocks)

    def query(self, sql):
        return self.duckdb.execute(sql).fetchall()


def groups(catalogs):
    """The groups of identical inodes over all hosts, with the number of inodes of each host."""
    found = defaultdict(Counter)
    for catalog in catalogs:
        for (_, _, size, _, _), (_, digest, *_) in catalog.inodes.items():
            if digest is not None:
                found[size, digest][catalog.host] += 1
    return {key: hosts for key, hosts in found.items() if sum(hosts.values()) > 1}


def questions(fleet, catalogs):
    """Yields each question with the answer of DuckDB and the naive one."""
    yield (
        "inodes",
        fleet.query(
            "SELECT host, volume_id, inode, size, mtime_ns, ctime_ns, head, digest, content_id, state,"
            " allocated, names FROM inodes"
        ),
        [
            (catalog.host, *key, head, digest, content, state, allocated, names[key])
            for catalog in catalogs
            for names in [catalog.names_of()]
            for key, (head, digest, content, state, allocated) in catalog.inodes.items()
        ],
    )
    # The path is put together from the names of the directories, because the column `path` is not
    # exact.
    yield (
        "names",
        fleet.query(
            "WITH RECURSIVE p AS (SELECT host, dir_id, ''::BLOB AS path FROM dirs WHERE parent_id IS NULL"
            " UNION ALL SELECT d.host, d.dir_id, p.path || '/'::BLOB || d.name FROM dirs d"
            " JOIN p ON p.host = d.host AND p.dir_id = d.parent_id)"
            " SELECT n.host, p.path || '/'::BLOB || n.name, i.volume_id, i.inode, i.size, i.mtime_ns,"
            " i.ctime_ns FROM names n JOIN p USING (host, dir_id)"
            " JOIN inodes i USING (host, export_id, inode_id)"
        ),
        [(catalog.host, path, *key) for catalog in catalogs for path, key in catalog.names],
    )
    yield (
        "directories",
        fleet.query("SELECT host, dir_id, path FROM dirs"),
        [
            (catalog.host, id, path.decode("utf-8", "replace") if len(path) <= 4096 else None)
            for catalog in catalogs
            for id, path in catalog.dirs.items()
        ],
    )
    yield (
        "contents",
        fleet.query("SELECT host, content_id, inodes, reclaimable FROM contents"),
        [
            (catalog.host, *row)
            for catalog in catalogs
            for row in catalog.query("SELECT id, inodes, reclaimable FROM content")
        ],
    )
    yield (
        "problems",
        fleet.query("SELECT host, scan_id, path, encode(reason) FROM problems"),
        [
            (catalog.host, *row)
            for catalog in catalogs
            for row in catalog.query("SELECT scan, path, reason FROM problem")
        ],
    )
    yield (
        "groups over all hosts",
        fleet.query(
            "SELECT size, digest, count(*), count(DISTINCT host) FROM inodes WHERE digest IS NOT NULL"
            " GROUP BY bucket, size, digest HAVING count(*) > 1"
        ),
        [
            (size, digest, sum(hosts.values()), len(hosts))
            for (size, digest), hosts in groups(catalogs).items()
        ],
    )
    yield (
        "inodes that are certainly on one host only",
        fleet.query(
            "SELECT i.host, i.inode, i.size FROM inodes i LEFT JOIN inodes o ON o.bucket = i.bucket"
            " AND o.size = i.size AND o.host <> i.host GROUP BY i.host, i.inode_id, i.inode, i.size"
            " HAVING bool_and(o.host IS NULL OR coalesce(o.head <> i.head, false)"
            " OR coalesce(o.digest <> i.digest, false))"
        ),
        list(only_here(catalogs)),
    )


def only_here(catalogs):
    for catalog in catalogs:
        others = defaultdict(list)
        for other in catalogs:
            for (_, _, size, *_), (head, digest, *_) in other.inodes.items():
                if other is not catalog:
                    others[size].append((head, digest))
        for (_, inode, size, *_), (head, digest, *_) in catalog.inodes.items():
            pairs = [zip((head, digest), other) for other in others[size]]
            if all(any(a is not None and b is not None and a != b for a, b in pair) for pair in pairs):
                yield (catalog.host, inode, size)


def order(fleet, folder):
    """Returns the places where the rows of a file are not in the documented order."""
    # NULL comes first, and every head is greater than the number that stands for NULL.
    key = "(bucket, size, coalesce(head, -9223372036854775809), coalesce(digest, ''::BLOB))"
    return fleet.query(
        f"SELECT filename, n FROM (SELECT filename, file_row_number AS n, {key} AS this,"
        f" lag({key}) OVER (PARTITION BY filename ORDER BY file_row_number) AS before"
        f" FROM read_parquet('{folder}/*/*/inodes*.parquet', filename = true, file_row_number = true))"
        " WHERE before > this"
    )


def main(page, folder, *hosts):
    catalogs = [Catalog(*host.split("=", 1)) for host in hosts]
    fleet = Fleet(page, folder)
    blocks = fleet.run_page()
    asked = differing = 0
    for what, found, expected in questions(fleet, catalogs):
        asked += 1
        missing = Counter(expected) - Counter(found)
        extra = Counter(found) - Counter(expected)
        if not expected:
            print(f"{what}: the question has no answer, so it proves nothing")
            differing += 1
        if missing or extra:
            differing += 1
            print(f"{what} differ: {missing.total()} missing, {extra.total()} unexpected")
            for sign, rows in (("-", missing), ("+", extra)):
                for row in list(rows)[:5]:
                    print(f"  {sign} {row}")
    misplaced = order(fleet, folder)
    if misplaced:
        differing += 1
        print(f"the order of rows differs from the documentation: {misplaced[:5]}")
    buckets = fleet.query("SELECT min(bucket), max(bucket), count(DISTINCT bucket) FROM inodes")[0]
    sizes = fleet.query("SELECT size FROM inodes GROUP BY size HAVING count(DISTINCT bucket) > 1")
    if sizes or buckets[0] < 0 or buckets[1] > 255 or buckets[2] < 10:
        differing += 1
        print(f"buckets differ from the documentation: {buckets} {sizes[:5]}")
    if differing:
        return 1
    print(f"{blocks} queries of {page} run, {asked} questions have the same answer")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
