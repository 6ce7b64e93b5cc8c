"""Text as Spark compares and changes it: LIKE patterns, and upper and lower case."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow.model import WindrowError


def like_regex(pattern: str, escape: str = "\\") -> str:
    """A LIKE pattern as a regular expression over the whole text.

    >>> like_regex("50\\\\% of_all%")
    '(?s)\\\\A50% of.all.*\\\\z'
    """
    if len(escape) != 1:
        raise WindrowError(f"uses LIKE with ESCAPE {escape!r}, expected one character")
    made = []
    letters = iter(pattern)
    for letter in letters:
        if letter == escape:
            letter = next(letters, "")
            if letter not in ("%", "_", escape) or not letter:
                raise WindrowError(
                    f"uses LIKE {pattern!r}, in which the escape character {escape!r} stands "
                    f"before neither %, _ nor itself; double it where it means itself"
                )
            made.append(_plainly(letter))
        else:
            made.append({"%": ".*", "_": "."}.get(letter) or _plainly(letter))
    return rf"(?s)\A{''.join(made)}\z"


def _plainly(letter: str) -> str:
    """A letter that stands for itself. RE2 takes no escapes of letters that need none."""
    return f"\\{letter}" if letter in r"\.+*?()|[]{}^$" else letter


def like(x: Any, regex: str) -> Any:
    """Which texts fit; null stays null."""
    return pc.match_substring_regex(x, regex)


def upper(x: Any) -> Any:
    """Upper case, where ß becomes SS, as Spark does it."""
    return _cased(x, pc.ascii_upper, str.upper)


def lower(x: Any) -> Any:
    """Lower case, where a Σ at a word's end becomes ς, as Spark does it."""
    return _cased(x, pc.ascii_lower, str.lower)


def _cased(x: Any, plain: Callable[[Any], Any], whole: Callable[[str], str]) -> Any:
    """Arrow maps letter by letter; what needs more goes through Python as one long text."""
    if isinstance(x, pa.Scalar):
        return pa.scalar(None if not x.is_valid else whole(x.as_py()), x.type)
    if pc.all(pc.string_is_ascii(x), skip_nulls=True, min_count=0).as_py() is not False:
        return plain(x)
    between = _unused(x)
    wide = pa.large_string()
    filled = pc.cast(pc.fill_null(x, ""), wide)
    ended = pc.binary_join_element_wise(filled, pa.scalar("", wide), pa.scalar(between, wide))
    together = ended.buffers()[2].to_pybytes().decode()
    changed = pa.array([whole(together)], wide)
    parts = pc.split_pattern(changed, between)[0].values.slice(0, len(x)).cast(x.type)
    return pc.if_else(pc.is_valid(x), parts, pa.scalar(None, x.type))


def _unused(x: pa.Array) -> str:
    """A character that no text has; those that Unicode promises never to use come first."""
    for code in chain(range(0xFDD0, 0xFDF0), range(0xE000, 0xF900)):
        if not pc.any(pc.match_substring(x, chr(code))).as_py():
            return chr(code)
    raise WindrowError("changes the case of text that has every private character of Unicode")
