"""Join state on the kernels: time lists, hash buckets, runs, indexes."""
