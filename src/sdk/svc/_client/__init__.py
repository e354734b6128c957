"""What `SvcClient` is made of."""
