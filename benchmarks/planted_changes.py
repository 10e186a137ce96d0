"""How many planted changes a review finds, and how many findings it has for changes that mean nothing.

    .venv/bin/python -m benchmarks.planted_changes PROJECT… [--each N] [--commits N] [--seed N]

Each project is a git repository with citations, and is copied first. Changes are made to the text of its files, without
the parsers of this project: citations are found as runs of comment lines that begin with the usual prefixes.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from contextive.ingest.review_service import ReviewService
from contextive.ingest.trace_service import TraceService

_META = re.compile(r"^\s*(//=|#=|##=|\*=)\s")
_CONTENT = re.compile(r"^\s*(//#|#%|##%|\*#)(\s|$)")
_FUNCTION = re.compile(r"^\s*(pub(\([a-z]+\))? )?(async )?(fn|def|func|static|int|void) ?\w")
_COMMENT = re.compile(r"^\s*(//|#|\*|/\*)")
_SUFFIXES = (".rs", ".py", ".c", ".go", ".java", ".ts")


@dataclass(frozen=True)
class Place:
    """A citation found as text: its file and lines, counted from 0, the last one not included."""

    path: str
    first: int
    last: int


@dataclass
class Tally:
    planted: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    clean: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    noise: list[str] = field(default_factory=list)


def citations(root: Path) -> list[Place]:
    listed = subprocess.run(["git", "-C", str(root), "ls-files"], capture_output=True, text=True, check=True).stdout
    found = []
    for path in listed.splitlines():
        if not path.endswith(_SUFFIXES) or not (root / path).is_file():
            continue
        lines = (root / path).read_text("utf-8", "replace").split("\n")
        at = 0
        while at < len(lines):
            is_own = lines[at].lstrip().startswith("#") == path.endswith(
                ".py"
            )  # else it is in a text, such as of a test
            if is_own and _META.match(lines[at]) and "type=" not in "".join(lines[at : at + 3]):
                end = at
                while end < len(lines) and (_META.match(lines[end]) or _CONTENT.match(lines[end])):
                    end += 1
                if end > at + 1:
                    found.append(Place(path, at, end))
                at = end
            at += 1
    return found


def code_line(lines: list[str], start: int) -> int | None:
    for at in range(start, min(start + 12, len(lines))):
        text = lines[at].strip()
        if text and not _COMMENT.match(lines[at]) and not text.startswith(("@", "#[", '"""')):
            return at
    return None


def remove(lines: list[str], place: Place, _: random.Random) -> list[str] | None:
    return lines[: place.first] + lines[place.last :]


def move(lines: list[str], place: Place, rng: random.Random) -> list[str] | None:
    block = lines[place.first : place.last]
    rest = lines[: place.first] + lines[place.last :]
    own = code_line(lines, place.last)
    targets = [
        at
        for at, line in enumerate(rest)
        if _FUNCTION.match(line)
        and (at == 0 or not (_COMMENT.match(rest[at - 1]) or rest[at - 1].strip().startswith(("@", "#["))))
        and own is not None
        and line != lines[own]
    ]
    if not targets:
        return None
    at = rng.choice(targets)
    indent = re.match(r"\s*", rest[at])[0]  # type: ignore[index]
    return rest[:at] + [indent + line.lstrip() for line in block] + rest[at:]


def change(lines: list[str], place: Place, _: random.Random) -> list[str] | None:
    at = code_line(lines, place.last)
    if at is None:
        return None
    for pattern, new in ((r"\b\d+\b", "4711"), (r"==", "!="), (r"\btrue\b", "false"), (r"\bTrue\b", "False"), (r"<", "<="),
                         (r"(\w+)\(", r"\1_other("), (r"(\w+) \{", r"\1_other {")):  # fmt: skip
        changed = re.sub(pattern, new, lines[at], count=1)
        if changed != lines[at]:
            return [*lines[:at], changed, *lines[at + 1 :]]
    return None


PLANTS: dict[str, Callable[[list[str], Place, random.Random], list[str] | None]] = {
    "removed": remove,
    "moved": move,
    "code": change,
}
EXPECTED = {
    "removed": {"citation_removed", "test_removed"},
    "moved": {"citation_moved", "code_changed", "test_changed"},
    "code": {"code_changed", "test_changed"},
    "must": {"must_without_code"},
}


def comment_edit(lines: list[str], rng: random.Random) -> list[str] | None:
    plain = [
        at for at, line in enumerate(lines)
        if re.match(r"\s*(//|#) \w{3}", line) and not line.lstrip().startswith(("#!", "# type", "# noqa"))
    ]  # fmt: skip
    if not plain:
        return None
    at = rng.choice(plain)
    return [*lines[:at], lines[at] + " Reworded.", *lines[at + 1 :]]


def formatting(lines: list[str], rng: random.Random) -> list[str] | None:
    """Break a call with arguments over several lines."""
    calls = [at for at, line in enumerate(lines) if re.match(r"^\s+[\w.]+\([\w, .&]+\);?$", line)]
    if not calls:
        return None
    at = rng.choice(calls)
    head, _, tail = lines[at].partition("(")
    inner, _, end = tail.rpartition(")")
    indent = re.match(r"\s*", head)[0]  # type: ignore[index]
    return [
        *lines[:at],
        f"{head}(",
        *(f"{indent}    {part.strip()}," for part in inner.split(",")),
        f"{indent}){end}",
        *lines[at + 1 :],
    ]


def rename(lines: list[str], rng: random.Random) -> list[str] | None:
    """A new name for a variable that is declared with `let` or assigned, up to the end of its function."""
    declared = [at for at, line in enumerate(lines) if re.match(r"^\s+(let (mut )?)?([a-z]\w{3,}) = ", line)]
    rng.shuffle(declared)
    for at in declared:
        name = re.match(r"^\s+(?:let (?:mut )?)?([a-z]\w{3,}) = ", lines[at])[1]  # type: ignore[index]
        start = next((n for n in range(at, -1, -1) if _FUNCTION.match(lines[n])), None)
        if start is None:
            continue
        depth = len(lines[start]) - len(lines[start].lstrip())
        end = next(
            (
                n
                for n in range(at + 1, len(lines))
                if lines[n].strip() and len(lines[n]) - len(lines[n].lstrip()) <= depth
            ),
            len(lines),
        )
        body = "\n".join(lines[start:end])
        if re.search(rf"[.\"'/#]\w*\b{name}\b|\b{name}\s*[(!:=](?!=)\s*(?!=)", body.replace(f"{name} = ", "")):
            continue  # it may be an attribute, an argument by name or part of a text
        changed = re.sub(rf"\b{name}\b", f"{name}_renamed", body).split("\n")
        return [*lines[:start], *changed, *lines[end:]]
    return None


CLEAN = {"comment": comment_edit, "formatting": formatting, "rename": rename}


class Measured:
    """The changes in a copy of one project."""

    def __init__(self, root: Path, rng: random.Random, tally: Tally) -> None:
        self.root, self.rng, self.tally = root, rng, tally
        self.service = ReviewService(TraceService(root))
        self.name = root.name

    def git(self, *arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(self.root), *arguments], capture_output=True, text=True, check=True
        ).stdout

    def lines(self, path: str) -> list[str]:
        return (self.root / path).read_text(encoding="utf-8").split("\n")

    def review(self, base: str) -> list[tuple[str, str]]:
        start = time.perf_counter()
        found = self.service.review(base).findings
        self.tally.seconds.append(time.perf_counter() - start)
        return [(one.kind.value, one.path) for one in found]

    def plant(self, kind: str, base: str = "HEAD", label: str = "") -> bool:
        places = citations(self.root)
        self.rng.shuffle(places)
        for place in places[:40]:
            lines = self.lines(place.path)
            changed = PLANTS[kind](lines, place, self.rng)
            if changed is None or changed == lines:
                continue
            before = Counter(self.review(base)) if base != "HEAD" else Counter()
            (self.root / place.path).write_text("\n".join(changed), encoding="utf-8")
            new = Counter(self.review(base)) - before
            is_found = any(found in EXPECTED[kind] and path == place.path for found, path in new)
            self.note(kind, is_found, f"{label}{self.name} {kind} {place.path}:{place.first + 1} {dict(new)}")
            self.git("checkout", "-q", "--", ".")
            return True
        return False

    def must(self) -> None:
        specs = [
            path
            for path in self.git("ls-files", "docs/spec", "specs", "compliance").splitlines()
            if path.endswith(".md")
        ]
        if not specs:
            return
        path = self.rng.choice(specs)
        text = (self.root / path).read_text(encoding="utf-8")
        (self.root / path).write_text(
            f"{text.rstrip()}\n\nThe frobnicator MUST be turned {self.rng.random()} times.\n", "utf-8"
        )
        is_found = any(kind in EXPECTED["must"] for kind, _ in self.review("HEAD"))
        self.note("must", is_found, f"{self.name} must {path}")
        self.git("checkout", "-q", "--", ".")

    def note(self, kind: str, is_found: bool, text: str) -> None:
        self.tally.planted[kind] += 1
        self.tally.found[kind] += is_found
        if not is_found:
            self.tally.missed.append(text)

    def clean(self, kind: str) -> None:
        paths = sorted({place.path for place in citations(self.root)})
        path = self.rng.choice(paths)
        if kind == "move":
            target = str(Path(path).parent / "moved" / Path(path).name)
            (self.root / target).parent.mkdir()
            self.git("mv", path, target)
        else:
            lines = self.lines(path)
            changed = CLEAN[kind](lines, self.rng)
            if changed is None:
                return
            (self.root / path).write_text("\n".join(changed), encoding="utf-8")
        found = self.review("HEAD")
        self.tally.clean.append(len(found))
        if found:
            self.tally.noise.append(f"{self.name} {kind} {path} {found}")
        self.git("reset", "-q", "--hard")

    def planted_commits(self, count: int) -> None:
        """Real commits with several files, each with one planted change on top."""
        log = self.git("log", "--no-merges", "--format=%H", "-400").split()
        head = self.git("rev-parse", "HEAD").strip()
        done = 0
        for commit in log:
            if done >= count:
                break
            changed = [
                p for p in self.git("show", "--name-only", "--format=", commit).splitlines() if p.endswith(_SUFFIXES)
            ]
            if len(changed) < 2:
                continue
            self.git("checkout", "-q", commit)
            done += self.plant(self.rng.choice(list(PLANTS)), f"{commit}~1", "commit ")
        self.git("checkout", "-q", head)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("projects", nargs="+", type=Path)
    parser.add_argument("--each", type=int, default=13, help="changes of each kind and project")
    parser.add_argument("--commits", type=int, default=14)
    parser.add_argument("--seed", type=int, default=25)
    options = parser.parse_args()
    rng, tally = random.Random(options.seed), Tally()
    with tempfile.TemporaryDirectory() as folder:
        for project in options.projects:
            copy = Path(folder) / project.resolve().name
            subprocess.run(["git", "clone", "-q", "--shared", str(project.resolve()), str(copy)], check=True)
            measured = Measured(copy, rng, tally)
            for _ in range(options.each):
                for kind in PLANTS:
                    measured.plant(kind)
                measured.must()
                for kind in (*CLEAN, "move"):
                    measured.clean(kind)
            measured.planted_commits(options.commits)
            shutil.rmtree(copy)
    print(json.dumps({
        "planted": dict(tally.planted), "found": dict(tally.found),
        "share": round(sum(tally.found.values()) / max(1, sum(tally.planted.values())), 3),
        "clean": len(tally.clean), "findings_per_clean": round(statistics.fmean(tally.clean or [0]), 3),
        "seconds_median": round(statistics.median(tally.seconds), 3),
    }))  # fmt: skip
    for line in (*tally.missed, *tally.noise):
        print(line)


if __name__ == "__main__":
    main()
