"""Notebooks: the process that runs their cells, and what it shows of values."""
