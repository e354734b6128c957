"""The way from an imported project to its graph: reading, checks and translation."""
