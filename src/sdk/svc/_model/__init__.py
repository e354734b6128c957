"""The definitions of a project: feature classes, fields, references, expressions, resolvers, named
queries, hooks.
"""
