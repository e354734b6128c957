"""The definitions of the imported modules, in the order of definition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional, TypeVar

if TYPE_CHECKING:
    from .._diagnostics.source import Origin
    from ..sources import DataSource
    from .evaluation import Evaluation
    from .feature_class import FeatureClass
    from .function import FunctionDefinition, FunctionSpec
    from .hooks import HookDefinition
    from .monitor import Monitor
    from .named_query import NamedQuery
    from .scheduled_query import ScheduledQuery
    from .resolver import ResolverDefinition, ResolverSpec
    from .sink import SinkDefinition, SinkSpec
    from .stream import StreamCall, StreamDefinition, StreamSpec


Key = TypeVar("Key")
Item = TypeVar("Item")


def _replace(items: dict[Key, Item], key: Key, item: Item) -> Optional[Item]:
    """Appends an item and removes that with the same key, which is returned."""
    old = items.pop(key, None)
    items[key] = item
    return old


class Registry:
    """The definitions of a process. A module that is executed again replaces what it defined
    before.
    """

    def __init__(self) -> None:
        #: Whether a project is being loaded, so that what is wrong with a definition becomes a
        #: finding later on.
        self.collects = False
        self._classes: dict[tuple[Origin, str], FeatureClass] = {}
        self._classes_by_name: dict[str, list[FeatureClass]] = {}
        self._definitions: dict[tuple[Origin, str], ResolverDefinition] = {}
        self._named_queries: dict[tuple[Origin, str, Optional[str]], NamedQuery] = {}
        self._scheduled_queries: dict[tuple[Origin, str], ScheduledQuery] = {}
        self._monitors: dict[tuple[Origin, str], Monitor] = {}
        self._evaluations: dict[tuple[Origin, str], Evaluation] = {}
        self._sources: dict[tuple[Origin, str], DataSource] = {}
        self._hooks: dict[tuple[Origin, str], HookDefinition] = {}
        self._resolvers: Optional[dict[str, ResolverSpec]] = None
        self._streams: dict[tuple[Origin, str], StreamDefinition] = {}
        self._sinks: dict[tuple[Origin, str], SinkDefinition] = {}
        self._functions: dict[tuple[Origin, str], FunctionDefinition] = {}
        self._stream_calls: dict[tuple[Origin, str], StreamCall] = {}

    def clear(self) -> None:
        """Forgets everything."""
        self.__init__()  # type: ignore[misc]

    def add_class(self, item: FeatureClass) -> None:
        old = _replace(self._classes, (item.origin, item.namespace), item)
        named = self._classes_by_name.setdefault(item.cls.__name__, [])
        if old is not None:
            named.remove(old)
        named.append(item)
        self._resolvers = None

    def add_resolver(self, item: ResolverDefinition) -> None:
        _replace(self._definitions, (item.origin, item.fqn), item)
        self._resolvers = None

    def add_stream(self, item: StreamDefinition) -> None:
        _replace(self._streams, (item.origin, item.fqn), item)

    def add_sink(self, item: SinkDefinition) -> None:
        _replace(self._sinks, (item.origin, item.fqn), item)

    def add_function(self, item: FunctionDefinition) -> None:
        _replace(self._functions, (item.origin, item.name), item)

    def add_stream_call(self, item: StreamCall) -> None:
        _replace(self._stream_calls, (item.origin, item.fqn), item)

    def add_named_query(self, item: NamedQuery) -> None:
        _replace(self._named_queries, (item.origin, item.name, item.version), item)

    def add_scheduled_query(self, item: ScheduledQuery) -> None:
        _replace(self._scheduled_queries, (item.origin, item.name), item)

    def add_monitor(self, item: Monitor) -> None:
        _replace(self._monitors, (item.origin, item.name), item)

    def add_evaluation(self, item: Evaluation) -> None:
        _replace(self._evaluations, (item.origin, item.name), item)

    def add_source(self, item: DataSource) -> None:
        _replace(self._sources, (item.origin, item.name), item)

    def add_hook(self, item: HookDefinition) -> None:
        _replace(self._hooks, (item.origin, item.kind), item)

    def class_named(self, name: str, module: str = "") -> Optional[FeatureClass]:
        """The newest class of that name, that of `module` first."""
        found = self._classes_by_name.get(name, [])
        here = [item for item in found if item.cls.__module__ == module]
        chosen = here or found
        return chosen[-1] if chosen else None

    @property
    def classes(self) -> list[FeatureClass]:
        """Every feature class."""
        return list(self._classes.values())

    @property
    def named_queries(self) -> list[NamedQuery]:
        """Every named query."""
        return list(self._named_queries.values())

    @property
    def scheduled_queries(self) -> list[ScheduledQuery]:
        """Every scheduled query."""
        return list(self._scheduled_queries.values())

    @property
    def monitors(self) -> list[Monitor]:
        """Every monitor."""
        return list(self._monitors.values())

    @property
    def evaluations(self) -> list[Evaluation]:
        """Every evaluation."""
        return list(self._evaluations.values())

    @property
    def sources(self) -> list[DataSource]:
        """Every data source."""
        return list(self._sources.values())

    @property
    def hooks(self) -> list[HookDefinition]:
        """Every hook."""
        return list(self._hooks.values())

    @property
    def definitions(self) -> list[ResolverDefinition]:
        """Every resolver as it was defined."""
        return list(self._definitions.values())

    @property
    def stream_definitions(self) -> list[StreamDefinition]:
        """Every function of a stream as it was defined."""
        return list(self._streams.values())

    @property
    def stream_calls(self) -> list[StreamCall]:
        """Every stream of expressions."""
        return list(self._stream_calls.values())

    @property
    def streams(self) -> dict[str, StreamSpec]:
        """Every function of a stream whose definition makes sense, by FQN."""
        if not self._streams:
            return {}
        from .stream_signature import compile_streams

        return compile_streams(self.stream_definitions)

    @property
    def sink_definitions(self) -> list[SinkDefinition]:
        """Every sink as it was defined."""
        return list(self._sinks.values())

    @property
    def sinks(self) -> dict[str, SinkSpec]:
        """Every sink whose definition makes sense, by FQN."""
        if not self._sinks:
            return {}
        from .sink import compile_sinks

        return compile_sinks(self.sink_definitions)

    @property
    def function_definitions(self) -> list[FunctionDefinition]:
        """Every function that callers run as it was defined."""
        return list(self._functions.values())

    @property
    def functions(self) -> dict[str, FunctionSpec]:
        """Every function that callers run whose definition makes sense, by what calls name it."""
        if not self._functions:
            return {}
        from .function import compile_functions

        return compile_functions(self.function_definitions)

    @property
    def resolvers(self) -> dict[str, ResolverSpec]:
        """Every resolver whose definition makes sense, by FQN. Of two with one FQN the later
        counts.
        """
        if self._resolvers is None:
            from .signature import compile_resolvers

            self._resolvers = compile_resolvers(self.definitions)
        return self._resolvers


#: The definitions of this process.
registry = Registry()
