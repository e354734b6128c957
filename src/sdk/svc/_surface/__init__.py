"""The public names and options of the package, and those that only other libraries have."""
