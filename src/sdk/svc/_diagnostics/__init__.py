"""Findings, their rules, and their spans in the user's source text."""
