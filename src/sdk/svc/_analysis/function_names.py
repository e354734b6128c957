"""Names of the function table that the analyzer needs before the server sees an expression. A test
compares them with the table.
"""

from __future__ import annotations

#: Aggregations over the rows of a has-many relation.
AGGREGATIONS = (
    "count",
    "sum",
    "min",
    "max",
    "mean",
    "median",
    "any",
    "all",
    "std",
    "var",
    "first",
    "last",
    "n_unique",
    "array_agg",
    "approx_count_distinct",
    "approx_percentile",
    "approx_top_k",
    "min_by",
    "max_by",
    "min_by_n",
    "max_by_n",
)

#: Aggregations whose first argument is an expression of the row.
BY_KEY = frozenset(("min_by", "max_by", "min_by_n", "max_by_n"))

#: Aggregations that need a column.
ONE_COLUMN = frozenset(AGGREGATIONS) - {"count"}

#: Functions whose result is a bool: in brackets they are conditions, not columns.
CONDITIONS = frozenset(
    (
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "between",
        "is_in",
        "and",
        "or",
        "xor",
        "not",
        "is_null",
        "is_not_null",
        "is_nan",
        "is_finite",
        "contains",
        "starts_with",
        "ends_with",
        "like",
        "regexp_like",
    )
)
