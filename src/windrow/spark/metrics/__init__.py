"""What a running query says of itself: figures and advice, in the workers and at the driver."""
