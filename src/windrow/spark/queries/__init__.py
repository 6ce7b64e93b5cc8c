"""Continuous queries on Spark: one streaming query for all that can share a join.

    streams --> pack ---+
                        +--> exchange by bucket --> shared join, filters of all queries --> results/
    control/ --> pack --+                                                                      |
                                                             answers(name), follow(name) <-----+
                                                             aggregates, a second query <------+

files             small files of the checkpoint folder, written whole or not at all
registry          which queries there are: what survives the driver
control           how they reach the buckets: a stream of its own
"""
