"""A plain counter of requirements in Kiro, spec-kit and OpenSpec files. It shares no code with the readers."""

from __future__ import annotations

import re
from pathlib import Path


def _lines(path: Path) -> list[str]:
    text = re.sub(
        r"(?ms)^(```|~~~).*?^\1[ \t]*$|<!--.*?-->", lambda m: "\n" * m[0].count("\n"), path.read_text("utf-8-sig")
    )
    return text.split("\n")


def kiro(path: Path) -> dict[str, int]:
    """Criterion by number, such as 3.2, with its line."""
    found: dict[str, int] = {}
    group, counting = "", False
    for number, line in enumerate(_lines(path), 1):
        if re.match(r"(#{3,6} |\*\*).*(Acceptance|受け入れ|验收)", line):
            counting = True
        elif heading := re.match(r"#{2,4} (?:\S*\s*(?:[A-Z]{1,4}-)?(\d+)\b)?", line):
            group, counting = heading[1] or "", False
        elif counting and group and (item := re.match(r" {0,3}(?:\d+\.)?(\d+)[.)]? \S", line)):
            found.setdefault(f"{group}.{item[1]}", number)
    return found


def speckit(path: Path) -> dict[str, int]:
    """FR, NFR and SC items with their lines."""
    pattern = re.compile(r"\s*[-*] \*{0,2}((?:FR|NFR|SC)-[A-Z]*-?\d+[a-z]?(?:-\d+)?)\b\*{0,2}")
    return {m[1]: n for n, line in reversed([*enumerate(_lines(path), 1)]) if (m := pattern.match(line))}


def openspec(path: Path) -> dict[str, int]:
    """The names below `### Requirement:` with their lines."""
    pattern = re.compile(r"### Requirement:\s*(\S.*?)\s*$")
    return {m[1]: n for n, line in reversed([*enumerate(_lines(path), 1)]) if (m := pattern.match(line))}
