"""What works without any extra, and what the rest says is missing: with libraries kept out."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from windrow.extras import EXTRAS

PROJECT = Path(__file__).parents[1] / "pyproject.toml"

#: Put before a script: no finder knows these libraries, as where they are not installed.
WITHOUT = """
import sys
class Without:
    def __init__(self, finder):
        self.finder = finder
    def __getattr__(self, name):
        return getattr(self.finder, name)
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {missing!r}:
            return None
        return self.finder.find_spec(name, path, target)
sys.meta_path[:] = map(Without, sys.meta_path)
"""

JOIN = """
import pyarrow as pa
import windrow as wr
rows = pa.table({"k": [1, 2], "t": pa.array([1, 2], pa.timestamp("us"))})
a, b = (wr.stream(rows, name=n, key="k", time="t", window="1 second") for n in "ab")
joined = wr.join(a, b, how="full", condition="a.k < 2 OR b.k < 2")
print(joined.num_rows, wr.metrics(joined).matches)
wr.explain(a, b)
"""

SPARK_JOIN = """
import tempfile
import windrow as wr
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]").config("spark.sql.shuffle.partitions", "1")
spark = wr.configure(builder.config("spark.ui.enabled", "false")).getOrCreate()
rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 5).load()
a, b = (
    wr.stream(rows, name=name, key="value", time="timestamp", window="1 second") for name in "ab"
)
with tempfile.TemporaryDirectory() as folder:
    query = (
        wr.join(a, b).writeStream.format("noop").option("checkpointLocation", folder)
        .trigger(once=True).start()
    )
    query.awaitTermination()
print(wr.metrics(query)[-1].matches)
"""


def run(script, missing=tuple(EXTRAS), worker_too=False, folder=None):
    """Run a script in a process without these libraries; its exit code, output and errors."""
    before = WITHOUT.format(missing=set(missing))
    environment = dict(os.environ)
    if worker_too:
        (folder / "sitecustomize.py").write_text(before)
        environment["PYTHONPATH"] = os.pathsep.join([str(folder), *sys.path[1:]])
    done = subprocess.run(
        [sys.executable, "-c", before + script], capture_output=True, text=True, env=environment
    )
    return done.returncode, done.stdout.strip(), done.stderr


def test_the_extras_are_those_of_the_project():
    declared = tomllib.loads(PROJECT.read_text())["project"]
    for library, extra in EXTRAS.items():
        own = declared["optional-dependencies"][extra]
        assert any(each.startswith(f"{library}>=") for each in own), library
        assert not any(each.startswith(library) for each in declared["dependencies"]), library


def test_a_join_in_process():
    assert run(JOIN) == (0, "3 1", "")


def test_pyspark_and_pandas_are_not_loaded_for_it():
    assert run(JOIN, {*EXTRAS, "pyspark", "py4j", "pandas", "google"}) == (0, "3 1", "")


def test_a_join_on_spark_and_in_its_workers(tmp_path):
    code, out, err = run(SPARK_JOIN, worker_too=True, folder=tmp_path)
    assert (code, out) == (0, "5"), err[-3000:]


@pytest.mark.parametrize(
    ("script", "missing", "says"),
    [
        ("import windrow.testing", {"duckdb"}, "windrow.testing needs duckdb"),
        ("import windrow.testing", {"hypothesis"}, "windrow.testing needs hypothesis"),
        (
            "import windrow.experiments.store",
            {"matplotlib"},
            "Running experiments needs matplotlib",
        ),
        ("import windrow.spark.live", {"rich"}, "windrow.spark.live needs rich"),
        ("import windrow.demo.on_spark", {"rich"}, "The demo needs rich"),
        ("import windrow.cli", {"typer"}, "The command windrow needs typer"),
        ("import windrow.cli", {"rich"}, "The command windrow needs rich"),
    ],
)
def test_what_is_missing_is_named_with_what_brings_it(script, missing, says):
    code, _, err = run(script, missing)
    [library] = missing
    last = err.strip().splitlines()[-1]
    asked = f"which is not installed; run: pip install windrow[{EXTRAS[library]}]"
    assert (code, last) == (1, f"windrow.extras.MissingExtraError: {says}, {asked}")


def command(*arguments):
    return f"from windrow.__main__ import main; sys.argv[1:] = {list(arguments)!r}; main()"


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_the_command_says_it_in_a_line(missing):
    asked = f"The command windrow needs {missing}, which is not installed; run: "
    assert run(command("--help"), {missing}) == (
        2,
        "",
        f"windrow: {asked}pip install windrow[cli]\n",
    )


def test_experiments_say_it_before_they_run(tmp_path):
    code, out, err = run(
        command("experiments", "run", "1.4", "--out", str(tmp_path)), {"matplotlib"}
    )
    assert (code, out) == (2, "")
    assert err == (
        "windrow: Running experiments needs matplotlib, which is not installed; run: "
        "pip install windrow[experiments]\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_commands_that_need_no_extra_but_their_own():
    code, out, err = run(command("experiments", "list"), {"matplotlib", "duckdb", "hypothesis"})
    assert (code, err) == (0, "")
    assert "1.4" in out
    code, out, err = run(
        command("demo", "--in-process", "--auctions", "100"), {"matplotlib", "duckdb", "hypothesis"}
    )
    assert (code, err) == (0, "")
    assert "The answer was not checked: windrow.testing needs duckdb" in " ".join(out.split())


def test_a_bug_in_an_import_is_not_taken_for_a_missing_extra():
    code, _, err = run("import windrow.testing", {"sortedcontainers"})
    assert code == 1
    assert "MissingExtraError" not in err
