"""Answers the queries of lop-fleet in two independent ways.

Usage: golden.py FLEET QUERIES

FLEET is a folder of exports, QUERIES the folder of the queries. DuckDB answers each query with SQL. For the function
of this file with the name of the query, DuckDB only reads the rows; the function answers with plain Python, without SQL.
Prints {"query": {"duckdb": rows, "oracle": rows}, ...}. Bytes are hexadecimal digits.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

import duckdb

TABLES = ["inodes", "names", "dirs", "contents", "problems"]
COLUMNS = {
    "hosts": "host VARCHAR, export_id VARCHAR, created_ms BIGINT, lop VARCHAR, names VARCHAR, key_id VARCHAR",
    "volumes": "host VARCHAR, export_id VARCHAR, volume_id BIGINT, magic BIGINT, fsid BIGINT",
    "names": "dir_id BIGINT, name BLOB, inode_id BIGINT, host VARCHAR, export_id VARCHAR",
    "dirs": "dir_id BIGINT, parent_id BIGINT, name BLOB, path VARCHAR, host VARCHAR, export_id VARCHAR",
}


def signed(number):
    return number - (1 << 64) if number >= 1 << 63 else number


def newest(fleet):
    """The manifest of the newest export of each host, with its folder."""
    found = {}
    for path in fleet.glob("*/*Z/_MANIFEST.json"):
        manifest = json.loads(path.read_text())
        manifest["folder"] = path.parent
        other = found.get(manifest["host"])
        if other is None or other["export_id"] < manifest["export_id"]:
            found[manifest["host"]] = manifest
    return [found[host] for host in sorted(found)]


def load(manifests):
    """The tables, in DuckDB and as lists of dictionaries."""
    db = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    rows = {}
    for table in TABLES:
        files = [str(m["folder"] / f["file"]) for m in manifests for f in m["tables"][table]]
        if files:
            db.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet({files}, hive_partitioning = false)")
        else:
            db.execute(f"CREATE TABLE {table} ({COLUMNS[table]})")
    hosts = [(m["host"], m["export_id"], m["created_ms"], m["lop"], m["names"], m["key_id"]) for m in manifests]
    volumes = [
        (m["host"], m["export_id"], v["volume_id"], signed(v["magic"]), signed(v["fsid"]))
        for m in manifests
        for v in m["volumes"]
    ]
    for table, values in [("hosts", hosts), ("volumes", volumes)]:
        db.execute(f"CREATE TABLE {table} ({COLUMNS[table]})")
        for value in values:
            db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(value))})", value)
    for table in [*TABLES, "hosts", "volumes"]:
        result = db.execute(f"SELECT * FROM {table}")
        names = [column[0] for column in result.description]
        rows[table] = [dict(zip(names, row)) for row in result.fetchall()]
    return db, rows


def grouped(rows, *keys):
    groups = defaultdict(list)
    for row in rows:
        groups[tuple(row[key] for key in keys)].append(row)
    return groups


def digested(t):
    return [row for row in t["inodes"] if row["digest"] is not None]


def groups(t):
    return grouped(digested(t), "size", "digest")


def hosts_of(rows):
    return {row["host"] for row in rows}


def total(rows, column="size"):
    return sum(row[column] for row in rows)


def files_per_host(t):
    per_host = grouped(t["inodes"], "host")
    return [(h, len(r), total(r), total(r, "allocated")) for (h,), r in sorted(per_host.items())]


def exports(t):
    rows = sorted(t["hosts"], key=lambda h: (h["created_ms"], h["host"]))
    return [
        (h["host"], h["export_id"], h["created_ms"], h["lop"], h["names"], h["key_id"] or "none") for h in rows
    ]


def groups_on_several_hosts(t):
    rows = [(s, d, len(r), len(hosts_of(r))) for (s, d), r in groups(t).items() if len(hosts_of(r)) > 1]
    return sorted(rows, key=lambda row: (-(row[2] - 1) * row[0], row[1]))


def redundant_per_host(t):
    sums = defaultdict(lambda: [0, 0])
    for (size, _, host), rows in grouped(digested(t), "size", "digest", "host").items():
        sums[host][0] += len(rows) - 1
        sums[host][1] += (len(rows) - 1) * size
    return [(host, *sums[host]) for host in sorted(sums)]


def pairs_of_hosts(t):
    pairs = defaultdict(lambda: [0, 0])
    for (size, _), rows in groups(t).items():
        for a in hosts_of(rows):
            for b in hosts_of(rows):
                if a < b:
                    pairs[a, b][0] += 1
                    pairs[a, b][1] += size
    return sorted(((a, b, *sums) for (a, b), sums in pairs.items()), key=lambda r: (-r[3], r[0], r[1]))


def only_here(t):
    sizes = grouped(t["inodes"], "size")
    answers = defaultdict(list)

    def differ(a, b):
        return a is not None and b is not None and a != b

    def digests_differ(a, b):
        # Digests of different lengths are of different kinds.
        return differ(a, b) and len(a) == len(b)

    for row in t["inodes"]:
        others = [o for o in sizes[row["size"],] if o["host"] != row["host"]]
        if row["digest"] is not None and any(o["digest"] == row["digest"] for o in others):
            answer = "elsewhere"
        elif all(differ(o["head"], row["head"]) or digests_differ(o["digest"], row["digest"]) for o in others):
            answer = "only here"
        else:
            answer = "not compared"
        answers[row["host"], answer].append(row)
    return [(*key, len(rows), total(rows)) for key, rows in sorted(answers.items())]


def largest_not_compared(t):
    sizes = {size: hosts_of(rows) for (size,), rows in grouped(t["inodes"], "size").items()}
    rows = [r for r in t["inodes"] if r["digest"] is None and sizes[r["size"]] - {r["host"]}]
    rows.sort(key=lambda r: (-r["size"], r["host"], r["inode"], r["inode_id"]))
    return [(r["size"], r["host"], r["inode"]) for r in rows[:100]]


def hard_links(t):
    rows = [(r["host"], r["inode"], r["size"], r["names"]) for r in t["inodes"] if r["names"] > 1]
    return sorted(rows, key=lambda r: (-r[3], r[0], r[1], r[2]))


def paths(t):
    """Each name with its inode and its directory."""
    inodes = {(r["host"], r["inode_id"]): r for r in t["inodes"]}
    dirs = {(r["host"], r["dir_id"]): r for r in t["dirs"]}
    for name in t["names"]:
        yield name, inodes[name["host"], name["inode_id"]], dirs[name["host"], name["dir_id"]]


def paths_of_groups(t):
    wanted = {key for key, rows in groups(t).items() if len(rows) > 1}
    rows = [
        (i["size"], i["digest"], i["host"], d["path"], n["name"])
        for n, i, d in paths(t)
        if (i["size"], i["digest"]) in wanted and d["path"] is not None
    ]
    return sorted(rows, key=lambda r: (-r[0], *r[1:]))


def size_per_directory(t):
    per_dir = defaultdict(list)
    for _, inode, dir in paths(t):
        per_dir[dir["host"], dir["dir_id"], dir["path"] or "unknown"].append(inode)
    rows = [(*key, len(inodes), total(inodes)) for key, inodes in per_dir.items()]
    return sorted(rows, key=lambda r: (-r[4], r[0], r[1]))[:50]


def sizes(t):
    classes = defaultdict(list)
    for row in t["inodes"]:
        classes[sum(row["size"] >= limit for limit in (1 << 10, 1 << 20, 1 << 30))].append(row)
    return [
        (c, len(r), len(hosts_of(r)), min(x["size"] for x in r), max(x["size"] for x in r), total(r))
        for c, r in sorted(classes.items())
    ]


def problems_per_host(t):
    found = []
    for key, rows in sorted(grouped(t["problems"], "host", "reason").items()):
        known = [row["path"] for row in rows if row["path"] is not None]
        found.append((*key, len(rows), len(known), min(known, default=None)))
    return found


def count_of(rows, column):
    return sum(row[column] is not None for row in rows)


def states(t):
    rows = grouped((row for row in t["inodes"] if row["state"] != 0), "host", "state")
    return [(*k, len(r), total(r), count_of(r, "head"), count_of(r, "digest")) for k, r in sorted(rows.items())]


def reclaimable(t):
    contents = grouped(t["contents"], "host")
    of = {h["host"]: contents[h["host"],] for h in t["hosts"]}
    rows = [(h, len(r), total(r, "inodes"), total(r, "reclaimable")) for h, r in of.items()]
    return sorted(rows, key=lambda r: (-r[3], r[0]))


def digests_per_host(t):
    inodes = grouped(t["inodes"], "host")
    found = []
    for host in sorted(h["host"] for h in t["hosts"]):
        rows = inodes[host,]
        distinct = {row["digest"] for row in rows} - {None}
        found.append((host, len(rows), count_of(rows, "head"), count_of(rows, "digest"), len(distinct)))
    return found


def equal_beginnings(t):
    found = []
    for key, rows in grouped((r for r in digested(t) if r["head"] is not None), "size", "head").items():
        contents = len({row["digest"] for row in rows})
        if contents > 1:
            found.append((*key, contents, len(rows)))
    return sorted(found, key=lambda r: (-r[0], r[1]))


def shared_file_systems(t):
    found = []
    for key, rows in sorted(grouped(t["volumes"], "magic", "fsid").items()):
        hosts = hosts_of(rows)
        if key[1] != 0 and len(hosts) > 1:
            found.append((*key, len(hosts), min(hosts), max(hosts)))
    return found


def seen_by_several_hosts(t):
    volumes = {(v["host"], v["volume_id"]): (v["magic"], v["fsid"]) for v in t["volumes"]}
    seen = defaultdict(list)
    for row in t["inodes"]:
        volume = volumes.get((row["host"], row["volume_id"]))
        if volume is not None and volume[1] != 0:
            seen[(*volume, row["inode"])].append(row)
    return [
        (*key, len(hosts_of(rows)), min(r["size"] for r in rows), max(r["size"] for r in rows))
        for key, rows in sorted(seen.items())
        if len(hosts_of(rows)) > 1
    ]


def largest_files(t):
    found = []
    for (host,), rows in sorted(grouped(t["inodes"], "host").items()):
        rows.sort(key=lambda r: (-r["size"], r["inode"], r["inode_id"]))
        found += [(host, place, r["size"], r["inode"]) for place, r in enumerate(rows[:3], 1)]
    return found


def hosts_of_most_copied(t):
    most = [(len(r), s, d, r) for (s, d), r in groups(t).items() if len(r) > 1]
    most = sorted(most, key=lambda m: (-m[0], -m[1], m[2]))[:20]
    return [
        (files, size, digest.hex(), host, sum(row["host"] == host for row in rows))
        for files, size, digest, rows in most
        for host in sorted(hosts_of(rows))
    ]


def only_copy(t):
    lone = defaultdict(list)
    for rows in groups(t).values():
        if len(rows) == 1:
            lone[rows[0]["host"]].append(rows[0])
    return [(host, len(rows), total(rows)) for host, rows in sorted(lone.items())]


def some_buckets(t):
    found = [
        (rows[0]["bucket"], size, digest.hex().upper(), len(rows))
        for (size, digest), rows in groups(t).items()
        if rows[0]["bucket"] <= 63 and len(rows) > 1
    ]
    return sorted(found)


def plain(value):
    return value.hex() if isinstance(value, bytes) else value


def main(fleet, queries):
    db, rows = load(newest(Path(fleet)))
    answers = {}
    for query in sorted(Path(queries).glob("*.sql")):
        answer = globals()[query.stem.replace("-", "_")]
        both = {"duckdb": db.execute(query.read_text()).fetchall(), "oracle": answer(rows)}
        answers[query.stem] = {who: [list(map(plain, row)) for row in found] for who, found in both.items()}
    json.dump(answers, sys.stdout)


main(*sys.argv[1:])
