"""The example of continuous queries, as it is."""

import importlib.util
from pathlib import Path

EXAMPLE = Path(__file__).parents[3] / "examples" / "sensors.py"


def test_sensors(spark, tmp_path, capsys):
    spec = importlib.util.spec_from_file_location("sensors", EXAMPLE)
    sensors = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sensors)
    sensors.run(spark, tmp_path)
    said = capsys.readouterr().out
    for title in (
        "Places that are hot and damp:",
        "Alarms since the query was added:",
        "The highest values of the last hour:",
    ):
        lines = said.partition(title)[2].splitlines()[1:]
        shown = lines[: next(n for n, line in enumerate(lines) if not line.startswith(("+", "|")))]
        # Three rules and a header, and then an answer or more.
        assert len(shown) > 4, said
    assert "hot and damp: WINDOW" not in said
    assert "  alarms: WINDOW 30 seconds, complete from" in said
    assert "Temperature and Humidity, windows of time: 0 arrivals suspended, 0 results held" in said
