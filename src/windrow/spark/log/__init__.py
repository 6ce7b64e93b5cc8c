"""A bucket's log: what is durable of its join, and how the join is made again from it.

directory  what the blobs mean                 log      blobs, chunks and deltas: written, read
stored     which tuples of a chunk are stored  keepers  each stage's part: write, restore
writing    a micro-batch                       rebuild  the join, from the log
merging, renew   small chunks become one; a log that is mostly dead is written anew
question, repair what a restart may change; progress that is set back
"""
