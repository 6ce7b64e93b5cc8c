"""numba's disk cache under several processes at once, as pooled workers would use it."""

import os
import subprocess
import sys

import pytest

CODE = """
import datetime as dt
import pyarrow as pa
import windrow as wr
table = pa.table({"k": [1, 2], "t": [dt.datetime(2026, 1, 1)] * 2})
a, b = (wr.stream(table, name=n, key="k", time="t", window="1 second") for n in "ab")
print(wr.join(a, b, algorithm="hash").num_rows)
"""


@pytest.mark.long
def test_processes_that_compile_at_once_agree(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", CODE], env=environment, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    assert [process.communicate(timeout=300)[0].strip() for process in processes] == ["2"] * 3
    again = subprocess.run(
        [sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, check=True
    )
    assert again.stdout.strip() == "2"
