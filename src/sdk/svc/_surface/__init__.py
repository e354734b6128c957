"""The names and options that the package has, and those of others that it has not."""
