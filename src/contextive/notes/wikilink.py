"""Links and tags in the text of a note, outside code and comments.

Links are `[[target]]`, `[[target|label]]`, `[[target#heading]]`, `![[embed]]` and `[label](file.md)`; tags are `#words`.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote

from contextive.notes.prose import TextRange, prose_ranges
from contextive.notes.slug import link_key

LinkKind = Literal["note", "requirement", "file", "symbol"]

_LINK = re.compile(
    r"\[\[(?P<inner>[^\[\]\r\n]{1,1000})\]\]"
    r"|(?<!!)\[(?P<label>[^\[\]\r\n]{0,500})\]\((?:<(?P<quoted>[^<>\r\n]{1,1000})>|(?P<bare>[^()<>\s]{1,1000}))"
    r"(?:[ \t]{1,10}\"[^\"\r\n]{0,300}\")?\)"
)
_MARK = re.compile(r"\\.|`+|\[", re.DOTALL)
_TAG = re.compile(r"(?<!\S)#(\w[\w/-]{0,100})(?![\w/-])")
_NOTE_FILE = re.compile(r"(?![A-Za-z][A-Za-z0-9+.-]{0,30}:|/)[^#?]{1,1000}\.(?:md|markdown)\Z", re.IGNORECASE)
_BACKTICKS = re.compile(r"`+")
_REQUIREMENT = re.compile(r"req:([0-9a-f]{8,128}|(?:kiro|speckit|openspec):\S.{0,300})", re.IGNORECASE)
_ATTACHMENT = re.compile(r".*\.(?!md\Z|markdown\Z)[a-z][a-z0-9]{0,7}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NoteLink:
    """The target of a link. `kind` says what it is: a note, a requirement, a file or a symbol of the project."""

    kind: LinkKind
    target: str
    label: str | None = None
    heading: str | None = None
    embed: bool = False
    path: str | None = None
    """For a Markdown link, the path in the project that it leads to."""

    @property
    def target_text(self) -> str:
        """The target with its prefix, if it has one."""
        match self.kind:
            case "requirement":
                return f"req:{self.target}"
            case "symbol":
                return f"symbol:{self.target}"
            case "file" | "note":
                return self.target


@dataclass(frozen=True, slots=True)
class LinkSpan:
    """A link and its position in the text: of the whole link, and of the name without heading and label."""

    link: NoteLink
    start: int
    end: int
    name_start: int
    name_end: int


def parse_links(content: str, path: str = "") -> tuple[NoteLink, ...]:
    """The links in a note's content, distinct by target and heading, in order of first appearance."""
    found: dict[tuple[str, str, str | None], NoteLink] = {}
    for span in find_links(content, path):
        link = span.link
        target = link.path or (link_key(link.target) if link.kind == "note" else link.target)
        found.setdefault((link.kind, target, link.heading), link)
    return tuple(found.values())


##= docs/spec/notes.md#front-matter
##% A word such as `#pump` in the text of a note MUST count as a tag.
def parse_tags(content: str) -> tuple[str, ...]:
    """The tags written in the text, distinct, in order of first appearance. A number is not a tag."""
    if "#" not in content:
        return ()
    found: dict[str, None] = {}
    for prose in prose_ranges(content):
        for start, end in _outside_code(content, *prose):
            for tag in _TAG.finditer(content, start, end):
                name = tag[1].rstrip("/-")
                if not name.replace("/", "").isdecimal():
                    found[name] = None
    return tuple(found)


##= docs/spec/notes.md#links
##% The text `[[target]]` outside code MUST be a link to the note whose slug, title, alias, file name or path is the
##% target.
def find_links(content: str, path: str = "") -> Iterator[LinkSpan]:
    """All occurrences of links in the note at `path`, in order. A link to a heading of the same note has an empty target."""
    for written in _link_matches(content):
        inner = written["inner"]
        if inner is None:
            if (span := _markdown_link(written, path)) is not None:
                yield span
            continue
        embed = written.start() > 0 and content[written.start() - 1] == "!"
        name = _parts(inner)[0]
        name_start = written.start("inner") + len(name) - len(name.lstrip())
        start = written.start() - 1 if embed else written.start()
        yield LinkSpan(_parse_link(inner, embed), start, written.end(), name_start, name_start + len(name.strip()))


##= docs/spec/notes.md#links
##% A Markdown link to a file that is a note MUST count as a link to this note.
def _markdown_link(written: re.Match[str], path: str) -> LinkSpan | None:
    """The link `[label](file.md)`, or None if it leads to something else than a Markdown file of the project."""
    group = "quoted" if written["quoted"] is not None else "bare"
    name, _, heading = written[group].partition("#")
    target = unquote(name)
    if not _NOTE_FILE.match(target):
        return None
    whole = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    if whole.startswith("../"):
        return None
    link = NoteLink("note", target, written["label"] or None, unquote(heading) or None, path=whole)
    return LinkSpan(link, written.start(), written.end(), written.start(group), written.start(group) + len(name))


def _link_matches(content: str) -> Iterator[re.Match[str]]:
    if "[" not in content:
        return
    for start, end in prose_ranges(content):
        yield from _link_matches_within(content, start, end)


def _link_matches_within(content: str, start: int, end: int) -> Iterator[re.Match[str]]:
    if content.find("[", start, end) < 0:
        return
    if content.find("`", start, end) < 0 and content.find("\\", start, end) < 0:
        yield from _LINK.finditer(content, start, end)
        return
    spans: _Backticks | None = None
    position = start
    while (mark := _MARK.search(content, position, end)) is not None:
        position = mark.end()
        if mark[0][0] == "`":
            spans = spans or _Backticks(content, start, end)
            position = spans.end_of_span(mark.start(), mark.end())
        elif mark[0] == "[" and (found := _LINK.match(content, mark.start(), end)) is not None:
            position = found.end()
            yield found


def _outside_code(content: str, start: int, end: int) -> Iterator[TextRange]:
    """The parts of a range of prose that are not code spans."""
    spans: _Backticks | None = None
    position = start
    run = _BACKTICKS.search(content, start, end)
    while run is not None:
        spans = spans or _Backticks(content, start, end)
        after = spans.end_of_span(run.start(), run.end())
        if after > run.end():
            yield position, run.start()
            position = after
        run = _BACKTICKS.search(content, after, end)
    yield position, end


##= docs/spec/notes.md#links
##% The label and the heading in a link MUST NOT change its target.
def _parts(inner: str) -> tuple[str, str | None, str | None]:
    """Target, heading and label of the text between the brackets, as written."""
    if "|" not in inner and "#" not in inner:
        return inner, None, None
    name, bar, label = inner.partition("|")
    if bar and name.endswith("\\"):  # a bar inside a table is escaped
        name = name[:-1]
    target, hash_mark, heading = name.partition("#")
    if hash_mark and not heading.strip():  # a name such as C#
        target, heading = name, ""
    return target, heading.strip() or None, label.strip() or None


##= docs/spec/notes.md#links
##% A link whose target is prefixed with `req:`, `file:` or `symbol:` MUST lead to a requirement, a file or a symbol
##% of the project.
def _parse_link(inner: str, embed: bool) -> NoteLink:
    written, heading, label = _parts(inner)
    target = written.strip()
    scheme, colon, rest = target.partition(":")
    if colon and rest.strip():
        if requirement := _REQUIREMENT.fullmatch(target):
            return NoteLink("requirement", link_key(requirement[1]), label, heading, embed)
        if scheme.lower() == "file":
            return NoteLink("file", rest.strip(), label, heading, embed)
        if scheme.lower() == "symbol" and "::" in rest:
            return NoteLink("symbol", rest.strip(), label, heading, embed)
    if embed and _ATTACHMENT.fullmatch(target):
        return NoteLink("file", target, label, heading, embed)
    return NoteLink("note", target, label, heading, embed)


@dataclass(slots=True, init=False)
class _Backticks:
    """The runs of backticks in one block, by length. A code span ends at the next run of the same length."""

    starts: dict[int, list[int]]
    limit: int

    def __init__(self, content: str, start: int, end: int) -> None:
        self.starts, self.limit = {}, end
        for run in _BACKTICKS.finditer(content, start, end):
            self.starts.setdefault(len(run[0]), []).append(run.start())

    def end_of_span(self, start: int, end: int) -> int:
        """The end of the code span that starts with this run, or the end of the run if it starts none."""
        length = end - start
        candidates = self.starts.get(length, [])
        index = bisect_left(candidates, end)
        return candidates[index] + length if index < len(candidates) else end
