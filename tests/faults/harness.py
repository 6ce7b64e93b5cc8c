"""Processes to kill, streams to feed them with, and the oracle's answer."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from windrow.testing import assert_same_rows, duckdb_join, rows

from . import job

SECOND = 1_000_000
#: Rows of a stream in a file, and the event time of a micro-batch. Windows reach over several.
ROWS, SPAN = 40, 3 * SECOND


class DiedError(Exception):
    """The driver is gone."""


# -- processes ---------------------------------------------------------------------------------


def stat(pid):
    """State, parent, and session of a process; None if there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, parent, _, session = text.rpartition(")")[2].split()[:4]
    return state, int(parent), int(session)


def processes(session):
    """Every live process of a session, which is what a process we started has started in turn."""
    found = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [pid for pid in found if (s := stat(pid)) and s[2] == session and s[0] != "Z"]


def signal_all(pids, number):
    """Send them all a signal; one that is gone by now needs none."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def kill(pids):
    """Kill at once, without a chance to tidy up."""
    signal_all(pids, signal.SIGKILL)


class Process:
    """A process in a session of its own, so that all it starts can be found and killed."""

    def __init__(self, command, log, **more):
        self.log = Path(log)
        with open(self.log, "ab") as file:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                start_new_session=True,
                **more,
            )

    def processes(self):
        return processes(self.process.pid)

    def kill(self):
        """Everything at once, until nothing is left."""
        deadline = time.monotonic() + 20
        while pids := self.processes():
            kill(pids)
            assert time.monotonic() < deadline, f"cannot kill {pids}"
            time.sleep(0.02)
        self.process.wait(20)


class Driver(Process):
    """A Spark driver that runs `job.py`, or another script that answers line by line."""

    def __init__(self, log, master="local[2,4]", script=job.__file__, **settings):
        self.python = sys.executable
        arguments = json.dumps({"master": master, **settings})
        environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
        super().__init__([self.python, script, arguments], log, env=environment)
        self.answers = queue.Queue()
        self.waiting = 0
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        for line in self.process.stdout:
            self.answers.put(line)
        self.answers.put(None)

    @property
    def idle(self):
        """Alive, and nothing asked that was not answered."""
        return self.process.poll() is None and not self.waiting

    def pause(self):
        """Stop all of it, in the middle of whatever it does."""
        signal_all(self.processes(), signal.SIGSTOP)

    def resume(self):
        signal_all(self.processes(), signal.SIGCONT)

    def send(self, **request):
        self.waiting += 1
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise DiedError(self.tail()) from None

    def answer(self, seconds):
        try:
            line = self.answers.get(timeout=seconds)
        except queue.Empty:
            raise AssertionError(f"no answer in {seconds} s\n{self.tail()}") from None
        if line is None:
            raise DiedError(self.tail())
        self.waiting -= 1
        return json.loads(line)

    def quiet(self, seconds):
        """Wait; is there still no answer?"""
        deadline = time.monotonic() + seconds
        while self.answers.empty() and time.monotonic() < deadline:
            time.sleep(0.02)
        return self.answers.empty()

    def start(self, *queries, seconds=90):
        """Send the queries off; `answer` tells how they ended."""
        self.send(run=[query.request for query in queries], seconds=seconds)

    def outcomes(self, seconds):
        """How they ended: without an error."""
        found = self.answer(seconds)
        for each in found:
            assert each["error"] is None, f"{each['error']}\n{self.tail()}"
        return found

    def run(self, *queries, seconds=90):
        """Run the queries to their end; returns the outcome of the first."""
        self.start(*queries, seconds=seconds)
        return self.outcomes(seconds + 60)[0]

    def result(self, query):
        """All rows of the query's sink."""
        self.send(read=query.request)
        return pq.read_table(self.answer(60))

    def workers(self, running=False):
        """The Python workers, by id, or those at work; the daemon they fork from is not one."""
        found = {pid: stat(pid) for pid in self.processes()}
        forked = {pid for pid in found if b"pyspark.daemon" in command(pid)}
        return sorted(
            pid
            for pid in forked
            if (of := found[pid]) and of[1] in forked and (of[0] == "R" or not running)
        )

    def tail(self, lines=40):
        """The end of the log, without Java's stacks."""
        text = self.log.read_text(errors="replace").splitlines()
        return "\n".join([line for line in text if not line.startswith("\tat ")][-lines:])


def command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


# -- streams -----------------------------------------------------------------------------------


def table(seed, files, span):
    """Rows out of order by less than the lateness; keys of which some have no partner."""
    rng = np.random.default_rng(seed)
    rows = files * ROWS
    ts = np.sort(rng.integers(0, files * span, rows))
    ts = ts[np.argsort(ts + rng.integers(0, 900_000, rows), kind="stable")]
    keys = rng.integers(0, 60, rows) + 25 * seed
    return pa.table(
        {
            "k": pa.array([None if k % 20 == 0 else f"key {k}" for k in keys]),
            "t": pa.array(ts, pa.timestamp("us", "UTC")),
            "v": pa.array(np.arange(rows)),
            "beat": pa.array([False] * rows),
        }
    )


def flush(after):
    """A heartbeat later than any window, which frees every row."""
    return pa.table(
        {
            "k": pa.array([None], pa.string()),
            "t": pa.array([after + 3600 * SECOND], pa.timestamp("us", "UTC")),
            "v": pa.array([-1]),
            "beat": pa.array([True]),
        }
    )


class Query:
    """Streams of `files` files, and a join of them with its sink and checkpoint."""

    def __init__(self, folder, files, how="full", files_each=1, inputs=2, **more):
        self.folder = Path(folder)
        self.files = files
        self.how = how
        self.names = job.NAMES[:inputs]
        self.tables = [table(seed, files, SPAN // files_each) for seed in range(inputs)]
        self.offered = 0
        self.request = {
            "folder": str(folder), "how": how, "files": files_each, "inputs": inputs, **more,
        }  # fmt: skip

    def offer(self, count=None):
        """Put the next files of all streams where the query reads; the last ones end it."""
        stop = self.files if count is None else min(self.files, self.offered + count)
        for name, whole in zip(self.names, self.tables, strict=True):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
            for number in range(self.offered, stop):
                self._write(name, number, whole.slice(number * ROWS, ROWS))
            if stop == self.files:
                self._write(name, self.files, flush(self.files * SPAN))
        self.offered = stop

    def _write(self, name, number, part):
        path = self.folder / name / f"{number:03}.parquet"
        hidden = path.with_name(f".{path.name}")
        pq.write_table(part, hidden)
        # The file source goes by age; files of one second would come in any order.
        os.utime(hidden, (1_700_000_000 + number, 1_700_000_000 + number))
        hidden.rename(path)

    @property
    def batches(self):
        """Micro-batches committed."""
        return self._logged("commits")

    @property
    def begun(self):
        """Micro-batches begun."""
        return self._logged("offsets")

    def _logged(self, log):
        found = (self.folder / "checkpoint" / log).glob("*")
        return len([path for path in found if path.name.isdigit()])

    def notes(self, kind):
        """What the hook noted of this kind: batch, partition, attempt, executor."""
        found = (self.folder / "notes").glob(f"{kind}-*")
        return sorted(tuple(map(int, path.name.split("-")[1:])) for path in found)

    def expected(self):
        choices = self.request.get("choices", {})
        return duckdb_join(
            *job.streams(*self.tables), how=self.how, condition=choices.get("condition")
        )

    def check(self, got):
        """Every row of the oracle's, once."""
        assert_same_rows(got, self.expected())

    def check_no_other_rows(self, got):
        """Before the end: not yet every row, but none that is not the oracle's, and none twice."""
        assert not rows(got) - rows(self.expected())


def until(true, seconds, what):
    """Wait until it holds."""
    deadline = time.monotonic() + seconds
    while not (found := true()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what() if callable(what) else what}")
        time.sleep(0.02)
    return found
