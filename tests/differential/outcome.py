"""The outcome of a report run of duvet or Contextive, in a form that can be compared."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path

SNAPSHOT = "out/snapshot.txt"
JSON_V1 = "out/v1.json"
JSON_V2 = "out/v2.json"
LCOV = "out/lcov"
_ESCAPED_LINE_END = re.compile(r"(?<!\\)\\u000A")
_NOT_TOML = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class Failure:
    """An error: its message without white space, and its location as `path:line:column`, if it has one."""

    message: str
    location: str = ""


@dataclass
class Outcome:
    """The exit code, errors and written files of a run. `crash` is the output of a run that crashed."""

    exit_code: int
    failures: Counter[Failure] = field(default_factory=Counter)
    requirements: dict[str, str] = field(default_factory=dict)
    snapshot: str | None = None
    json_v1: str | None = None
    json_v2: str | None = None
    lcov: dict[str, Counter[str]] = field(default_factory=dict)
    crash: str = ""

    def read_reports(self, root: Path) -> None:
        """Read the files that the run wrote into the project."""
        for path in sorted((root / ".duvet/requirements").rglob("*.toml")):
            self.requirements[str(path.relative_to(root))] = read_text(path)
        self.snapshot = read_if_exists(root / SNAPSHOT)
        self.json_v1 = read_if_exists(root / JSON_V1)
        self.json_v2 = read_if_exists(root / JSON_V2)
        for path in sorted((root / LCOV).glob("*.lcov")):
            self.lcov[path.name] = Counter(read_text(path).split("\n"))


def read_text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "surrogateescape")


def read_if_exists(path: Path) -> str | None:
    return read_text(path) if path.is_file() else None


@dataclass(frozen=True)
class Difference:
    """One part in which two outcomes differ."""

    part: str
    theirs: object
    ours: object

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        theirs, ours = self.theirs, self.ours
        yield f"differs in {self.part}"
        if isinstance(theirs, str) and isinstance(ours, str) and self.part.startswith("json"):
            yield from _json_lines(json.loads(theirs), json.loads(ours), "$")
            return
        if isinstance(theirs, Counter) and isinstance(ours, Counter):
            yield from (f"  duvet only: {item}" for item in (theirs - ours).elements())
            yield from (f"  ours only:  {item}" for item in (ours - theirs).elements())
            return
        if isinstance(theirs, dict) and isinstance(ours, dict):
            for key in sorted(theirs.keys() | ours.keys()):
                if theirs.get(key) != ours.get(key):
                    yield f"  {key}"
                    yield f"    duvet: {theirs.get(key)!r}"
                    yield f"    ours:  {ours.get(key)!r}"
            return
        yield f"  duvet: {theirs!r}"
        yield f"  ours:  {ours!r}"


def _json_lines(theirs: object, ours: object, where: str) -> Iterator[str]:
    if theirs == ours:
        if json.dumps(theirs) != json.dumps(ours):
            yield f"  {where}: the order of the keys differs"
    elif isinstance(theirs, dict) and isinstance(ours, dict):
        for key in sorted(theirs.keys() | ours.keys()):
            yield from _json_lines(theirs.get(key), ours.get(key), f"{where}.{key}")
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        for index, (left, right) in enumerate(zip(theirs, ours, strict=True)):
            yield from _json_lines(left, right, f"{where}[{index}]")
    else:
        yield f"  {where}\n    duvet: {theirs!r}\n    ours:  {ours!r}"


def ignore_known_differences(theirs: Outcome, ours: Outcome, *, is_0_4_2: bool) -> list[str]:
    """Remove what is known to differ from both outcomes, and name it. Anything else that differs stays."""
    known = []
    moved: set[str] = set()
    for path in theirs.requirements.keys() & ours.requirements.keys():
        their_text, our_text = theirs.requirements[path], ours.requirements[path]
        # duvet writes a heading of several lines into a comment as it is; in ours its line ends are escaped.
        if their_text != our_text and their_text == _ESCAPED_LINE_END.sub("\n", our_text):
            theirs.requirements[path] = our_text
            moved.add(path)
            known.append("headings of several lines")
    if (
        moved
        and theirs.json_v1
        and ours.json_v1
        and _without_lines(theirs.json_v1, moved) == _without_lines(ours.json_v1, moved)
    ):
        theirs.json_v1 = ours.json_v1  # the unescaped line ends move what follows in these files
    if is_0_4_2:
        # Release 0.4.2 ignores a citation without a section; 0.4.3 reports it, as ours does.
        missing = Counter({f: n for f, n in ours.failures.items() if f.message.endswith("ismissingasection")})
        if missing and ours.failures - missing == theirs.failures:
            theirs.crash = "ignores a citation without a section"
            known.append("citations without a section")
    return known


def _without_lines(report: str, sources: set[str]) -> str:
    """A report without the lines of the annotations in some files."""
    value = json.loads(report)
    for annotation in value["annotations"]:
        if annotation["source"] in sources:
            annotation.pop("line", None)
    return json.dumps(value)


def difference(theirs: Outcome, ours: Outcome) -> Difference | None:
    """The first part in which the outcomes differ. None if duvet crashed."""
    if theirs.crash:
        return None
    for path in [path for path, text in theirs.requirements.items() if _NOT_TOML.search(text)]:
        # duvet writes characters that TOML does not allow; ours escapes them.
        theirs.requirements.pop(path)
        ours.requirements.pop(path, None)
    for part in fields(Outcome):
        left, right = getattr(theirs, part.name), getattr(ours, part.name)
        if part.name in ("lcov", "json_v2") and not left:
            continue  # this duvet could not write it
        if part.name == "lcov" and left != right:
            for name in sorted(left.keys() | right.keys()):
                if left.get(name) != right.get(name):
                    return Difference(f"lcov {name}", left.get(name), right.get(name))
        if left != right:
            return Difference(part.name, left, right)
    return None
