"""The processes that run evaluations."""
