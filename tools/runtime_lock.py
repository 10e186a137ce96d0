"""Prints the part of requirements.lock that the installed product needs on this machine, with its hashes.

The lock file also holds the tools of developers. An image should not.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def needed(name: str) -> set[str]:
    """The package and everything that it needs here, by canonical names."""
    found: set[str] = set()
    waiting: list[tuple[str, frozenset[str]]] = [(name, frozenset())]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        package, extras = waiting.pop()
        if (package, extras) in seen:
            continue
        seen.add((package, extras))
        found.add(canonicalize_name(package))
        for text in distribution(package).requires or ():
            requirement = Requirement(text)
            if requirement.marker is None or any(requirement.marker.evaluate({"extra": e}) for e in (extras or {""})):
                waiting.append((requirement.name, frozenset(requirement.extras)))
    return found


def part_of(lock: str, names: set[str]) -> str:
    """The entries of a lock file with these names."""
    blocks = re.split(r"\n(?=\S)", lock.rstrip("\n"))
    return (
        "\n".join(b for b in blocks if (m := re.match(r"[A-Za-z0-9._-]+", b)) and canonicalize_name(m[0]) in names)
        + "\n"
    )


def main() -> None:
    lock = Path(sys.argv[1]).read_text(encoding="utf-8")
    print(part_of(lock, needed("contextive-mcp") - {"contextive-mcp"}), end="")


if __name__ == "__main__":
    main()
