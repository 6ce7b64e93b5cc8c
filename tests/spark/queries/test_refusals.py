"""What continuous queries on Spark refuse before anything runs."""

import pytest

import windrow as wr

from .streams import Fed, stream

PAIRS = "SELECT A.v FROM a A, b B WHERE A.k = B.k"


@pytest.fixture
def fed(tmp_path):
    return Fed(tmp_path, 1)


def queries(fed, spark, **more):
    return wr.ContinuousQueries(
        *fed.streams(spark), checkpoint=str(fed.folder / "checkpoint"), **more
    )


def test_a_checkpoint_is_needed(fed, spark):
    with pytest.raises(wr.WindrowError, match="checkpoint is not given"):
        wr.ContinuousQueries(*fed.streams(spark))


def test_batches_are_no_streams(fed, spark):
    fed.write()
    frames = [spark.read.parquet(str(fed.folder / name)) for name in "ab"]
    streams = [stream(frame, name) for frame, name in zip(frames, "ab", strict=True)]
    with pytest.raises(wr.WindrowError, match="'a', 'b' are not streaming"):
        wr.ContinuousQueries(*streams, checkpoint=str(fed.folder / "checkpoint"))


@pytest.mark.parametrize("name", ["age", "Queries", "AGGREGATES", "note"])
def test_columns_beside_the_streams_are_no_names(fed, spark, name):
    a, b, _ = fed.streams(spark)
    other = wr.stream(b.data, name=name, key="k", time="t")
    with pytest.raises(wr.WindrowError, match=f"stream name '{name}' is reserved"):
        wr.ContinuousQueries(a, other, checkpoint=str(fed.folder / "checkpoint"))


def test_explain_says_that_rates_are_not_known(fed, spark):
    asked = queries(fed, spark)
    asked.add(f"{PAIRS} WINDOW 3 seconds", name="one")
    (join,) = wr.explain(asked).joins
    assert (join.windows, join.seconds("mqt")) == ({3_000_000: 1}, {})
    assert "rates are not known before it runs" in str(wr.explain(asked))


def test_what_does_not_run_cannot_be_waited_for(fed, spark):
    with pytest.raises(wr.WindrowError, match="start them first"):
        queries(fed, spark).process_all_available()


def test_a_query_that_is_not_there_has_no_answers(fed, spark):
    asked = queries(fed, spark)
    asked.add(f"{PAIRS} WINDOW 3 seconds", name="one")
    with pytest.raises(wr.WindrowError, match="no query 'two'; there are: 'one'"):
        asked.answers("two")


def test_what_was_added_is_there_for_the_next_driver_and_what_runs_must_have_its_streams(
    fed, spark
):
    queries(fed, spark).add(f"{PAIRS} WINDOW 3 seconds", name="one")
    again = queries(fed, spark)
    assert again.status().names() == ["one"]
    assert not again.status().query("one").known
    assert again.answers("one").columns == ["v"]
    assert again.answers("one").count() == 0
    a, _, c = fed.streams(spark)
    others = wr.ContinuousQueries(a, c, checkpoint=str(fed.folder / "checkpoint"))
    with pytest.raises(wr.WindrowError, match="there is no stream 'b' now, only a, c"):
        others.start()
