"""Types of values that the engine stores in another form: what a feature's `encoder` makes of them.
"""

from __future__ import annotations

from typing import Any, Callable


class CodedType:
    """The type of a feature's values in Python, with the functions between them and what is stored.
    Compared by identity.
    """

    def __init__(self, cls: Any, stored: Any, encoder: Callable[[Any], Any], decoder: Callable[[Any], Any]) -> None:
        #: The type of the values in Python.
        self.cls = cls
        #: The Python type of what is stored.
        self.stored = stored
        self._encoder = encoder
        self.decode = decoder

    def holds(self, value: Any) -> bool:
        """Whether a value is of the type, as far as that can be told."""
        return not isinstance(self.cls, type) or isinstance(value, self.cls)

    def encode(self, value: Any) -> Any:
        """What is stored of a value. Raises TypeError for a value of another class, and what the
        encoder raises.
        """
        if not self.holds(value):
            raise TypeError(f"expected {self.cls.__qualname__}, got {type(value).__qualname__}")
        return self._encoder(value)

    def __repr__(self) -> str:
        return self.cls.__qualname__ if isinstance(self.cls, type) else repr(self.cls)
