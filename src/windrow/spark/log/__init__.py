"""A bucket's log: what is durable of its join, and how the join is made again from it.

directory         what the blobs mean
log, chunks       blobs, chunks and deltas, written and read; rows by row id
stored            which rows of a chunk were stored, and in which order
keepers           which keepers a plan has: each writes and restores one part of the log
    tuples, punctuations, held, finals
ranges            ranges of keys, as punctuations in chunks of their own
writing           what a micro-batch writes
merging, renew    small chunks become one; a log that is mostly dead is written anew
question, repair  what a restart may change; progress that is set back
"""
