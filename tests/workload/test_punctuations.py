"""Punctuated streams keep their promise and have the paper's sizes, percentages and orders."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.model import WindrowError
from windrow.workload import Pattern, punctuated

PATTERNS = [
    f"{kind}-{order}{sizes}"
    for kind, sizes in (("unique", ""), ("cluster", "-7"), ("punct", "-30-40"), ("punct", "-2-5"))
    for order in ("asc", "desc", "random")
]


def columns(table: pa.Table) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Keys, microseconds, and which rows are punctuations."""
    return (
        table["key"].to_numpy(),
        table["time"].cast(pa.int64()).to_numpy(),
        table["over"].to_numpy(),
    )


def broken(table: pa.Table) -> int:
    """Rows that come after the punctuation of their key."""
    keys, _, over = columns(table)
    ended_at = {int(key): at for at, key in zip(np.flatnonzero(over), keys[over], strict=True)}
    assert len(ended_at) == over.sum(), "a key ends once"
    return sum(ended_at.get(int(key), len(keys)) < at for at, key in enumerate(keys))


def segments(table: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Of each complete segment, its tuples and how many of them have the key that it ends."""
    keys, _, over = columns(table)
    at = np.flatnonzero(over)
    number = np.cumsum(over) - over
    inside = (number < len(at)) & ~over
    sizes = np.bincount(number[inside], minlength=len(at))
    matching = keys[inside] == keys[at][number[inside]]
    return sizes, np.bincount(number[inside], weights=matching, minlength=len(at))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_promise_holds(pattern: str) -> None:
    table = punctuated(pattern, 20, seed=3, marked=True)
    assert table["over"].to_numpy().sum() > 10
    assert broken(table) == 0


@settings(deadline=None, max_examples=30)
@given(
    pattern=st.builds(
        Pattern,
        kind=st.just("punct"),
        order=st.sampled_from(["asc", "desc", "random"]),
        size=st.floats(1, 50),
        match=st.floats(0, 100),
    ),
    seconds=st.floats(0, 3),
    seed=st.integers(0, 2**32),
)
def test_the_promise_holds_for_any_setting(pattern: Pattern, seconds: float, seed: int) -> None:
    table = punctuated(pattern, seconds, seed=seed)
    assert broken(table) == 0
    keys, times, over = columns(table)
    assert (np.diff(times) >= 0).all()
    assert not over[:1].any()
    assert (times[over] == times[np.flatnonzero(over) - 1]).all()
    assert ((keys >= 0) & (keys < pattern.values(seconds / 0.01))).all()


def test_schema() -> None:
    table = punctuated("punct-asc-30-40", 5, seed=1, start="2030-05-06")
    assert table.schema == pa.schema(
        [
            ("key", pa.int64()),
            ("time", pa.timestamp("us", tz="UTC")),
            ("v", pa.float64()),
            ("over", pa.bool_()),
        ]
    )
    assert table["time"][0].as_py().isoformat().startswith("2030-05-06T00:00:0")
    over = table["over"].to_numpy()
    assert (table["v"].is_null().to_numpy() == over).all()
    assert table["key"].null_count == 0


def test_gaps_have_their_mean() -> None:
    for gap in (0.01, 0.002):
        _, times, over = columns(punctuated("punct-asc-100-40", 100, seed=2, gap=gap))
        gaps = np.diff(times[~over]) / 1e6
        assert gaps.mean() == pytest.approx(gap, rel=0.03)
        assert gaps.std() == pytest.approx(gap, rel=0.05)


# -- the patterns ----------------------------------------------------------------------------


def test_sizes_and_percentages_of_general_streams() -> None:
    sizes, matching = segments(punctuated("punct-asc-100-40", 2000, seed=4))
    assert len(sizes) > 1900
    assert sizes.mean() == pytest.approx(100, rel=0.02)
    assert sizes.var() == pytest.approx(100, rel=0.15), "Poisson"
    percent = 100 * matching / sizes
    assert percent.mean() == pytest.approx(40, rel=0.02)
    # Poisson around 40, and a little by chance: some tuples of a segment are a whole number.
    assert percent.var() == pytest.approx(40, rel=0.15)


def test_clusters_come_one_after_the_other() -> None:
    table = punctuated("cluster-random-8", 300, seed=5)
    sizes, matching = segments(table)
    assert (sizes == matching).all()
    assert sizes.min() >= 1
    assert sizes.mean() == pytest.approx(8, rel=0.03)
    keys, _, over = columns(table)
    borders = np.flatnonzero(np.diff(keys[~over])) + 1
    assert len(borders) + 1 == len(np.unique(keys))


def test_small_clusters_have_a_tuple_at_least() -> None:
    sizes, _ = segments(punctuated("cluster-asc-1", 300, seed=6))
    assert sizes.min() == 1
    assert sizes.mean() == pytest.approx(1 + np.exp(-1), rel=0.03)


def test_unique_keys_need_no_punctuations() -> None:
    plain, marked = (punctuated("unique-random", 30, seed=7, marked=m) for m in (None, True))
    keys, _, over = columns(plain)
    assert not over.any()
    assert len(np.unique(keys)) == len(keys)
    assert marked.filter(pa.compute.invert(marked["over"])).equals(plain)
    assert segments(marked)[0].tolist() == [1] * len(keys)


def test_others_end_in_later_segments_each_as_often() -> None:
    keys, _, over = columns(punctuated("punct-asc-50-40", 100, seed=8, values=1000))
    first = np.flatnonzero(over)[0]
    assert keys[first - 1] == keys[first] == 0, "the punctuation follows at once"
    others = keys[~over & (keys >= 300)]
    seen, _ = np.histogram(others, bins=7, range=(300, 1000))
    assert seen == pytest.approx(np.full(7, seen.mean()), rel=0.15)


@pytest.mark.parametrize("kind", ["cluster-{}-20", "punct-{}-20-40"])
def test_orders(kind: str) -> None:
    ended = {
        order: columns(punctuated(kind.format(order), 60, seed=9, values=400))
        for order in ("asc", "desc", "random")
    }
    asc, desc, mixed = (keys[over] for keys, _, over in ended.values())
    assert asc.tolist() == list(range(len(asc)))
    assert desc.tolist() == list(range(399, 399 - len(desc), -1))
    assert len(np.unique(mixed)) == len(mixed)
    assert abs(np.corrcoef(mixed, np.arange(len(mixed)))[0, 1]) < 0.3
    # The order changes the names of the keys and nothing else.
    assert [over.tolist() for _, _, over in ended.values()] == [ended["asc"][2].tolist()] * 3


def test_streams_of_like_settings_meet() -> None:
    one, two = (columns(punctuated("punct-desc-30-40", 60, seed=s)) for s in (1, 2))
    in_both = np.intersect1d(one[0][one[2]], two[0][two[2]])
    assert len(in_both) > 0.9 * one[2].sum()
    assert np.isin(one[0], two[0]).mean() > 0.95


def test_irrelevant_punctuations_name_keys_that_never_occur() -> None:
    plain, other = (
        punctuated("punct-random-30-40", 60, seed=1, irrelevant=i) for i in (False, True)
    )
    (keys, times, over), (named, *rest) = columns(plain), columns(other)
    assert (keys[~over] == named[~over]).all()
    assert all((x == y).all() for x, y in zip((times, over), rest, strict=True))
    assert not np.isin(named[over], named[~over]).any()
    assert len(np.unique(named[over])) == over.sum()


def test_a_segment_that_is_cut_off_has_no_punctuation() -> None:
    table = punctuated("cluster-asc-100000", 5, seed=1)
    assert table.num_rows > 400
    assert not table["over"].to_numpy().any()
    assert punctuated("punct-asc-100-40", 0).num_rows == 0


def test_same_seed_same_rows() -> None:
    one, two, other = (punctuated("punct-random-30-40", 10, seed=s) for s in (5, 5, 6))
    assert one.equals(two)
    assert not one.equals(other)
    rng = np.random.default_rng(1)
    assert not punctuated("unique-asc", 1, seed=rng).equals(punctuated("unique-asc", 1, seed=rng))


# -- texts -----------------------------------------------------------------------------------


def test_the_notation() -> None:
    assert Pattern.parse("cluster-asc-12.5") == Pattern("cluster", "asc", 12.5)
    assert Pattern.parse("punctuation-desc-30-40") == Pattern("punct", "desc", 30, 40)
    assert Pattern.parse("unique-random") == Pattern("unique", "random")


@pytest.mark.parametrize(
    "text",
    ["", "punct", "unique", "punct-asc-30", "cluster-asc-3-40", "cluster-asc-x", "sorted-asc-3",
     "punct-asc-30-40 ", "punct-asc--30-40", "Punct-asc-30-40", None],
)  # fmt: skip
def test_bad_texts(text) -> None:
    with pytest.raises(WindrowError, match="give one such as unique-asc, cluster-asc-10"):
        punctuated(text, 10)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("punct-up-30-40", "'punct-up-30-40': order 'up'"),
        ("cluster-asc-0.5", "segments of 0.5 tuples"),
        ("punct-asc-30-101", "101.0 % of a segment"),
    ],
)
def test_bad_numbers(text: str, named: str) -> None:
    with pytest.raises(WindrowError, match=named):
        punctuated(text, 10)


def test_refusals() -> None:
    with pytest.raises(WindrowError, match="gap is 0"):
        punctuated("unique-asc", 1, gap=0)
    with pytest.raises(WindrowError, match="duration is -1"):
        punctuated("unique-asc", -1)
    with pytest.raises(WindrowError, match=r"segments need more than 3 distinct keys"):
        punctuated("cluster-asc-10", 60, values=3)
