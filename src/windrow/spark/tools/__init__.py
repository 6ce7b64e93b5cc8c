"""What people look at: a checkpoint from outside, a query as it runs."""
