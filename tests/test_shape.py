"""The code's own shape: short files and functions, few parameters, streams that are counted."""

import ast
from pathlib import Path

import windrow as wr
from windrow import testing

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/windrow"
#: "No file much over 400 lines."
MOST_LINES, MOST_IN_FUNCTION, MOST_PARAMETERS = 440, 80, 8
#: Users give what these take by name, so they may take more.
PUBLIC = {*wr.__all__, *testing.__all__}
#: The papers' figures of two streams.
TWO_STREAMS = {SOURCE / "experiments", SOURCE / "testing"}


def modules(*folders):
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def functions(path):
    """The functions of a file, with those in classes."""
    nodes = ast.walk(ast.parse(path.read_text()))
    return [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def place(path, node):
    return f"{path.relative_to(ROOT)}:{node.lineno} {getattr(node, 'name', '')}"


def parameters(function):
    """Their names, without that of the object or class."""
    taken = function.args
    names = [each.arg for each in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs)]
    return [name for name in names if name not in ("self", "cls")]


def test_files_are_short():
    paths = modules("src", "tests", "benchmarks", "examples")
    lines = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in paths}
    assert len(lines) > 300
    assert {path: count for path, count in lines.items() if count > MOST_LINES} == {}


def test_functions_are_short():
    found = [(path, node) for path in modules("src") for node in functions(path)]
    assert len(found) > 1000
    long = [
        place(path, node)
        for path, node in found
        if node.end_lineno - node.lineno >= MOST_IN_FUNCTION
    ]
    assert long == []


def test_functions_take_few_parameters():
    many = [
        place(path, node)
        for path in modules("src")
        for node in functions(path)
        if len(parameters(node)) > MOST_PARAMETERS and node.name not in PUBLIC
    ]
    assert many == []


def test_the_other_one_of_two_streams_is_named_in_one_place():
    """1 - stream is the other one of two; elsewhere there may be more.

    It stands in `partner_of` alone. A contract in pyproject.toml names the loops that import it:
    those over two streams, and the shared one, which has a half for two and one for many.
    """

    def is_other(node):
        return (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Sub)
            and isinstance(node.left, ast.Constant)
            and node.left.value == 1
            and ast.unparse(node.right).rpartition(".")[2] in ("stream", "side")
        )

    found = {
        path
        for path in modules("src")
        if not TWO_STREAMS & set(path.parents)
        for node in ast.walk(ast.parse(path.read_text()))
        if is_other(node)
    }
    assert found == {SOURCE / "kernels/loops/binary.py"}
