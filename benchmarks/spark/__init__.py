"""Benchmarks of the join on Spark, beside Spark's own stream-stream join."""
