"""Silence by a clock that steps, on the directory alone; `test_log.py` has what follows from it."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from windrow.spark.log.directory import Directory
from windrow.spark.silence import listen

#: Time between two micro-batches, and by how much the clock is behind in the second one, if it is.
steps = st.lists(
    st.tuples(st.integers(0, 50), st.one_of(st.just(0), st.integers(1_000, 2_000))), max_size=12
)


@given(steps, st.integers(0, 50))
def test_silence_is_real_time_once_the_clock_is_right_again(steps, last):
    """It steps back, and is corrected before it has caught up by itself."""
    directory, real, behind = Directory.new(1, {}, [0, 0]), 10_000, 0
    listen(directory, real, 0, [False, False])
    for passed, back in [*steps, (last, 0)]:
        real += passed
        behind = (behind or back) if back else 0
        listen(directory, real - behind, 0, [False, False])
        assert directory.silence[0] <= real - 10_000
        if not behind:
            assert directory.silence == [real - 10_000] * 2


def test_only_a_stream_that_sends_nothing_is_silent():
    directory = Directory.new(1, {}, [0, 0])
    for now, heard in ((100, [True, True]), (105, [True, False]), (50, [True, False])):
        listen(directory, now, 0, heard)
    assert directory.silence == [0, 5]
    listen(directory, 106, 0, [False, True])
    assert directory.silence == [1, 0]


def test_a_step_back_while_the_query_was_down_is_not_held_against_the_next_run():
    directory = Directory.new(1, {}, [0, 0])
    for now, built in ((100, 90), (60, 55), (63, 55), (104, 55)):
        listen(directory, now, built, [False, False])
    assert directory.silence == [4, 4]


def test_a_directory_without_a_place_for_steps_is_read():
    plain = replace(Directory.new(1, {}, [0, 0]), now=100, silence=[7, 0])
    text = plain.to_text().replace('"ahead": 0, ', "").replace('"counted": 0, ', "")
    assert "ahead" not in text
    listen(found := Directory.from_text(text), 103, 0, [False, False])
    assert found.silence == [10, 3]
