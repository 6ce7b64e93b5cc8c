"""A Spark driver that runs continuous queries on request, as a process that can be killed.

Each line on stdin is a request and gets one line on stdout:

    {"open": folder, "budget": n, "first": {name: text}}
                                    begin with these, or go on from the checkpoint; who runs
    {"add": name, "sql": text}      let a query run
    {"drop": name}                  let it end
    {"finish": true}                wait until all there is has been answered
    {"answers": name}               a query's answers, as Spark reads them, into one file

What is sent to the join is kept in `sent`, because Spark removes it once it is read.
"""

import json
import os
import sys
from pathlib import Path

import pyarrow.parquet as pq
from job import SCHEMA, session

import windrow as wr
from windrow.spark.queries import control


def opened(spark, folder, budget):
    """The queries over the folder's streams."""
    spark.conf.set("spark.windrow.arena.dir", folder)
    spark.conf.set("spark.sql.shuffle.partitions", 2)
    streams = [
        wr.stream(
            spark.readStream.schema(SCHEMA).parquet(f"{folder}/{name}"),
            name=name, key="k", time="t", beats="beat", lateness="1 second",
        )
        for name in "ab"
    ]  # fmt: skip
    return wr.ContinuousQueries(*streams, budget=budget, checkpoint=f"{folder}/checkpoint")


def keep_sent(folder):
    """Note what is sent to the join, before it is."""
    sent, send = Path(folder) / "sent", control.send
    sent.mkdir(exist_ok=True)

    def noted(place, asked):
        (sent / f"{asked.version}.json").write_text(asked.to_text())
        send(place, asked)

    control.send = noted


def answer(spark, queries, request, folder):
    """Do what is asked; what to say."""
    if "add" in request:
        return queries.add(request["sql"], name=request["add"])
    if "drop" in request:
        return queries.drop(request["drop"])
    if "finish" in request:
        return queries.process_all_available()
    path = f"{folder}/{request['answers']}.parquet"
    pq.write_table(queries.answers(request["answers"]).toArrow(), path)
    return path


def main():
    # Spark writes to stdout as well; the answers go to where stdout was.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    spark = session(json.loads(sys.argv[1]))
    queries = folder = None
    for line in sys.stdin:
        request = json.loads(line)
        if "open" in request:
            folder = request["open"]
            keep_sent(folder)
            queries = opened(spark, folder, request["budget"])
            for name, sql in request["first"].items():
                queries.add(sql, name=name)
            queries.start()
            said = queries.status().names()
        else:
            said = answer(spark, queries, request, folder)
        print(json.dumps(said), file=answers, flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
