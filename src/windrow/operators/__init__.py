"""Engine-free operators: the path of a batch from arrivals to results."""
