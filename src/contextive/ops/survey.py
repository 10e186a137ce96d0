"""Finds the specifications, notes and source files of a project, for `init`.

A file is a specification if it has enough MUST and SHOULD sentences, or if code cites it. A folder has notes if its files
contain wiki links. Source files are recognised by their extension. Files that git ignores are skipped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from contextive.ingest.trace_defaults import SPECIFICATION_PATTERNS, STYLES_BY_ENDING
from contextive.knowledge.classification import artifact_type_of
from contextive.notes.wikilink import parse_links
from contextive.ops.first_questions import SymbolFinder, TopicFinder
from contextive.trace.extraction import extract_requirements
from contextive.trace.formats.layout import FOLDERS, find_specifications
from contextive.trace.specification import Format, parse_specification
from contextive.workspace.contents import Skipped, decode_text, read_bytes
from contextive.workspace.directory_listings import DirectoryListings
from contextive.workspace.discovery import discover
from contextive.workspace.ignore import IgnoreRules, rules_from_patterns
from contextive.workspace.spec_folders import markdown_files_in

MIN_REQUIREMENTS = 3
"""A document with fewer requirements is not taken for a specification: many documents have a MUST or two."""
MAX_PATTERNS = 12
MAX_URLS = 20
_MAX_BYTES = 1024 * 1024
_KEYWORD = re.compile(r"\b(?:MUST|SHALL|SHOULD|REQUIRED|RECOMMENDED|MAY)\b")
_CITED = re.compile(r"^[ \t]*(?://=|\*=|##=|#=|--=)[ \t]*([^\s#=]+)#\S", re.MULTILINE)
_NOT_A_SPECIFICATION = re.compile(
    r"(?:^|/)(?:\.[^/]+|changes|proposals|archived?|vendor|third[_-]party|node_modules|examples?|tests?|fixtures|testdata)/"
    r"|(?:^|/)(?:readme|changelog|changes|history|contributing|security|code_of_conduct|license|agents|claude|governance)"
    r"(?:[.-][^/]*)?$",
    re.IGNORECASE,
)
_NOT_CITING = frozenset({"yml", "yaml"})


@dataclass(frozen=True, slots=True)
class PatternMatch:
    """A pattern, the number of files that match it, and the number of requirements or citations in them."""

    pattern: str
    files: int
    count: int = 0


@dataclass(frozen=True, slots=True)
class Survey:
    """What was found in a project."""

    files: int
    specifications: tuple[PatternMatch, ...]
    sources: tuple[PatternMatch, ...]
    """Empty if there would be too many patterns; then the default applies, which is all code."""
    source_files: int
    notes: tuple[PatternMatch, ...]
    has_duvet_config: bool
    documents: int = 0
    tests: int = 0
    topic: str = ""
    """A heading of a document, as words to search for; empty if there is none."""
    symbol: str = ""
    """The name of a function or class to ask about; empty if there is none."""
    formats: tuple[tuple[str, int], ...] = ()
    """The spec-driven formats that were found, each with the number of its specifications."""
    copies: str = ""
    """A folder, other than `.duvet/specifications`, with copies of specifications that code cites by URL."""


##= docs/spec/commands.md#init
##% The scan of the project MUST NOT include files that git ignores.
def survey(project: Path, progress: Callable[[int, int], None] | None = None) -> Survey:
    """Scan the files of a project."""
    found = [file.path for file in discover(project, max_bytes=_MAX_BYTES).files]
    prose = [path for path in found if path.endswith((".md", ".txt"))]
    code = [path for path in found if _extension(path) in STYLES_BY_ENDING and _extension(path) not in _NOT_CITING]
    usual = rules_from_patterns(SPECIFICATION_PATTERNS)
    requirements: dict[str, int] = {}
    linked: Counter[str] = Counter()
    cited: Counter[str] = Counter()
    types = Counter(artifact_type_of(path) for path in found)
    topics, symbols = TopicFinder(), SymbolFinder()
    for number, path in enumerate([*prose, *code], 1):
        text = _text(project, path)
        if progress and (number % 20 == 0 or number == len(prose) + len(code)):
            progress(number, len(prose) + len(code))
        if text is None:
            continue
        symbols.add(path, text)
        if path in prose:
            topics.add(text, is_usual=not _NOT_A_SPECIFICATION.search(path))
            if count := _requirements(path, text, usual):
                requirements[path] = count
            if _is_note(path, text):
                linked[path] += 1
        if _extension(path) in STYLES_BY_ENDING:
            cited.update(_CITED.findall(text))
    specifications = {path: count for path, count in requirements.items() if path not in linked}
    specifications |= {path: requirements.get(path, 0) for path in cited if path in prose}
    urls = [PatternMatch(url, 1, count) for url, count in cited.most_common() if "://" in url][:MAX_URLS]
    copies = _copies([found.pattern for found in urls], prose)
    for path in copies:
        specifications.pop(path, None)  # it is listed by its URL
    declared = find_specifications(markdown_files_in(str(project), FOLDERS, DirectoryListings()))
    folders = tuple(f"{files.paths[0].rpartition('/')[0]}/" for files in declared)
    specifications = {path: count for path, count in specifications.items() if not path.startswith(folders)}
    sources = _by_folder(code)
    return Survey(
        files=len(found),
        specifications=(*_patterns(specifications, prose), *urls),
        sources=sources if len(sources) <= MAX_PATTERNS else (),
        source_files=len(code),
        notes=_notes(linked, prose, is_vault=_is_vault(project, linked, prose, code)),
        documents=types["doc"],
        tests=types["test"],
        topic=topics.best,
        symbol=symbols.best(),
        has_duvet_config=(project / ".duvet" / "config.toml").is_file(),
        formats=tuple(Counter(files.format.value for files in declared).items()),
        copies=Counter(copies.values()).most_common(1)[0][0] if copies else "",
    )


def _text(project: Path, path: str) -> str | None:
    contents = read_bytes(project, path, _MAX_BYTES)
    if isinstance(contents, Skipped):
        return None
    text = decode_text(contents.data)
    return None if isinstance(text, Skipped) else text


def _is_note(path: str, text: str) -> bool:
    if not path.endswith(".md") or "[[" not in text or _NOT_A_SPECIFICATION.search(path):
        return False
    return any(link.kind == "note" for link in parse_links(text))


def _copies(urls: Iterable[str], paths: Sequence[str]) -> dict[str, str]:
    """Files whose path shows that they are copies of one of the URLs, each with the folder of the copies."""
    found: dict[str, str] = {}
    for url in urls:
        address = re.sub(r"^[a-z]+://|(?<!/)/++$|\.(?:txt|html)$", "", url)
        for path in paths:
            before, _, rest = path.partition(f"{address}.")
            if rest == "txt" and before:
                found[path] = before.rstrip("/")
    return found


def _requirements(path: str, text: str, usual: IgnoreRules | None) -> int:
    is_usual = bool(usual and usual.verdict(path.encode(), PurePosixPath(path).name.encode(), False))
    least = 1 if is_usual else MIN_REQUIREMENTS
    if not is_usual and (_NOT_A_SPECIFICATION.search(path) or not path.endswith(".md")):
        return 0
    if len(_KEYWORD.findall(text)) < least:
        return 0
    specification = parse_specification(text, Format.AUTO, path)
    count = sum(len(requirements) for _, requirements in extract_requirements(specification))
    return count if count >= least else 0


def _patterns(chosen: dict[str, int], others: Sequence[str]) -> list[PatternMatch]:
    """As few patterns as possible: a folder in which at least half of the documents are chosen becomes one pattern."""
    patterns: list[PatternMatch] = []
    left = set(chosen)
    for folder, extension in sorted({(_folder(path), _extension(path)) for path in chosen}):
        inside = [path for path in others if _folder(path) == folder and _extension(path) == extension]
        mine = [path for path in inside if path in left]
        if folder and len(mine) > 1 and len(mine) * 2 >= len(inside):
            patterns.append(
                PatternMatch(
                    f"{_escape_pattern(folder)}/*.{extension}", len(inside), sum(chosen[path] for path in mine)
                )
            )
            left -= set(mine)
    patterns += [PatternMatch(_escape_pattern(path), 1, chosen[path]) for path in left]
    return sorted(_merge_patterns(patterns), key=lambda found: found.pattern)


def _merge_patterns(patterns: list[PatternMatch]) -> list[PatternMatch]:
    """Replace the patterns below a top-level folder with one, if there are too many patterns."""
    if len(patterns) <= MAX_PATTERNS:
        return patterns
    joined: dict[str, PatternMatch] = {}
    for found in patterns:
        top = found.pattern.split("/")[0]
        name = f"{top}/**/*.{_extension(found.pattern)}" if "/" in found.pattern else found.pattern
        before = joined.get(name, PatternMatch(name, 0))
        joined[name] = PatternMatch(name, before.files + found.files, before.count + found.count)
    return list(joined.values())


def _by_folder(paths: Iterable[str]) -> tuple[PatternMatch, ...]:
    """One pattern for each top-level folder and extension, ordered by the number of files."""
    counted: Counter[str] = Counter()
    for path in paths:
        top, slash, _ = path.partition("/")
        counted[f"{_escape_pattern(top)}/**/*.{_extension(path)}" if slash else f"*.{_extension(path)}"] += 1
    return tuple(
        PatternMatch(pattern, files) for pattern, files in sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    )


def _is_vault(project: Path, linked: Counter[str], prose: Sequence[str], code: Sequence[str]) -> bool:
    """Whether the whole project is notes: it has Obsidian's settings, or notes in several folders outnumber the code."""
    if len(linked) > 1 and (project / ".obsidian").is_dir():
        return True
    tops = {path.partition("/")[0] for path in linked}
    return len(tops) > 1 and len(linked) > max(len(code), len(prose) // 3)


def _notes(linked: Counter[str], prose: Sequence[str], *, is_vault: bool) -> tuple[PatternMatch, ...]:
    """Folders in which at least two files have wiki links, and `notes` if it exists; everything in a vault."""
    if is_vault:
        return (PatternMatch("**/*.md", sum(path.endswith(".md") for path in prose)),)
    tops = Counter(path.split("/")[0] for path in linked if "/" in path)
    found: list[PatternMatch] = []
    for top in sorted({*(top for top, count in tops.items() if count > 1), "notes"}):
        below = [path for path in prose if path.startswith(f"{top}/") and path.endswith(".md")]
        if below:
            found.append(PatternMatch(f"{_escape_pattern(top)}/**/*.md", len(below)))
    return tuple(found)


def _escape_pattern(path: str) -> str:
    """A pattern that matches only this path."""
    return re.sub(r"([*?\[{])", r"[\1]", path)


def _extension(path: str) -> str:
    return PurePosixPath(path).suffix.removeprefix(".")


def _folder(path: str) -> str:
    parent = str(PurePosixPath(path).parent)
    return "" if parent == "." else parent
