"""What is wrong with the text of a document, and the limits that every format shares."""

from __future__ import annotations

from typing import Final

MAX_DEPTH: Final = 64
TOO_DEEP: Final = f"nested more than {MAX_DEPTH} levels deep"
NUMBER_TOO_LONG: Final = "a number has too many digits"


class TextError(Exception):
    """A text that is not a document, with the place where it is known; callers of this room see a ConfigError."""

    def __init__(self, text: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.line = line
        self.column = column

    def located_in(self, name: str) -> str:
        """The problem behind the place where it stands: `name:line:column: text`."""
        place = [str(number) for number in (self.line, self.column) if number is not None]
        return ":".join([name, *place]) + f": {self.text}"
