"""Truth tests of expressions in a module, rule 134.

`and`, `or`, `not`, `in`, `x < y < z` and `if` make Python decide at import what is known only when
a query runs.
"""

from __future__ import annotations

import ast
import os
import re
from types import TracebackType
from typing import Iterator, Optional

from .._diagnostics import rules
from .._diagnostics.findings import Finding, Span
from .._diagnostics.source import Source


def is_truth_test(error: BaseException) -> bool:
    """Whether an exception comes from an expression or a condition that was asked whether it is
    true, or what it contains.
    """
    last: Optional[TracebackType] = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None or not isinstance(error, TypeError):
        return False
    code = last.tb_frame.f_code
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
    return os.path.abspath(code.co_filename).startswith(here) and code.co_name in ("__bool__", "__contains__")


def truth_test_finding(error: BaseException, source: Optional[Source], line: int, fallback: Span) -> Finding:
    """Finding 134 at the operator that made the truth test."""
    found = _tested(source, line) if source else None
    if source is None or found is None:
        return rules.DecidedAtOnce.raised(problem=str(error)).at(fallback)
    word, span, cure = found
    return rules.DecidedAtOnce.operator(word=word, cure=rules.OPERATOR_CURES.get(cure, rules.CHAIN_CURE)).at(span)


def _tested(source: Source, line: int) -> Optional[tuple[str, Span, str]]:
    """The operator that made the truth test, its span, and the name of the advice."""
    statement = _statement_at(source.tree, line)
    if statement is None:
        return None
    tests = [test for node in _in_order(statement) for test in _tests_of(node, source)]
    marked = [test for test in tests if any(_is_expression(operand) for operand in test[2])]
    chosen = (marked or tests or [None])[0]
    if chosen is None:
        return None
    word, span, operands = chosen
    is_container = word in ("in", "not in") and _is_expression(operands[1]) and not _is_expression(operands[0])
    return word, span, word.replace("in", "contains") if is_container else word


def _statement_at(tree: ast.Module, line: int) -> Optional[ast.stmt]:
    """The innermost statement that covers a line."""
    found: Optional[ast.stmt] = None
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0):
            if found is None or (node.lineno, -(node.end_lineno or 0)) >= (found.lineno, -(found.end_lineno or 0)):
                found = node
    return found


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    """The expressions of a node in the order of evaluation; nested statements are left out."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.stmt, ast.Lambda)):
            yield from _in_order(child)
    yield node


def _tests_of(node: ast.AST, source: Source) -> Iterator[tuple[str, Span, list[ast.expr]]]:
    """The truth tests that a node makes: the operator, its span, and the operands."""
    if isinstance(node, ast.BoolOp):
        word = "and" if isinstance(node.op, ast.And) else "or"
        for left, right in zip(node.values, node.values[1:]):
            yield word, source.span_between(left, right, rf"\b{word}\b") or source.span(node), [left]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        start = source.span(node)
        yield "not", Span(start.file, start.line, start.column, start.line, start.column + 3), [node.operand]
    elif isinstance(node, ast.Compare):
        operands = [node.left, *node.comparators]
        for index, operator in enumerate(node.ops):
            left, right = operands[index], operands[index + 1]
            if isinstance(operator, (ast.In, ast.NotIn)):
                word = "in" if isinstance(operator, ast.In) else "not in"
                yield word, source.span_between(left, right, r"\b(?:not\s+)?in\b") or source.span(node), [left, right]
            elif index > 0:
                span = source.span_between(left, right, r"[<>=!]=?|\bis(?:\s+not)?\b") or source.span(node)
                yield "<" if isinstance(operator, ast.Lt) else source.text_at(span) or "<", span, operands
    elif isinstance(node, (ast.IfExp, ast.If, ast.While, ast.Assert)):
        yield "if", source.span(node.test), [node.test]
    elif isinstance(node, ast.comprehension):
        for test in node.ifs:
            yield "if", source.span(test), [test]


def _is_expression(node: ast.expr) -> bool:
    """Whether syntax looks like an expression on features: it has `_` in it, or an attribute of
    what begins with a capital letter.
    """
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and inner.id == "_":
            return True
        if isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name) and re.match(r"[A-Z]\w*[a-z]", inner.value.id):
            return True
    return False
