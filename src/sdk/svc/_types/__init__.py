"""Data types of features, and the annotations that name them."""
