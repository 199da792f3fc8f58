"""Writes an S3 Inventory in Parquet from the lines of one in CSV."""

import hashlib
import json
import os
import sys

import duckdb

lines, manifest = sys.argv[1:]
data = os.path.join(os.path.dirname(manifest), "data.parquet")
connection = duckdb.connect()
connection.execute(
    f"""COPY (
    SELECT column00 AS bucket, url_decode(replace(column01, '+', ' ')) AS key, column02 AS version_id,
        column03::BOOLEAN AS is_latest, column04::BOOLEAN AS is_delete_marker,
        nullif(column05, '')::BIGINT AS size,
        column06::TIMESTAMP_MS AS last_modified_date, nullif(column07, '') AS e_tag,
        nullif(column08, '') AS storage_class,
        nullif(column09, '')::BOOLEAN AS is_multipart_uploaded,
        nullif(column10, '') AS encryption_status
    FROM read_csv('{lines}', header = false, all_varchar = true)
    ) TO '{data}' (FORMAT parquet, COMPRESSION snappy)"""
)
with open(data, "rb") as file:
    md5 = hashlib.md5(file.read()).hexdigest()
document = {
    "sourceBucket": "photos",
    "destinationBucket": "arn:aws:s3:::inventories",
    "version": "2016-11-30",
    "creationTimestamp": "1793448000000",
    "fileFormat": "Parquet",
    "fileSchema": "message s3.inventory { ... }",
    "files": [{"key": "inventory/data.parquet", "size": os.path.getsize(data), "MD5checksum": md5}],
}
with open(manifest, "w") as file:
    json.dump(document, file)
