"""The pages of the documentation and their code blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block: its position, its language, the rest of its first line, and its text."""

    page: str
    line: int
    language: str
    info: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def file(self) -> str | None:
        """The name of the file that contains this text, if the block has one."""
        named = re.search(r"\bfile=(\S+)", self.info)
        return named[1] if named else None


@cache
def pages() -> tuple[Path, ...]:
    """Return the Markdown files of the root directory and of docs/."""
    return (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(*languages: str) -> list[Block]:
    return [block for page in pages() for block in _blocks(page) if block.language in languages]


def blocks_of(page: str) -> list[Block]:
    return list(_blocks(ROOT / page))


def _blocks(page: Path) -> Iterator[Block]:
    fence, language, info, started, collected = "", "", "", 0, list[str]()
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if not fence:
            if opened := re.match(r"(`{3,})(\w*) ?(.*)$", line):
                fence, language, info = opened[1], opened[2], opened[3]
                started, collected = number, []
        elif line.rstrip() == fence:
            yield Block(name_of(page), started, language, info, "\n".join(collected) + "\n")
            fence = ""
        else:
            collected.append(line)
    assert not fence, f"{name_of(page)}:{started} opens a block that is not closed"


def prose(page: Path) -> str:
    """Return the text without fenced blocks and code spans."""
    text = re.sub(r"^(`{3,}).*?^\1\s*$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]+`", "", text)


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub generates them."""
    text = re.sub(r"^(`{3,}).*?^\1\s*$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    found: set[str] = set()
    for title in re.findall(r"^#{1,6} (.+)$", text, re.MULTILINE):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).replace("`", "").strip().lower()
        slug = re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")
        number = 0
        while (address := f"{slug}-{number}" if number else slug) in found:
            number += 1
        found.add(address)
    return found
