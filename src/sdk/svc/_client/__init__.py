"""The parts of `SvcClient`."""
