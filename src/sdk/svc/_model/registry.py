"""Everything that the imported modules define, in the order of definition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from .feature_class import FeatureClass
    from .hooks import HookDefinition
    from .named_query import NamedQuery
    from .resolver import ResolverDefinition, ResolverSpec
    from .._diagnostics.source import Origin
    from ..sources import DataSource


class Registry:
    """The definitions of a process. A module that is executed again replaces what it defined before."""

    def __init__(self) -> None:
        #: Whether a project is being loaded, so that what is wrong with a definition becomes a finding later on.
        self.collects = False
        self.classes: list[FeatureClass] = []
        self._definitions: dict[tuple[Origin, str], ResolverDefinition] = {}
        self.named_queries: list[NamedQuery] = []
        self.sources: list[DataSource] = []
        self.hooks: list[HookDefinition] = []
        self._resolvers: Optional[dict[str, ResolverSpec]] = None

    def clear(self) -> None:
        """Forgets everything."""
        self.__init__()  # type: ignore[misc]

    def add_class(self, item: FeatureClass) -> None:
        key = (item.origin, item.namespace)
        self.classes = [old for old in self.classes if (old.origin, old.namespace) != key] + [item]
        self._resolvers = None

    def add_resolver(self, item: ResolverDefinition) -> None:
        key = (item.origin, item.fqn)
        self._definitions.pop(key, None)
        self._definitions[key] = item
        self._resolvers = None

    def add_named_query(self, item: NamedQuery) -> None:
        key = (item.origin, item.name, item.version)
        self.named_queries = [old for old in self.named_queries if (old.origin, old.name, old.version) != key] + [item]

    def add_source(self, item: DataSource) -> None:
        key = (item.origin, item.name)
        self.sources = [old for old in self.sources if (old.origin, old.name) != key] + [item]

    def add_hook(self, item: HookDefinition) -> None:
        key = (item.origin, item.kind)
        self.hooks = [old for old in self.hooks if (old.origin, old.kind) != key] + [item]

    def class_named(self, name: str, module: str = "") -> Optional[FeatureClass]:
        """The newest class of that name, that of `module` first."""
        found = [item for item in self.classes if item.cls.__name__ == name]
        here = [item for item in found if item.cls.__module__ == module]
        chosen = here or found
        return chosen[-1] if chosen else None

    @property
    def definitions(self) -> list[ResolverDefinition]:
        """Every resolver as it was defined."""
        return list(self._definitions.values())

    @property
    def resolvers(self) -> dict[str, ResolverSpec]:
        """Every resolver whose definition makes sense, by FQN. Of two with one FQN the later counts."""
        if self._resolvers is None:
            from .resolver import compile_resolvers

            self._resolvers = compile_resolvers(self.definitions)
        return self._resolvers


#: The definitions of this process.
registry = Registry()
