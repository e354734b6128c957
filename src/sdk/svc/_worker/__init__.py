"""The worker process, which runs resolvers for the server."""
