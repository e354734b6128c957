"""Statements of SQL that resolvers return, and the platform runs."""

from __future__ import annotations

import os
import re
import sys
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Any, Mapping, NamedTuple, Optional, Sequence, Union

from .context import query_tags
from .feature_class import FeatureClass
from .reference import FeatureReference, field_of, type_of

#: Most characters of a statement, and most of its arguments.
MAX_TEXT = 256 * 1024
MAX_ARGS = 1_000
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_TABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*(?:\.[A-Za-z_][A-Za-z0-9_$]*){0,2}\Z")
_PLAIN = (str, int, float, bytes, date, Decimal, Enum)

Args = Optional[Mapping[str, Any]]
Fields = Optional[Mapping[str, FeatureReference]]


class Argument:
    """What stands for a parameter of a resolver while its statement is read, not run."""

    def __init__(self, name: str) -> None:
        self.name = name


class Incremental(NamedTuple):
    """How runs read only what is new, as `incremental` of a SQL file says it."""

    mode: str
    column: Optional[str]
    lookback: Any
    timestamp: str


class SQLStatement:
    """A statement with its arguments, which a resolver returns and the platform runs: over the
    source's own connections, read only, with every argument bound and none in the text.

    `text`, `args` and `fields` are what it was made of, for tests of the resolver.
    """

    __slots__ = ("source", "text", "args", "fields", "count", "incremental_read", "file")

    def __init__(self, source: str, text: str, args: Args, fields: Fields, file: str = "") -> None:
        #: The name of the source.
        self.source = source
        self.text = _checked_text(text)
        #: Values by the name of their placeholder, `:name`.
        self.args = _checked_args(args)
        #: Features by the column that fills them, where it has another name than they.
        self.fields = _checked_fields(fields)
        #: How many rows there are: "one", "one_or_none", "all"; empty = as the result says.
        self.count = ""
        #: How runs read only what is new; None = they read all rows.
        self.incremental_read: Optional[Incremental] = None
        #: The file that has the text; empty = the code has it.
        self.file = file

    def one(self) -> SQLStatement:
        """The statement that gives exactly one row; none, or several, are an error."""
        return self._counted("one")

    def one_or_none(self) -> SQLStatement:
        """The statement that gives one row or none; several are an error."""
        return self._counted("one_or_none")

    def all(self) -> SQLStatement:
        """The statement that gives any number of rows."""
        return self._counted("all")

    def incremental(
        self,
        *,
        incremental_column: Optional[str] = None,
        lookback_period: Any = None,
        mode: str = "row",
        incremental_timestamp: str = "feature_time",
    ) -> SQLStatement:
        """The statement of all rows, of which each run of the resolver reads only what is new.

        incremental_column: the column of the result with the time by which a row is new.
        lookback_period: from how long before the last run rows are read again.
        mode: "row", "group", or "parameter", where the statement itself has
            `:svc_incremental_timestamp`.
        incremental_timestamp: "feature_time", or "resolver_execution_time".
        """
        found = self._counted("all")
        found.incremental_read = Incremental(mode, incremental_column, lookback_period, incremental_timestamp)
        return found

    def _counted(self, count: str) -> SQLStatement:
        if self.count:
            raise TypeError(f"the statement already ends with .{self.count}(), and then has .{count}()")
        found = SQLStatement(self.source, self.text, self.args, self.fields, self.file)
        found.count = count
        return found

    def __bool__(self) -> bool:
        raise TypeError("a statement has no rows in Python: return it from the resolver, and the platform runs it")

    def __iter__(self) -> Any:
        raise TypeError("a statement has no rows in Python: return it from the resolver, and the platform runs it")

    def __repr__(self) -> str:
        text = self.text if len(self.text) <= 80 else f"{self.text[:77]}..."
        return f"SQLStatement({self.source!r}, {text!r}, args={self.args!r}){f'.{self.count}()' if self.count else ''}"


class Queryable:
    """What statements are made of: a database, or a group of such."""

    name: str

    def _source_name(self) -> str:
        """The name of the database that is read now."""
        return self.name

    def query_string(self, query: str, *, args: Args = None, fields: Fields = None) -> SQLStatement:
        """A statement for a resolver to return; `.one()`, `.one_or_none()` or `.all()` says how many
        rows it gives.

            @online
            def contact(i: User.id) -> Features[User.name, User.email]:
                return pg.query_string(
                    "select display, email from app_user where id = :i", args={"i": i}, fields={"display": User.name}
                ).one()

        args: the values of the placeholders `:name`; they are bound, and never part of the text.
        fields: features by column, for columns that have another name than the feature.
        """
        return SQLStatement(self._source_name(), query, args, fields)

    def query_sql_file(self, path: Union[str, os.PathLike[str]], *, args: Args = None, fields: Fields = None) -> SQLStatement:
        """A statement from a file, as `query_string` takes it. A relative path starts from the folder
        of the module that calls, else from the project's.
        """
        found = _file_of(os.fspath(path), sys._getframe(1).f_code.co_filename)
        return SQLStatement(self._source_name(), _read_text(found), args, fields, found)

    def with_table(
        self,
        name: str,
        features: Any,
        *,
        ignore_features: Sequence[FeatureReference] = (),
        fields: Fields = None,
    ) -> SQLStatement:
        """A statement that reads columns of a table: of each feature the column of its name.

        features: a feature class, or features of one.
        ignore_features: features of the class that the table has no column of.
        fields: features by column, for columns that have another name than the feature.
        """
        if not isinstance(name, str) or not _TABLE.match(name):
            raise ValueError(f"with_table takes the name of a table, such as 'app_user' or 'public.app_user', not {name!r}")
        renamed = {field_of(feature).fqn: column for column, feature in _checked_fields(fields).items()}
        ignored = {field_of(feature).fqn for feature in ignore_features}
        columns = []
        for attribute, fqn in _features_of(features):
            if fqn in ignored:
                continue
            column = renamed.get(fqn, attribute)
            if not _NAME.match(column):
                raise ValueError(f"with_table: '{column}' is no plain name of a column; write the statement with query_string")
            columns.append(column)
        if not columns:
            raise ValueError("with_table: no feature is left to read")
        return SQLStatement(self._source_name(), f"select {', '.join(columns)} from {name}", None, fields)


class SQLSourceGroup(Queryable):
    """Databases of the same tables, of which the tags of a query choose one.

        people = SQLSourceGroup("people", default=pg, tagged_sources={"eu": pg_eu})

    default: the source that is read where no tag of the query is among those given.
    tagged_sources: sources by tag; the first one whose tag the query carries is read.
    """

    def __init__(self, name: str, *, default: Queryable, tagged_sources: Mapping[str, Queryable]) -> None:
        sources = [default, *tagged_sources.values()]
        if not all(isinstance(source, Queryable) and not isinstance(source, SQLSourceGroup) for source in sources):
            raise TypeError("SQLSourceGroup takes sources of SQL, such as PostgreSQLSource(...)")
        self.name = name
        self.default = default
        self.tagged_sources = dict(tagged_sources)

    def _source_name(self) -> str:
        tags = set(query_tags())
        return next((source.name for tag, source in self.tagged_sources.items() if tag in tags), self.default.name)


def _features_of(features: Any) -> list[tuple[str, str]]:
    """Attributes and FQNs of features, or of those of a class that are values."""
    if isinstance(features, type) and "__svc_features__" in features.__dict__:
        owner: FeatureClass = features.__svc_features__  # type: ignore[attr-defined]
        return [(field.attribute, field.fqn) for field in owner.fields.values() if type_of(field).target is None and not type_of(field).windowed]
    if isinstance(features, (list, tuple)) and features and all(isinstance(item, FeatureReference) for item in features):
        return [(field_of(item).attribute, field_of(item).fqn) for item in features]
    raise TypeError("with_table takes features= as a feature class, or a list of features such as [User.id, User.name]")


def _checked_text(text: Any) -> str:
    if not isinstance(text, str):
        raise TypeError(f"a statement is a text, not {type(text).__name__}")
    if not text.strip():
        raise ValueError("the statement is empty")
    if len(text) > MAX_TEXT:
        raise ValueError(f"the statement has {len(text)} characters; it may have {MAX_TEXT}")
    return text


def _checked_args(args: Args) -> dict[str, Any]:
    if args is None:
        return {}
    if not isinstance(args, Mapping):
        raise TypeError(f"args= takes values by name, such as {{'id': 1}}, not {type(args).__name__}")
    if len(args) > MAX_ARGS:
        raise ValueError(f"args= has {len(args)} values; a statement may have {MAX_ARGS}")
    for name, value in args.items():
        if not isinstance(name, str) or not _NAME.match(name):
            raise ValueError(f"args= has the name {name!r}, which no placeholder ':name' can have")
        if value is not None and not isinstance(value, (*_PLAIN, Argument)):
            raise TypeError(f"args={{'{name}': ...}} is {type(value).__name__}: a placeholder takes one value, such as a number or a text")
    return dict(args)


def _checked_fields(fields: Fields) -> dict[str, FeatureReference]:
    if fields is None:
        return {}
    if not isinstance(fields, Mapping):
        raise TypeError(f"fields= takes features by column, such as {{'c': User.name}}, not {type(fields).__name__}")
    for column, feature in fields.items():
        if not isinstance(column, str) or not isinstance(feature, FeatureReference):
            raise TypeError(f"fields={{{column!r}: ...}} is no feature by column, such as {{'c': User.name}}")
    return dict(fields)


def _file_of(path: str, caller: str) -> str:
    beside = os.path.join(os.path.dirname(os.path.abspath(caller)), path)
    return beside if os.path.isfile(beside) else os.path.join(os.environ.get("TARGET_ROOT") or os.getcwd(), path)


def _read_text(path: str) -> str:
    with open(path, encoding="utf-8") as stream:
        text = stream.read(MAX_TEXT + 1)
    return _checked_text(text)
