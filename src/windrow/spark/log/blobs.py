"""Record batches as bytes: Arrow's own stream format, so every type survives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa


def encode(batch: pa.RecordBatch) -> pa.Buffer:
    """One batch as an Arrow stream."""
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, batch.schema) as writer:
        writer.write_batch(batch)
    return out.getvalue()


def decode(blob: bytes | pa.Buffer) -> pa.RecordBatch:
    """The batch that was encoded; its columns point into the bytes."""
    with pa.ipc.open_stream(blob if isinstance(blob, pa.Buffer) else pa.py_buffer(blob)) as reader:
        return reader.read_next_batch()


def encode_all(batches: Sequence[pa.RecordBatch | None]) -> pa.Array:
    """A column with each batch encoded, written once: no bytes objects in between.

    Binary columns end at 2 GB; `pack` sends far less at a time.
    """
    out = pa.BufferOutputStream()
    ends = [0]
    for batch in batches:
        if batch is not None:
            with pa.ipc.new_stream(out, batch.schema) as writer:
                writer.write_batch(batch)
        ends.append(out.tell())
    data = out.getvalue()
    there = pa.array([batch is not None for batch in batches])
    buffers = [there.buffers()[1], pa.py_buffer(np.array(ends, np.int32)), data]
    return pa.Array.from_buffers(pa.binary(), len(batches), buffers)
