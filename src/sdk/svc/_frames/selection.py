"""`Features[...]`, the outputs of a resolver, and `DataFrame[...]` in annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional


class FeatureSelection:
    """The items in the brackets of `Features[...]`, and the features subtracted from them."""

    def __init__(self, items: tuple[Any, ...], excluded: tuple[Any, ...] = ()) -> None:
        self.items = items
        self.excluded = excluded

    def __sub__(self, other: Any) -> FeatureSelection:
        more = other.items if isinstance(other, FeatureSelection) else (other,)
        return FeatureSelection(self.items, (*self.excluded, *more))

    def __repr__(self) -> str:
        listed = ", ".join(item.__name__ if isinstance(item, type) else repr(item) for item in self.items)
        return f"Features[{listed}]" + "".join(f" - {item!r}" for item in self.excluded)

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("Features[...] stands in annotations; return an instance of the feature class or a tuple")


class TableType:
    """The type `DataFrame[...]`: rows of a class, or a table of the named features. Called, it
    makes a DataFrame with just these columns.
    """

    def __init__(self, items: tuple[Any, ...]) -> None:
        self.items = items

    def __or__(self, other: Any) -> Any:
        return Optional[self] if other is None or other is type(None) else NotImplemented

    __ror__ = __or__

    def __repr__(self) -> str:
        return f"DataFrame[{', '.join(item.__name__ if isinstance(item, type) else repr(item) for item in self.items)}]"

    def __call__(self, data: Any = None) -> Any:
        from .dataframe import typed_frame

        return typed_frame(self, data)


def table_columns(core: Any) -> Optional[tuple[Any, ...]]:
    """The items in the brackets of `DataFrame[...]`; None for anything else."""
    return core.items if isinstance(core, TableType) else None


if TYPE_CHECKING:
    from typing_extensions import TypeAliasType, TypeVarTuple

    _Items = TypeVarTuple("_Items")
    #: Of whatever items, what is returned for it is not checked by its type.
    Features = TypeAliasType("Features", Any, type_params=(_Items,))
else:

    class Features:
        """The outputs of a resolver that produces several features.

        `Features[User.name, User.email]` lists them; `Features[User]` means every value of the
        class that is not an input, and `Features[User] - User.name` leaves one out. The resolver
        returns an instance (`User(name=..., email=...)`) or a tuple in that order.
        """

        def __class_getitem__(cls, items: Any) -> FeatureSelection:
            return FeatureSelection(items if isinstance(items, tuple) else (items,))
