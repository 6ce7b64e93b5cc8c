"""Aggregates over results that come and go: the loop over time, and what it keeps by group."""
