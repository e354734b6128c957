"""Findings, the rules that they follow from, and where in the user's source text they are."""
