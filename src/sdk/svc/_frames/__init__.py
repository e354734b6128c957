"""DataFrames, and resolvers that take or give them."""
