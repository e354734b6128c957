"""Running resolvers for the server."""
