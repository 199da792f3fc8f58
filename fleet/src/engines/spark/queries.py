"""Runs queries of lop-fleet on a Spark cluster. spark-submit starts this program.

Usage: queries.py JOB

JOB is a JSON document that lop-fleet has written. This program receives the rows and writes one file for each query, as
lines of JSON: first the columns with their types, then the rows. Bytes are hexadecimal digits, and numbers that JSON
lacks are text. If a query fails, the file "error" contains the reason.
"""

import gc
import json
import os
import shutil
import signal
import sys
import threading
import time

from pyspark.sql import SparkSession

PLAIN = {"boolean", "tinyint", "smallint", "int", "bigint", "string"}


def started(pid):
    """Returns the start time of a process, which distinguishes it from a later process with the same id."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return stat.read().rpartition(b")")[2].split()[19]
    except OSError:
        return None


def end_with(pid, folder):
    """Ends Spark as soon as lop-fleet has ended."""
    since = started(pid)
    while since is not None and started(pid) == since:
        time.sleep(0.5)
    shutil.rmtree(folder, ignore_errors=True)
    spark_submit = os.getppid()
    os.kill(spark_submit, signal.SIGTERM)
    time.sleep(5)
    os.kill(spark_submit, signal.SIGKILL)
    os._exit(1)


def register(spark, table):
    columns = ", ".join(f"{name} {kind}" for name, kind in table["columns"])
    if table["files"]:
        # Spark takes file names literally, and guesses no columns from the names of folders.
        reader = spark.read.schema(columns).option("__globPaths__", "false")
        rows = reader.parquet(*[f"file://{file}" for file in table["files"]])
    else:
        rows = spark.createDataFrame([tuple(row) for row in table["rows"]], columns)
    rows.createOrReplaceTempView(table["name"])


def check(spark, query):
    """Refuses any statement that is not a query. The parser of queries accepts no statement that changes anything."""
    parser = spark._jsparkSession.sessionState().sqlParser()
    try:
        parser.parseQuery(query)
    except Exception as failure:
        try:
            parser.parsePlan(query)
        except Exception:
            raise failure from None
        raise ValueError("only a query is allowed: SELECT, WITH or VALUES") from None


def plain(value, kind):
    if value is None or kind in PLAIN:
        return value
    return bytes(value).hex() if kind == "binary" else str(value)


def answer(spark, query, path):
    check(spark, query)
    rows = spark.sql(query)
    kinds = [field.dataType.simpleString() for field in rows.schema.fields]
    with open(path, "w", encoding="ascii") as out:
        json.dump([[field.name, kind] for field, kind in zip(rows.schema.fields, kinds)], out)
        # The driver fetches one partition after the other, so its memory need not hold all rows. The iterator of the data
        # frame itself would keep the shuffle files of the query (Spark 4.3.0).
        for row in rows.rdd.toLocalIterator():
            out.write("\n")
            json.dump([plain(value, kind) for value, kind in zip(row, kinds)], out)
        out.write("\n")


def remove_shuffle_files(spark):
    """Requests a garbage collection in the driver, after which Spark removes the shuffle files of earlier queries."""
    # Python must first drop its references to the objects in the driver.
    gc.collect()
    spark.sparkContext._jvm.System.gc()


def main(path):
    with open(path, encoding="utf-8") as file:
        job = json.load(file)
    folder = job["folder"]
    threading.Thread(target=end_with, args=(job["parent"], folder), daemon=True).start()
    try:
        spark = SparkSession.builder.getOrCreate()
        for table in job["tables"]:
            register(spark, table)
        for number, query in enumerate(job["queries"]):
            answer(spark, query, os.path.join(folder, f"rows-{number}"))
            remove_shuffle_files(spark)
        spark.stop()
    except Exception as failure:
        with open(os.path.join(folder, "error"), "w", encoding="utf-8") as out:
            lines = [line.strip() for line in str(failure).splitlines()]
            out.write(next((line for line in lines if line), type(failure).__name__))
        raise


main(sys.argv[1])
