"""DataFrames, and resolvers that take or return them."""
