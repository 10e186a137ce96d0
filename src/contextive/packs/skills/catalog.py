"""The skills of the package: instructions for common tasks, each a directory with a file SKILL.md."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from contextive.notes.front_matter import parse_front_matter

_FOLDER: Final = Path(__file__).parent
FILE_NAME: Final = "SKILL.md"
RELEASED: Final = frozenset(
    {
        "86209678598299640454ef6151111b779f02c01595b2c2c7f06ffea1010eb381",  # contextive-cite
        "fcb0ecbec183ad38da7ff677f6223faa006590ff7932be0cf305f3f512d413cb",  # contextive-implement
        "f6a787b330d1f3641721a79e0bcd919aeca5e2840f0158365d49d240ff47f2c0",  # contextive-notes
        "1b8d0f0432019ab1c0d94fa8c380ecc5511d5656c9a463b5cd7c32df78aa5cc9",  # contextive-review
    }
)
"""The digests of every text that a skill ever had. A file with another digest was changed by somebody else. When a text
changes, its new digest is added and the old one stays."""


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill and the bytes of its file, exactly as every client gets them."""

    front_matter: Mapping[str, Any]
    content: bytes
    instructions: str
    """The text after the front matter."""

    @property
    def name(self) -> str:
        return str(self.front_matter["name"])

    @property
    def description(self) -> str:
        return str(self.front_matter["description"])

    @property
    def title(self) -> str:
        return self.instructions.partition("\n")[0].removeprefix("# ")

    @property
    def uri(self) -> str:
        return f"skill://{self.name}/{FILE_NAME}"

    @property
    def digest(self) -> str:
        return f"sha256:{hashlib.sha256(self.content).hexdigest()}"


##= docs/spec/host.md#skills
##% The text of a skill MUST NOT contain text from the project's files.
@cache
def all_skills() -> tuple[Skill, ...]:
    """The skills in the order of their names."""
    return tuple(_read(path) for path in sorted(_FOLDER.glob(f"*/{FILE_NAME}")))


def _read(path: Path) -> Skill:
    content = path.read_bytes().replace(b"\r\n", b"\n")  # a checkout on Windows may have changed the line ends
    text = content.decode("utf-8")
    front_matter = parse_front_matter(text)
    return Skill(front_matter.values, content, text[front_matter.length :])
