"""A generated project of real size: 300 files, about 6,000 chunks, 40 documents and 800 requirements, with long names."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.packs.knowledge.repository import write_repository

SUBSYSTEMS, MODULES, TESTS, DOCUMENTS, NOTES, SECTIONS = 12, 15, 80, 18, 20, 40
REQUIREMENTS_PER_SECTION = 10
_PACKAGE = "src/harbour_operations"
_NOUN_LIST = (
    "berth departure schedule manifest container allocation pilot tugboat customs declaration cargo inspection "
    "weather forecast tide threshold anchor mooring quarantine ledger invoice passenger ferry terminal crane operator "
    "signal beacon channel draught ballast certificate registry voyage itinerary consignment hazard permit clearance "
    "capacity reservation notification subscription checkpoint settlement reconciliation measurement calibration"
)
_VERB_LIST = (
    "reconcile allocate validate recalculate publish archive normalise aggregate prioritise acknowledge withdraw "
    "synchronise estimate reserve release escalate discard retain annotate resolve"
)
_ADJECTIVE_LIST = (
    "remaining expired pending confirmed overdue provisional incoming outgoing partial duplicate scheduled"
)
_NOUNS, _VERBS, _ADJECTIVES = _NOUN_LIST.split(), _VERB_LIST.split(), _ADJECTIVE_LIST.split()
CANARY = re.compile(rf"(?i)lighthouse|\b(?:{'|'.join(_VERBS)})_(?:{'|'.join(_ADJECTIVES)})_")
"""Found in every heading, sentence, tag and symbol of the project, and in the name of no file."""
_LEVELS = ("MUST", "MUST", "MUST NOT", "SHOULD", "MAY")


def write_large_project(root: Path) -> Path:
    """Write the project, the same one every time, with all files committed in 2024."""
    return write_repository(root, _Generator().files())


class _Generator:
    def __init__(self) -> None:
        self._random = random.Random(21)
        self.modules = [
            (subsystem, f"{self._phrase('_', 3)}_{number}")
            for subsystem in self._unique_names(SUBSYSTEMS)
            for number in range(MODULES)
        ]
        self.functions = {module: [self._name() for _ in range(10)] for module in self.modules}
        self.classes = {module: [self._class_name() for _ in range(2)] for module in self.modules}
        self.requirements = {spec: self._specification() for spec in ("berthing", "settlement")}
        self.notes = [f"{self._phrase('-', 3)}-{number}" for number in range(NOTES)]

    def files(self) -> Mapping[str, str]:
        found = {f"docs/spec/{spec}.md": self._specification_text(spec) for spec in self.requirements}
        found["README.md"] = (
            f"# Harbour lighthouse operations\n\nThis README explains the project. {self._sentence()}\n"
        )
        found["docs/subsystems.json"] = self._catalog()
        found |= {f"docs/{self._phrase('-', 3)}-{n}.md": self._document() for n in range(DOCUMENTS)}
        found |= {f"notes/{slug}.md": self._note(at) for at, slug in enumerate(self.notes)}
        found |= {self._path(module): self._source(module) for module in self.modules}
        found |= {
            f"tests/{self._phrase('/', 2)}/test_{self._phrase('_', 3)}_{n}.py": self._test(n) for n in range(TESTS)
        }
        return found | self._plan()

    def _plan(self) -> dict[str, str]:
        """A specification in the format of Kiro with 60 criteria, a task for each, and a comment that names one."""
        requirements = "\n".join(
            f"### Requirement {group}\n\n#### Acceptance Criteria\n"
            + "".join(f"\n{n}. THE SYSTEM SHALL {self._sentence()}" for n in range(1, 7))
            + "\n"
            for group in range(1, 11)
        )
        tasks = "".join(
            f"- [ ] {group}.{n} {self._sentence()}\n  - _Requirements: {group}.{n}_\n"
            for group in range(1, 11)
            for n in range(1, 7)
        )
        folder = ".kiro/specs/harbour-plan"
        return {
            f"{folder}/requirements.md": f"# Requirements Document\n\n## Requirements\n\n{requirements}",
            f"{folder}/tasks.md": f"# Implementation Plan\n\n{tasks}",
            f"{_PACKAGE}/planned.py": "# Requirement 1.1 of harbour-plan\nPLANNED = True\n",
        }

    def _path(self, module: tuple[str, str]) -> str:
        return f"{_PACKAGE}/{module[0]}/{module[1]}.py"

    def _phrase(self, separator: str, words: int) -> str:
        return separator.join(self._random.sample(_NOUNS, words))

    def _unique_names(self, count: int) -> list[str]:
        return [f"{noun}_{other}" for noun, other in zip(_NOUNS[:count], reversed(_NOUNS), strict=False)]

    def _name(self) -> str:
        return f"{self._random.choice(_VERBS)}_{self._random.choice(_ADJECTIVES)}_{self._phrase('_', 2)}"

    def _class_name(self) -> str:
        return "".join(word.title() for word in (*self._random.sample(_NOUNS, 2), "lighthouse"))

    def _sentence(self) -> str:
        words = self._random
        return (
            f"When the {words.choice(_ADJECTIVES)} {words.choice(_NOUNS)} of a lighthouse {words.choice(_NOUNS)} changes, "
            f"operators {words.choice(_VERBS)} the {words.choice(_ADJECTIVES)} {words.choice(_NOUNS)} and {words.choice(_VERBS)} "
            f"the {words.choice(_NOUNS)} {words.choice(_NOUNS)}."
        )

    def _specification(self) -> list[tuple[str, list[str]]]:
        """Sections, each with its title and sentences."""
        return [
            (
                f"{self._phrase(' ', 1).capitalize()} lighthouse {number}",
                [self._requirement(number, n) for n in range(10)],
            )
            for number in range(SECTIONS)
        ]

    def _requirement(self, section: int, number: int) -> str:
        words = self._random
        return (
            f"The {words.choice(_NOUNS)} lighthouse {words.choice(_LEVELS)} {words.choice(_VERBS)} the "
            f"{words.choice(_ADJECTIVES)} {words.choice(_NOUNS)} of {words.choice(_NOUNS)} {section} before a "
            f"{words.choice(_NOUNS)} {words.choice(_NOUNS)} is {words.choice(_ADJECTIVES)} for more than {number + 2} minutes."
        )

    def _specification_text(self, spec: str) -> str:
        parts = [f"# {spec.title()} of lighthouse vessels\n"]
        for title, sentences in self.requirements[spec]:
            parts.append(f"## {title}\n\n{self._sentence()}\n\n" + "\n".join(sentences) + "\n")
        return "\n".join(parts)

    def _catalog(self) -> str:
        names = sorted({subsystem for subsystem, _ in self.modules})
        return json.dumps(
            {
                name.replace("_", " ").title(): {
                    "description": self._sentence(),
                    "criticality": "high",
                    "owner": "harbour operations",
                    "paths": [f"{_PACKAGE}/{name}"],
                }
                for name in names[::2]
            },
            indent=1,
        )

    def _document(self) -> str:
        subsystem, module = self._random.choice(self.modules)
        parts = [
            f"# {self._phrase(' ', 2).title()} Lighthouse\n\nSee [the code](../{self._path((subsystem, module))}).\n"
        ]
        parts += [f"## {self._phrase(' ', 2).title()} Lighthouse\n\n{self._paragraph(5)}\n" for _ in range(15)]
        return "\n".join(parts)

    def _paragraph(self, sentences: int) -> str:
        return "\n".join(self._sentence() for _ in range(sentences))

    def _note(self, at: int) -> str:
        """The first note links to all others and they to it; the second is very long."""
        linked = self.notes[1:] if at == 0 else [self.notes[0], *self._random.sample(self.notes, 8)]
        links = "\n".join(f"- [[{slug}]]: {self._sentence()}" for slug in linked)
        paragraphs = "\n\n".join(self._paragraph(4) for _ in range(60 if at == 1 else 4))
        front_matter = f"---\ntags: [lighthouse, {self._random.choice(_NOUNS)}]\n---\n"
        return f"{front_matter}# {self._phrase(' ', 3).title()} Lighthouse\n\n{paragraphs}\n\n{links}\n"

    def _source(self, module: tuple[str, str]) -> str:
        imported = self._random.sample(self.modules, 4)
        lines = [f'"""{self._sentence()}"""', ""]
        lines += [f"from harbour_operations.{s}.{m} import {self.functions[s, m][0]}" for s, m in imported]
        called = [self.functions[other][0] for other in imported]
        for name in self.functions[module]:
            lines += ["", "", *self._citation(), *self._function(name, self._random.choice(called))]
        for class_name in self.classes[module]:
            lines += ["", "", f"class {class_name}:", f'    """{self._sentence()}"""']
            for _ in range(4):
                body = self._function(self._name(), self._random.choice(called), "self, ")
                lines += ["", *(f"    {line}" if line else line for line in body)]
        return "\n".join(lines) + "\n"

    def _function(self, name: str, called: str, first: str = "") -> Iterator[str]:
        noun, other = self._random.sample(_NOUNS, 2)
        yield f"def {name}({first}{noun}_identifier: str, {other}_limit: int = 20) -> list[str]:"
        yield f'    """{self._sentence()}"""'
        yield f"    {noun}_entries = {called}({noun}_identifier, {other}_limit)"
        yield f"    return [entry for entry in {noun}_entries if entry != {noun}_identifier][:{other}_limit]"

    def _citation(self, kind: str = "") -> Iterator[str]:
        if self._random.random() < 0.4:
            spec = self._random.choice(sorted(self.requirements))
            title, sentences = self._random.choice(self.requirements[spec])
            yield f"#= docs/spec/{spec}.md#{title.lower().replace(' ', '-')}"
            yield from [f"#= type={kind}"] if kind else []
            yield f"#% {self._random.choice(sentences)}"

    def _test(self, number: int) -> str:
        tested = [self.modules[(number * 3 + step) % len(self.modules)] for step in range(3)]
        lines = [f"from harbour_operations.{s}.{m} import {', '.join(self.functions[s, m])}" for s, m in tested]
        for module in tested:
            for name in self.functions[module][:6]:
                lines += ["", "", *self._citation("test"), f"def test_{name}_{number}() -> None:"]
                lines += [f'    """{self._sentence()}"""', f'    assert {name}("{self._phrase("-", 2)}", 3) == []']
        return "\n".join(lines) + "\n"
