"""Results of tests and line coverage, read from the files that test runners write. Pure: bytes in, values out.

The files may come from anybody. XML cannot define or load entities, nest deeply or be large. Paths in such files are
names to compare with files of the project and are never opened.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final
from xml.parsers import expat

from contextive.errors import ParseError

MAX_BYTES: Final = 50 * 1024 * 1024
_MAX_DEPTH: Final = 64
_MAX_RESULTS: Final = 200_000
_MAX_LINES: Final = 5_000_000
_NUMBER: Final = re.compile(r"[0-9]{1,7}")


class Outcome(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class TestResult:
    """The result of one test as a runner names it."""

    __test__ = False

    name: str
    classname: str
    file: str
    outcome: Outcome
    requirements: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadEvidence:
    """What one file says: results of tests, the lines that ran, and the lines that each test ran."""

    format: str
    results: tuple[TestResult, ...] = ()
    lines: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """The lines that ran, by the path in the file."""
    by_test: Mapping[str, Mapping[str, frozenset[int]]] = field(default_factory=dict)
    """By the name of a test, the lines that it ran."""


##= docs/spec/review.md#evidence
##% A file of evidence in a format that is not known, or that is not valid, MUST be refused.
def read_evidence(data: bytes) -> ReadEvidence:
    """The content of a file. Its format is recognised by its content. Raises ParseError."""
    if len(data) > MAX_BYTES:
        raise ParseError(f"it is larger than {MAX_BYTES // (1024 * 1024)} MB")
    start = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"<"):
        return _read_xml(data)
    if start.startswith(b"{"):
        return _coverage_json(data)
    if start.startswith((b"TN:", b"SF:")):
        return _lcov(data)
    raise ParseError("it is not JUnit, coverage.py JSON, LCOV, Cobertura or JaCoCo")


##= docs/spec/review.md#evidence
##% XML with an entity declaration, an external reference, more than 64 levels or more than 50 MB MUST be refused.
def _parse_xml(data: bytes, start: Callable[[str, Mapping[str, str]], None], end: Callable[[str], None]) -> None:
    parser = expat.ParserCreate()
    depth = 0

    def opened(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _MAX_DEPTH:
            raise ParseError(f"it has more than {_MAX_DEPTH} levels", parser.CurrentLineNumber)
        start(name, attributes)

    def closed(name: str) -> None:
        nonlocal depth
        depth -= 1
        end(name)

    def refused(*_: object) -> None:
        raise ParseError("it declares or uses an entity", parser.CurrentLineNumber)

    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    parser.StartElementHandler, parser.EndElementHandler = opened, closed
    parser.EntityDeclHandler = parser.UnparsedEntityDeclHandler = refused
    parser.ExternalEntityRefHandler = refused  # type: ignore[assignment]
    parser.SkippedEntityHandler = refused
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise ParseError("it is not valid XML", error.lineno) from None


def _read_xml(data: bytes) -> ReadEvidence:
    reader = _XmlReader()
    _parse_xml(data, reader.start, reader.end)
    if reader.root in ("testsuites", "testsuite"):
        return ReadEvidence("junit", tuple(reader.results))
    lines = {path: frozenset(numbers) for path, numbers in reader.lines.items()}
    if reader.root == "coverage":
        return ReadEvidence("cobertura", lines=lines)
    if reader.root == "report":
        return ReadEvidence("jacoco", lines=lines)
    raise ParseError("it is not JUnit, Cobertura or JaCoCo")


class _XmlReader:
    """Reads the three XML formats, whose elements do not overlap."""

    def __init__(self) -> None:
        self.root = ""
        self.results: list[TestResult] = []
        self.lines: dict[str, set[int]] = {}
        self._case: dict[str, str] | None = None
        self._outcome = Outcome.PASSED
        self._requirements: list[str] = []
        self._package = self._path = ""

    def start(self, name: str, given: Mapping[str, str]) -> None:
        self.root = self.root or name
        match name:
            case "testcase":
                self._case, self._outcome, self._requirements = dict(given), Outcome.PASSED, []
            case "failure" | "error" if self._case is not None:
                self._outcome = Outcome.FAILED
            case "skipped" if self._case is not None and self._outcome is Outcome.PASSED:
                self._outcome = Outcome.SKIPPED
            case "property" if self._case is not None and given.get("name") == "requirement":
                self._requirements.append(given.get("value", ""))
            case "package":
                self._package = given.get("name", "")
            case "class" if self.root == "coverage":
                self._path = given.get("filename", "")
            case "sourcefile" if self.root == "report":
                self._path = f"{self._package}/{given.get('name', '')}".lstrip("/")
            case "line":
                self._line(given)

    def end(self, name: str) -> None:
        if name == "testcase" and self._case is not None:
            if len(self.results) >= _MAX_RESULTS:
                raise ParseError(f"it has more than {_MAX_RESULTS} results")
            given, self._case = self._case, None
            names = (given.get("name", ""), given.get("classname", ""), given.get("file", ""))
            self.results.append(TestResult(*names, self._outcome, tuple(self._requirements)))

    def _line(self, given: Mapping[str, str]) -> None:
        number, hits = (
            (given.get("number"), given.get("hits")) if self.root == "coverage" else (given.get("nr"), given.get("ci"))
        )
        if number and _NUMBER.fullmatch(number) and hits and hits.isdecimal() and int(hits[:9]) > 0 and self._path:
            self.lines.setdefault(self._path, set()).add(int(number))


def _coverage_json(data: bytes) -> ReadEvidence:
    """The report of `coverage json`; with `--show-contexts`, with the tests that ran each line."""
    try:
        files = json.loads(data)["files"]
        lines: dict[str, frozenset[int]] = {}
        by_test: dict[str, dict[str, set[int]]] = {}
        for path, report in files.items():
            lines[path] = frozenset(int(line) for line in report["executed_lines"])
            for line, contexts in report.get("contexts", {}).items():
                for context in contexts:
                    if name := context.partition("|")[0]:
                        by_test.setdefault(name, {}).setdefault(path, set()).add(int(line))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ParseError("it is not the JSON report of coverage.py") from None
    frozen = {test: {path: frozenset(found) for path, found in ran.items()} for test, ran in by_test.items()}
    return ReadEvidence("coverage.py", lines=lines, by_test=frozen)


def _lcov(data: bytes) -> ReadEvidence:
    """LCOV records; those with a test name (TN) say what that test ran."""
    lines: dict[str, set[int]] = {}
    by_test: dict[str, dict[str, set[int]]] = {}
    test = path = ""
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        key, _, value = line.partition(":")
        if number > _MAX_LINES:
            raise ParseError(f"it has more than {_MAX_LINES} lines")
        if key == "TN":
            test = value.strip()
        elif key == "SF":
            path = value.strip()
        elif key == "DA":
            at, _, hits = value.partition(",")
            count = hits.partition(",")[0]
            if not (_NUMBER.fullmatch(at) and re.fullmatch(r"-?[0-9]{1,20}", count)):
                raise ParseError("a DA record is a line and a count", number)
            if int(count) > 0:
                lines.setdefault(path, set()).add(int(at))
                if test:
                    by_test.setdefault(test, {}).setdefault(path, set()).add(int(at))
    frozen = {name: {path: frozenset(found) for path, found in ran.items()} for name, ran in by_test.items()}
    return ReadEvidence("lcov", lines={path: frozenset(found) for path, found in lines.items()}, by_test=frozen)
