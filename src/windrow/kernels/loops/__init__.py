"""The loops: a batch against a state, one tuple at a time. Their steps are in `kernels.steps`."""
