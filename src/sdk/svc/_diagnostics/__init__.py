"""Findings, and where in the user's source text they are."""
