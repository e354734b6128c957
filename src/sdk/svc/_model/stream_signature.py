"""The reading of a stream's function: its message, its outputs, and the rules 146, 200 to 203 and
205.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
from typing import Any, Callable, Iterator, Optional

from .._codec.message import is_pydantic
from .._codec.wire import describe
from .._diagnostics import rules
from .._diagnostics.findings import ERROR, DefinitionError, Said
from .._diagnostics.source import called_name
from .._frames.dataframe import DataFrame
from .._frames.selection import TableType
from .._frames.signature import Problem
from .._surface.names import parse_duration
from .._surface.options import (
    STATEMENT_IN_GROUP,
    Check,
    check_environments,
    check_group,
    check_lateness,
    check_name,
    check_options,
    check_tags,
    check_text,
    check_timeout,
    check_venv,
)
from .._types.annotations import annotation_text, read_annotation
from .._types.dtypes import value_type
from ..sources import DataSource
from .feature_class import FeatureClass
from .reference import field_of
from .signature import SignatureReader, output_spec
from .stream import BARE, Statement, StreamDefinition, StreamOptions, StreamSpec, TableName

#: Kinds of sources that have topics.
TOPIC_KINDS = ("SOURCE_KIND_KAFKA", "SOURCE_KIND_TOPIC")

STREAM_CHECKS: dict[str, Check] = {
    "tags": check_tags,
    "environment": check_environments,
    "timeout": check_timeout,
    "owner": check_text,
    "name": check_name,
    "lateness": check_lateness,
    "venv": check_venv,
    "resource_group": check_group,
}


def option_problems(options: StreamOptions) -> Iterator[tuple[Said, str]]:
    """What is wrong with options, and the option at fault."""
    for option, text in check_options(STREAM_CHECKS, options).items():
        yield rules.BadValue.option(problem=text), option
    if options.source is None or options.source is BARE:
        yield (rules.NoTopic.bare() if options.source is BARE else rules.NoTopic.absent()), "source"
    elif not isinstance(options.source, DataSource) or options.source.kind not in TOPIC_KINDS:
        yield rules.NoTopic.other(value=describe(options.source)), "source"
    if options.parse is not None:
        problem = _parse_problem(options.parse)
        if problem is not None:
            yield problem, "parse"


def _parse_problem(parse: Any) -> Optional[Said]:
    if not callable(parse) or isinstance(parse, type):
        return rules.BadParse.no_function(value=describe(parse))
    if inspect.iscoroutinefunction(parse):
        return rules.BadParse.is_async()
    try:
        signature = inspect.signature(parse)
    except (TypeError, ValueError):
        return None  # a function of an extension module does not tell
    try:
        signature.bind(b"")
    except TypeError:
        return rules.BadParse.parameters(count=len(signature.parameters))
    return None


def unreadable_field(message_type: type, scope: Any) -> Optional[Said]:
    """Why a dataclass cannot be read from JSON; None when it can."""
    try:
        value_type(message_type, scope)
    except DefinitionError as error:
        return rules.UnreadableMessage.field(type=message_type.__name__, error=error, label=error.label)
    return None


class _StreamReader(SignatureReader):
    """The reader of a stream's signature."""

    definition: StreamDefinition
    message_type: Any = None
    batches: bool = False
    statement: Optional[Statement] = None

    def read(self) -> None:
        for said, option in option_problems(self.definition.options):
            self.problem(said, "option", option)
        if self.definition.is_async:
            self.problem(rules.BadStream.is_async(resolver=self.definition.function_name), "name")
        self.read_message()
        self.read_return()
        self.check_roots()
        if self.batches and self.outputs and not self.shape:
            self.problem(rules.BadStream.no_rows(resolver=self.definition.function_name), "return")
        if self.batches and not self.problems:
            self.read_body()
        if self.outputs and not self.problems:
            self.check_key()

    def read_body(self) -> None:
        """Has a function that returns the text of a statement give it, for a table of the
        parameter's name.
        """
        definition = self.definition
        returned = list(_returns(definition.node))
        written = next((node for node in returned if node.value is not None and self.is_text(node.value)), None)
        if written is None:
            return
        name, parameter = definition.function_name, next(iter(definition.parameters.values()))

        def refuse(said: Said) -> None:
            self.problems.append(Problem(DefinitionError(said), "body", node=written))

        if len(returned) > 1:
            return refuse(rules.BadStreamStatement.several_returns(resolver=name))
        if definition.options.parse is not None:
            return self.problem(rules.BadStreamStatement.parse(), "option", "parse")
        if not _is_message_class(self.message_type):
            said = rules.BadStreamStatement.message(parameter=parameter.name, written=annotation_text(parameter.annotation))
            return self.problem(said, "annotation", parameter.name)
        table = TableName(parameter.name)
        try:
            text = definition.fn(**{parameter.name: table}) if parameter.kind == parameter.KEYWORD_ONLY else definition.fn(table)
            problem = None if type(text) is str else f"returned {describe(text)}"
        except Exception as error:
            problem = f"raised {type(error).__name__}: {error}"
        if problem is not None:
            return refuse(rules.BadStreamStatement.raised(resolver=name, problem=problem, table=f"{{{parameter.name}}}"))
        if definition.options.resource_group is not None:
            return self.problem(rules.BadValue.option(problem=STATEMENT_IN_GROUP), "option", "resource_group")
        self.statement = Statement(text, parameter.name, written.value)

    def is_text(self, node: ast.expr) -> bool:
        """Whether the value of an expression is a text, as far as its syntax tells: a literal, what
        is made of one, or a name of one.
        """
        if isinstance(node, ast.JoinedStr):
            return True
        if isinstance(node, ast.Constant):
            return isinstance(node.value, str)
        if isinstance(node, ast.BinOp):
            return self.is_text(node.left) or self.is_text(node.right)
        if isinstance(node, ast.Call):
            if called_name(node) in ("dedent", "cleandoc"):
                return any(map(self.is_text, node.args))
            return isinstance(node.func, ast.Attribute) and self.is_text(node.func.value)
        if isinstance(node, ast.Name):
            statements = getattr(self.definition.node, "body", [])
            assigned = [one.value for one in statements if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == node.id]
            return any(map(self.is_text, assigned)) if assigned else isinstance(self.definition.fn.__globals__.get(node.id), str)
        return False

    def read_message(self) -> None:
        parameters = list(self.definition.parameters.values())
        if len(parameters) != 1 or parameters[0].kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            said = rules.BadStream.parameters(resolver=self.definition.function_name, count=len(parameters))
            return self.problem(said, "parameter" if parameters else "name", parameters[-1].name if parameters else "")
        parameter = parameters[0]
        if parameter.annotation is parameter.empty:
            return self.problem(rules.UnreadableMessage.unannotated(parameter=parameter.name), "parameter", parameter.name)
        try:
            core = read_annotation(parameter.annotation, self.definition.scope).core
        except DefinitionError as error:
            self.problems.append(Problem(error, "annotation", parameter.name))
            return None
        if core is DataFrame or isinstance(core, TableType):
            self.batches = True
            written, items = repr(core) if isinstance(core, TableType) else "DataFrame", getattr(core, "items", ())
            try:
                core = read_annotation(items[0], self.definition.scope).core if len(items) == 1 else None
            except DefinitionError as error:
                self.problems.append(Problem(error, "annotation", parameter.name))
                return None
            if not (_is_message_class(core) or is_pydantic(core)):
                return self.problem(rules.BadStream.frame(parameter=parameter.name, written=written), "annotation", parameter.name)
        self.message_type = core
        if self.definition.options.parse is None:
            said = self.unreadable(core)
            if said is not None:
                self.problem(said, "annotation", parameter.name)
        return None

    def unreadable(self, core: Any) -> Optional[Said]:
        if core in (dict, str, bytes) or getattr(core, "__origin__", None) is dict or is_pydantic(core):
            return None
        if _is_message_class(core):
            return unreadable_field(core, self.definition.scope)
        return rules.UnreadableMessage.no_schema(type=annotation_text(core))

    def read_rows_returned(self, core: Any) -> None:
        if self.batches and isinstance(core, TableType):
            return super().read_rows_returned(core)
        raise DefinitionError(rules.BadStream.rows(written=repr(core)))

    def check_key(self) -> None:
        owner: FeatureClass = self.outputs[0]._svc_root
        said = key_problem(owner, [field_of(output) for output in self.outputs])
        if said is not None:
            self.problem(said, "return")


def _returns(node: Optional[ast.AST]) -> Iterator[ast.Return]:
    """The `return` statements of a function itself, none of those inside of it."""
    for child in ast.iter_child_nodes(node) if node is not None else ():
        if isinstance(child, ast.Return):
            yield child
        elif isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)) and not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield from _returns(child)


def _is_message_class(core: Any) -> bool:
    """Whether a type is a dataclass, and no feature class."""
    return isinstance(core, type) and "__svc_features__" not in core.__dict__ and dataclasses.is_dataclass(core)


def key_problem(owner: FeatureClass, outputs: list[Any]) -> Optional[Said]:
    """Why rows with these features of a class cannot be stored; None when they can."""
    keys = owner.primary_keys
    if not keys:
        return None  # that the class has none is a finding of its own
    key = repr(owner.reference(keys[0].attribute))
    if keys[0] not in outputs:
        return rules.StreamWithoutKey.no_key(key=key, owner=owner.cls.__name__)
    return rules.StreamWithoutKey.key_alone(key=key) if len(outputs) == 1 else None


def compile_stream(definition: StreamDefinition) -> tuple[Optional[StreamSpec], list[Problem]]:
    """The resolver of a stream, or its faults."""
    reader = _StreamReader(definition)
    reader.read()
    if reader.is_broken or any(problem.error.said.severity == ERROR for problem in reader.problems):
        return None, reader.problems
    micros = parse_duration(definition.options.timeout)
    fn: Callable[..., Any] = definition.fn
    parameter = next(iter(definition.parameters.values()))
    if parameter.kind == parameter.KEYWORD_ONLY:

        def fn(message: Any) -> Any:
            return definition.fn(**{parameter.name: message})

    return (
        StreamSpec(
            definition.fqn,
            fn,
            definition.kind,
            (),
            tuple(map(output_spec, reader.outputs)),
            False,
            True,
            reader.outputs[0]._svc_root.cls,
            None if micros is None else micros / 1_000_000,
            definition,
            shape=reader.shape,
            message_type=reader.message_type,
            batches=reader.batches,
            statement=reader.statement,
            parse=definition.options.parse,
        ),
        reader.problems,
    )


def compile_streams(definitions: list[StreamDefinition]) -> dict[str, StreamSpec]:
    """The streams whose definitions make sense."""
    found = (compile_stream(definition)[0] for definition in definitions)
    return {spec.fqn: spec for spec in found if spec is not None}


