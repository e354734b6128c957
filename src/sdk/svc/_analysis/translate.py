"""Translation of resolvers that consist of arithmetic, text and comparisons to expressions that the
server computes without Python.

A function is translated only if the expressions equal the function whenever the server's evaluator
is sure of its result: every name keeps its meaning, nothing has an effect, and every operation has
the same result bit for bit or says that it is not sure. Such rows, and those on which the function
raises, run in Python as if there were no translation.

Whether a name keeps its meaning is found by reading the project's code (`bindings`). Not seen is a
name that is built while the code runs, as in `getattr(module, "__di" + "ct__")["RATE"] = 2`, or one
that an installed package changes. `@online(translate=False)` keeps a resolver in Python.
"""

from __future__ import annotations

import ast
import inspect
import sys
import types
from typing import Any, Mapping, Optional, Sequence

from .._codec.coded import CodedType
from .._diagnostics.findings import json_line
from .._diagnostics.outline import FunctionNode, FunctionOutline
from .._model.field_resolver import FieldResolver
from .._model.resolver import ResolverSpec
from .._model.resolver_decorators import offline, online
from .bindings import ProjectCode
from .meanings import Asking, Meanings
from .translate_expression import NOTHING, PYTHON, Expressions, Node, Untranslatable, call, parameter

#: Types of parameters and of results that the evaluator knows.
_TYPES = {f"PRIMITIVE_TYPE_{name}" for name in ("INT64", "FLOAT64", "STRING", "BOOL", "DATETIME")}

#: An expression for each output, in their order.
Results = Sequence[Node]


def translate(spec: ResolverSpec, code: ProjectCode) -> dict[str, str]:
    """The expressions of a resolver by output FQN, each as the text of proto3 JSON. Raises
    Untranslatable with the reason when the resolver stays in Python.
    """
    _check_signature(spec)
    function, outline = _function_of(spec)
    module = sys.modules.get(spec.definition.module)
    if module is None or function.__globals__ is not vars(module):
        raise Untranslatable("its module is not the one that it was imported from")
    _check_decorator(outline, vars(module))
    local_names = {*function.__code__.co_varnames, *function.__code__.co_cellvars}
    documents = _documents(spec, outline, local_names, Meanings(code, module, spec.output_class))
    return {output.fqn: document for output, document in zip(spec.outputs, documents)}


def _documents(spec: ResolverSpec, outline: FunctionOutline, local_names: set[str], meanings: Meanings) -> Sequence[str]:
    """The expressions of a function's outputs. All that they follow from is the function's text,
    which names its source, the key, and the answers to its questions.
    """
    source = spec.definition.source
    if source is None:
        raise Untranslatable("its source cannot be read")
    key = (
        "function",
        outline.index,
        tuple((item.name, item.path) for item in spec.inputs),
        tuple(output.attribute for output in spec.outputs),
        spec.returns_several,
        (spec.output_class.__name__, spec.output_class.__svc_features__.namespace),  # type: ignore[attr-defined]
        _primary_keys(spec),
        tuple(sorted(local_names)),
    )

    def compute() -> tuple[Any, ...]:
        asking = Asking(meanings)
        try:
            results = _Function(spec, Expressions(asking, local_names), source.functions()[outline.index]).translate()
            if sum(item.size for item in results) > 2_000:
                raise Untranslatable("it is too long")
        except Untranslatable as error:
            return asking.asked, str(error), error.line, ()
        return asking.asked, "", 0, tuple(str(json_line(result.document)) for result in results)

    _, reason, line, documents = source.derive(key, meanings.agree, compute)
    if reason:
        raise Untranslatable(reason, line=line)
    return documents


def _primary_keys(spec: ResolverSpec) -> tuple[str, ...]:
    return tuple(key.attribute for key in spec.output_class.__svc_features__.primary_keys)  # type: ignore[attr-defined]


def translate_all(specs: Sequence[ResolverSpec], filenames: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The translation of each resolver, or the reason why it has none, by FQN, as fields of
    `svc.v1.Resolver`. `filenames` are the project's Python files.
    """
    code = ProjectCode(filenames)
    return {spec.fqn: _translation(spec, code) for spec in specs if not spec.has_frames}


def _translation(spec: ResolverSpec, code: ProjectCode) -> dict[str, Any]:
    try:
        return {"translated": translate(spec, code)}
    except Untranslatable as error:
        return {"untranslated": f"line {error.line}: {error}" if error.line else str(error)}
    except RecursionError:
        return {"untranslated": "it is nested too deeply"}


def _check_signature(spec: ResolverSpec) -> None:
    if isinstance(spec.definition, FieldResolver):
        raise Untranslatable(spec.definition.what)
    if spec.definition.options.translate is False:
        raise Untranslatable("its decorator says translate=False")
    if spec.definition.options.resource_group is not None:
        raise Untranslatable("it runs in the workers of its resource group")
    checked = next((item.attribute for item in spec.outputs if item.checks), None)
    if checked is not None:
        raise Untranslatable(f"a function checks '{checked}'")
    if spec.is_async:
        raise Untranslatable("it is async")
    if spec.has_frames:
        raise Untranslatable("it takes or gives DataFrames")
    for item in spec.inputs:
        declared = spec.definition.parameters[item.parameter]
        if item.is_now:
            raise Untranslatable(f"its parameter '{item.name}' is the query's time")
        if item.windows_of:
            raise Untranslatable(f"its parameter '{item.parameter}' is a dict of windows")
        if declared.default is not inspect.Parameter.empty and declared.default is not None:
            raise Untranslatable(f"its parameter '{item.name}' has a default")
        if isinstance(item.python_type, CodedType):
            raise Untranslatable(f"its parameter '{item.name}' is decoded by a function")
        if item.dtype is None or item.dtype.get("primitive") not in _TYPES:
            raise Untranslatable(f"its parameter '{item.name}' is of a type that the server does not compute with")
    for output in spec.outputs:
        if output.window is not None:
            raise Untranslatable("its output is a window of a feature")
        if isinstance(output.python_type, CodedType):
            raise Untranslatable(f"its output '{output.fqn}' is encoded by a function")
        if output.dtype.get("primitive") not in _TYPES:
            raise Untranslatable(f"its output '{output.fqn}' is of a type that the server does not compute with")
    times = spec.output_class.__svc_features__.feature_times  # type: ignore[attr-defined]
    if any(time.fqn == output.fqn for time in times for output in spec.outputs):
        raise Untranslatable("it gives its class's feature time")


def _function_of(spec: ResolverSpec) -> tuple[types.FunctionType, FunctionOutline]:
    """The function and the outline of its definition. Raises Untranslatable unless they match."""
    function, outline = spec.definition.fn, spec.definition.outline
    if not isinstance(function, types.FunctionType) or hasattr(function, "__wrapped__"):
        raise Untranslatable("another decorator stands above it")
    if outline is None:
        raise Untranslatable("its source cannot be read")
    code = function.__code__
    if code.co_freevars:
        raise Untranslatable(f"it reads '{code.co_freevars[0]}' of the function around it", line=outline.line)
    origin = spec.definition.origin
    is_same = (code.co_filename, code.co_firstlineno, code.co_name) == (origin.filename, origin.line, origin.name)
    if not is_same or code.co_varnames[: len(outline.parameters)] != outline.parameters:
        raise Untranslatable("its source is not that of the function", line=outline.line)
    return function, outline


def _check_decorator(outline: FunctionOutline, names: Mapping[str, Any]) -> None:
    if len(outline.decorators) != 1:
        raise Untranslatable("another decorator stands above it", line=outline.line)
    ((line, dotted),) = outline.decorators
    found = names.get(dotted[0]) if dotted else None
    for attribute in dotted[1:] if dotted else ():
        found = getattr(found, attribute, None) if isinstance(found, types.ModuleType) else None
    if found is not online and found is not offline:
        raise Untranslatable("another decorator stands above it", line=line)


class _Function:
    """The translator of a function's statements."""

    def __init__(self, spec: ResolverSpec, expressions: Expressions, node: FunctionNode) -> None:
        self.spec = spec
        self.expressions = expressions
        self.node = node

    def translate(self) -> Results:
        names = {item.name: parameter(item.path.split(".")[1:]) for item in self.spec.inputs}
        body = self.node.body
        has_docstring = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and isinstance(body[0].value.value, str)
        return self._block(body[1:] if has_docstring else body, names)

    def _block(self, statements: Sequence[ast.stmt], names: Mapping[str, Node]) -> Results:
        """The results of the function from the first of these statements on, which are all that are
        left.
        """
        if not statements:
            return self._outcome(NOTHING)
        first, rest = statements[0], statements[1:]
        if isinstance(first, ast.Return):
            return self._return(first.value, names)
        if isinstance(first, ast.Raise):
            return self._outcome(PYTHON)
        if isinstance(first, ast.Pass):
            return self._block(rest, names)
        if isinstance(first, ast.If):
            test = self.expressions.translate(first.test, names)
            return _choice(test, self._block([*first.body, *rest], names), self._block([*first.orelse, *rest], names))
        if isinstance(first, ast.Assert):
            return _choice(self.expressions.translate(first.test, names), self._block(rest, names), self._outcome(PYTHON))
        target, value = _assignment(first)
        if target not in self.expressions.local_names:
            raise Untranslatable("it names global variables", first)
        given = self.expressions.translate(value, names)
        results = self._block(rest, {**names, target: given})
        return results if given.is_plain else _after(given, results)

    def _return(self, value: Optional[ast.expr], names: Mapping[str, Node]) -> Results:
        if value is None:
            return self._outcome(NOTHING)
        if isinstance(value, ast.IfExp):
            test = self.expressions.translate(value.test, names)
            return _choice(test, self._return(value.body, names), self._return(value.orelse, names))
        if isinstance(value, ast.Call) and self._is_output_class(value.func):
            return self._instance(value, names)
        if not self.spec.returns_several:
            return self._outcome(self.expressions.translate(value, names))
        if isinstance(value, ast.Tuple) and len(value.elts) == len(self.spec.outputs):
            return [self.expressions.translate(item, names) for item in value.elts]
        if isinstance(value, ast.Constant) and value.value is None:
            return self._outcome(NOTHING)
        raise Untranslatable(f"it returns neither {self.spec.output_class.__name__}(...) nor a tuple", value)

    def _is_output_class(self, function: ast.expr) -> bool:
        if not isinstance(function, ast.Name) or function.id in self.expressions.local_names:
            return False
        return bool(self.expressions.ask("makes output", function.id))

    def _instance(self, made: ast.Call, names: Mapping[str, Node]) -> Results:
        """The results of `User(name=..., email=...)`: an output that is not given is None; a
        primary key is computed and dropped.
        """
        if not self.expressions.ask("plain output"):
            raise Untranslatable(f"{self.spec.output_class.__name__} makes its instances in its own way")
        outputs, keys = [output.attribute for output in self.spec.outputs], _primary_keys(self.spec)
        given: dict[str, Node] = {}
        for keyword in made.keywords:
            if keyword.arg is None or keyword.arg not in (*outputs, *keys):
                raise Untranslatable(f"it sets '{keyword.arg or '**'}', which is not among its outputs", made)
            given[keyword.arg] = self.expressions.translate(keyword.value, names)
        if made.args:
            raise Untranslatable(f"it calls {self.spec.output_class.__name__} with values that have no name", made)
        results: Results = [given.pop(name, NOTHING) for name in outputs]
        for dropped in given.values():
            results = _after(dropped, results)
        return results

    def _outcome(self, result: Node) -> Results:
        """The results when every output has the same one: null, or that the row is left to Python;
        for a resolver with one output any value.
        """
        return [result for _ in self.spec.outputs]


def _assignment(statement: ast.stmt) -> tuple[str, ast.expr]:
    """The name and the value of an assignment to a local."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id, statement.value
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value is not None:
        return statement.target.id, statement.value
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        before = ast.copy_location(ast.Name(statement.target.id, ast.Load()), statement.target)
        return statement.target.id, ast.copy_location(ast.BinOp(before, statement.op, statement.value), statement)
    raise Untranslatable(_REFUSED.get(type(statement), f"it has a statement of kind {type(statement).__name__}"), statement)


def _choice(test: Node, yes: Results, no: Results) -> Results:
    return [call("if", test, left, right) for left, right in zip(yes, no)]


def _after(computed: Node, results: Results) -> Results:
    """The results on condition that an earlier computation of the function did not fail."""
    return [call("after", computed, results[0]), *results[1:]]


_LOOPS = "it loops"
_REFUSED: Mapping[type, str] = {
    ast.For: _LOOPS,
    ast.AsyncFor: _LOOPS,
    ast.While: _LOOPS,
    ast.Try: "it handles exceptions",
    ast.With: "it uses 'with'",
    ast.AsyncWith: "it uses 'with'",
    ast.Global: "it names global variables",
    ast.Nonlocal: "it names variables of the function around it",
    ast.Import: "it imports",
    ast.ImportFrom: "it imports",
    ast.FunctionDef: "it defines a function",
    ast.AsyncFunctionDef: "it defines a function",
    ast.ClassDef: "it defines a class",
    ast.Delete: "it deletes a name",
    ast.Expr: "it has a statement whose value is dropped, which may have an effect",
    ast.Assign: "it assigns to something else than one local name",
    ast.AnnAssign: "it assigns to something else than one local name",
    ast.AugAssign: "it assigns to something else than one local name",
}
