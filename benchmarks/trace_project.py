"""A generated project of any size to measure tracing: specifications, sources and citations, the same every time."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

_NOUNS = [
    "client",
    "server",
    "stream",
    "frame",
    "packet",
    "key",
    "cache",
    "index",
    "note",
    "token",
    "session",
    "limit",
    "header",
    "field",
    "buffer",
    "timer",
]
_VERBS = [
    "send",
    "close",
    "verify",
    "store",
    "reject",
    "accept",
    "report",
    "count",
    "reset",
    "keep",
    "drop",
    "sign",
    "read",
    "flush",
    "open",
]
_CONDITIONS = [
    "when the peer asks for it",
    "after the handshake",
    "before any other work",
    "unless it is told otherwise",
    "at most once",
]


@dataclass(frozen=True, slots=True)
class ProjectSize:
    """The size of a generated project."""

    files: int = 600
    lines_per_file: int = 300
    specifications: int = 40
    citations: int = 2400
    sections: int = 20
    requirements_per_section: int = 5


def generate_project(root: Path, size: ProjectSize = ProjectSize(), seed: int = 7) -> None:  # noqa: B008
    """Write the project below `root`."""
    chance = random.Random(seed)
    requirements: list[tuple[str, str, str]] = []
    (root / ".duvet").mkdir(parents=True, exist_ok=True)
    (root / "specs").mkdir(exist_ok=True)
    config = [
        "'$schema' = \"https://awslabs.github.io/duvet/config/v0.4.0.json\"",
        "",
        "[[source]]",
        'pattern = "src/**/*.rs"',
        "",
    ]
    for number in range(size.specifications):
        path = f"specs/part-{number:02}.md"
        config += ["[[specification]]", f'source = "{path}"', ""]
        (root / path).write_text(_specification(chance, number, path, size, requirements), encoding="utf-8")
    (root / ".duvet" / "config.toml").write_text("\n".join(config), encoding="utf-8")
    per_file = _shares(size.citations, size.files)
    for number, count in enumerate(per_file):
        folder = root / "src" / f"module_{number // 25:02}"
        folder.mkdir(parents=True, exist_ok=True)
        text = _source(chance, number, size.lines_per_file, [chance.choice(requirements) for _ in range(count)])
        (folder / f"file_{number:04}.rs").write_text(text, encoding="utf-8")


def _shares(total: int, parts: int) -> list[int]:
    return [total * (index + 1) // parts - total * index // parts for index in range(parts)]


def _sentence(chance: random.Random, level: str) -> str:
    a, b = chance.sample(_NOUNS, 2)
    verb = chance.choice(_VERBS)
    number = chance.randrange(10_000)
    return f"The {a} {number} {level} {verb} the {b} {chance.choice(_CONDITIONS)}."


def _specification(
    chance: random.Random, number: int, path: str, size: ProjectSize, requirements: list[tuple[str, str, str]]
) -> str:
    lines = [f"# Part {number}", "", "What this part is about.", ""]
    for section in range(size.sections):
        title = f"Topic {number}.{section}"
        section_id = f"topic-{number}-{section}"
        lines += [f"## {title}", ""]
        for _ in range(size.requirements_per_section):
            sentence = _sentence(chance, chance.choice(("MUST", "MUST NOT", "SHOULD", "MAY")))
            requirements.append((path, section_id, sentence))
            words = sentence.split(" ")
            half = len(words) // 2
            lines += [
                "It is known that all of this has been thought about before.",
                " ".join(words[:half]),
                " ".join(words[half:]),
                "",
            ]
    return "\n".join(lines) + "\n"


def _source(chance: random.Random, number: int, length: int, cited: list[tuple[str, str, str]]) -> str:
    code = [f"    let value_{index} = compute({index}, {number});" for index in range(length - 5 * len(cited))]
    before = sorted(chance.sample(range(len(code)), len(cited)))
    lines: list[str] = []
    for index, line in enumerate(code):
        if before and before[0] == index:
            before.pop(0)
            lines += _citation(chance, *cited.pop())
        lines.append(line)
    return "\n".join(lines) + "\n"


def _citation(chance: random.Random, path: str, section: str, sentence: str) -> list[str]:
    words = sentence.split(" ")
    half = len(words) // 2
    kind = chance.choice(("", "", "test", "exception"))
    block = ["", f"    //= {path}#{section}", *([f"    //= type={kind}"] if kind else [])]
    return [*block, f"    //# {' '.join(words[:half])}", f"    //# {' '.join(words[half:])}"]
