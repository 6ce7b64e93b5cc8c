"""Benchmarks of continuous queries on Spark: one shared join beside joins for each query."""
