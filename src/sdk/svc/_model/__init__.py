"""What a project defines: feature classes, fields, references, expressions, resolvers, named
queries, hooks.
"""
