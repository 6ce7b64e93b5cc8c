"""Record batches as bytes: Arrow's own stream format, so every type survives."""

from __future__ import annotations

import pyarrow as pa


def encode(batch: pa.RecordBatch) -> bytes:
    """One batch as an Arrow stream."""
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, batch.schema) as writer:
        writer.write_batch(batch)
    encoded: bytes = out.getvalue().to_pybytes()
    return encoded


def decode(blob: bytes) -> pa.RecordBatch:
    """The batch that was encoded; its columns point into the bytes."""
    with pa.ipc.open_stream(pa.py_buffer(blob)) as reader:
        return reader.read_next_batch()
