"""Two streams a and b of rows (k, t, v, beat), and the heartbeat that ends them."""

import pyarrow as pa

import windrow as wr


def rows(keys, times, beat=False):
    """Rows in this order, numbered."""
    return pa.table(
        {
            "k": pa.array(keys, pa.string()),
            "t": pa.array(times, pa.timestamp("us", "UTC")),
            "v": pa.array(range(len(keys)), pa.int64()),
            "beat": pa.array([beat] * len(keys)),
        }
    )


def flush(at):
    """One heartbeat at the very end."""
    return rows([None], [at], beat=True)


def streams(one, two, **more):
    common = {"key": "k", "time": "t", "beats": "beat", **more}
    return (
        wr.stream(one, name="a", window="2 seconds", **common),
        wr.stream(two, name="b", window="1 second", **common),
    )
