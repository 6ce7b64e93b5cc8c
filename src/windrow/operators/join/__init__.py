"""The join itself: what has passed the gate in, pieces of results out."""
