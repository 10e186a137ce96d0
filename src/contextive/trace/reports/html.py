"""The HTML report: one file that loads nothing else.

The script contains no data; all data is escaped text in the page, which is readable without scripts. The content
security policy allows one style and one script, by their hashes, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from urllib.parse import quote, urlencode

from contextive import __version__
from contextive.trace.analysis import Analysis
from contextive.trace.citation import Citation, Location, Problem
from contextive.trace.level import CitationType, Level
from contextive.trace.reports.assets.script import SCRIPT, SCRIPT_HASH
from contextive.trace.reports.assets.style import STYLE, STYLE_HASH
from contextive.trace.reports.chapters import AnchorNames, Chapter, ChapterSection, limit_citations
from contextive.trace.reports.coverage_spans import CitedSpans, requirement_pieces, section_pieces
from contextive.trace.reports.markup import (
    STATUS_GROUPS,
    bar,
    escaped,
    escaped_attribute,
    external_link,
    mark_pieces,
    percent,
)
from contextive.trace.reports.safe_text import one_line, shorten, uri_of_path, web_link
from contextive.trace.requirement import Requirement, Status, StatusSummary

_MAX_OPEN_REQUIREMENTS = 400
"""Up to this number, sections are unfolded at first; with more requirements they are folded."""
_MAX_OPEN_PROBLEMS = 20

_STATUS_LABELS = {status: status.value.replace("_", " ").capitalize() for status in Status}
_KIND_LABELS = {
    CitationType.CITATION: "Implementation",
    CitationType.IMPLICATION: "Implication",
    CitationType.TEST: "Test",
    CitationType.EXCEPTION: "Exception",
    CitationType.TODO: "Todo",
    CitationType.SPEC: "Requirement",
}
_LEVEL_NAMES = {level: level.name for level in Level}
_LEVEL_LABELS = {**_LEVEL_NAMES, Level.AUTO: "no level"}
_LEGEND = (
    ("both", "implemented + tested"),
    ("impl", "implemented"),
    ("test", "tested"),
    ("exception", "exception"),
    ("todo", "todo"),
    ("open", "not covered"),
)


##= docs/spec/trace.md#reports
##% The HTML report MUST be a single file that loads nothing else and shows text of the project only as text.
def write_html(
    analysis: Analysis,
    *,
    project: str,
    date: str,
    code: Mapping[Citation, str] = MappingProxyType({}),
    problems: Sequence[Problem] = (),
    warnings: Sequence[Problem] = (),
    blob_link: str | None = None,
    issue_link: str | None = None,
) -> str:
    """The whole page. `code` has the code of citations as HTML; `problems` and `warnings` are listed as given."""
    page = _Page(analysis, code, blob_link, issue_link)
    return "\n".join([*page.lines(project, date, problems, warnings), ""])


class _Page:
    def __init__(
        self,
        analysis: Analysis,
        code: Mapping[Citation, str],
        blob_link: str | None,
        issue_link: str | None,
    ) -> None:
        self.analysis = analysis
        self.code = code
        self.blob_link = web_link(blob_link)
        self.issue_link = web_link(issue_link)
        self.chapters = [Chapter.of(number, r) for number, r in enumerate(analysis.reports.values(), 1)]
        self._anchors = AnchorNames()
        self._files: dict[tuple[str, str | None], tuple[str, str | None]] = {}

    def lines(self, project: str, date: str, problems: Sequence[Problem], warnings: Sequence[Problem]) -> Iterator[str]:
        requirements = [requirement for chapter in self.chapters for requirement in chapter.requirements]
        policy = (
            f"default-src 'none'; style-src '{STYLE_HASH}'; script-src '{SCRIPT_HASH}'; "
            "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
        )
        yield "<!DOCTYPE html>"
        yield '<html lang="en"><head><meta charset="utf-8">'
        yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
        yield '<meta name="referrer" content="no-referrer"><meta name="robots" content="noindex">'
        yield f"<title>{escaped_attribute(project)}: requirements</title>"
        yield f"<style>{STYLE}</style></head><body>"
        yield '<a class="skip" href="#main">Skip to the requirements</a>'
        yield from self._page_header(project, date, requirements)
        if requirements:
            yield from _toolbar(requirements)
        with_contents = " with-contents" if self.chapters else ""
        yield f'<div class="wide page{with_contents}">'
        if self.chapters:
            yield from self._contents()
        yield '<main id="main">'
        yield from self._problem_list(
            "errors", "invalid citation", problems, opened=len(problems) <= _MAX_OPEN_PROBLEMS
        )
        yield from self._problem_list("warnings", "warning", warnings, opened=False)
        if requirements:
            marks = "".join(f'<li><mark class="{css}" data-label="{label}">text</mark></li>' for css, label in _LEGEND)
            yield f'<ul class="key" aria-label="How text is marked">{marks}</ul>'
        yield '<p class="none card" id="none" hidden>No requirement matches. Press <kbd>Esc</kbd> in the search field.</p>'
        if not requirements:
            yield '<p class="none card">No requirements were found.</p>'
        if len(self.chapters) > 1:
            yield from self._overview()
        for chapter in self.chapters:
            yield from self._chapter(chapter, opened=len(requirements) <= _MAX_OPEN_REQUIREMENTS)
        yield "</main></div>"
        yield f'<footer><div class="wide">Written by Contextive {__version__}. '
        yield "Keys: <kbd>/</kbd> search, <kbd>j</kbd> and <kbd>k</kbd> next and previous requirement, "
        yield "<kbd>Enter</kbd> open, <kbd>Esc</kbd> clear.</div></footer>"
        yield f"<script>{SCRIPT}</script></body></html>"

    def _page_header(self, project: str, date: str, requirements: Sequence[Requirement]) -> Iterator[str]:
        summary = StatusSummary.of(requirements)
        yield '<header class="top"><div class="wide">'
        yield f'<div class="title"><h1><bdi>{escaped(project)}</bdi></h1><span class="muted">{escaped(date)}</span></div>'
        yield f'<div class="score"><div class="big">{percent(summary)}'
        yield f"<small>{summary.done} of {summary.total} requirements done</small></div><div>{bar(summary)}"
        yield '<ul class="legend">'
        for css, label, statuses in STATUS_GROUPS:
            count = sum(summary.by_status[status] for status in statuses)
            yield f'<li class="{css}">{label.capitalize()} <b>{count}</b></li>'
        yield "</ul></div></div>"
        by_level = [(level, [r for r in requirements if r.level is level]) for level in sorted(Level, reverse=True)]
        if sum(1 for _, some in by_level if some) > 1:
            yield '<ul class="levels">'
            for level, some in by_level:
                if some:
                    part = StatusSummary.of(some)
                    yield f'<li><span class="name">{_LEVEL_LABELS[level]}</span>{bar(part)}'
                    yield f'<span class="muted"><b>{percent(part)}</b> of {part.total}</span></li>'
            yield "</ul>"
        yield "</div></header>"

    def _contents(self) -> Iterator[str]:
        yield '<nav class="contents" aria-label="Sections">'
        for chapter in self.chapters:
            yield f"<h2><bdi>{escaped(chapter.title)}</bdi></h2><ol>"
            for part in chapter.sections:
                done, total = part.summary.done, part.summary.total
                count = f"{done}/{total}" if total else ""
                css = ' class="all"' if total and done == total else ""
                title = escaped(shorten(part.title, 80))
                yield f'<li><a href="#{part.anchor}"><bdi>{title}</bdi><b{css}>{count}</b></a></li>'
            yield "</ol>"
        yield "</nav>"

    def _overview(self) -> Iterator[str]:
        yield '<ul class="overview card" aria-label="Specifications">'
        for chapter in self.chapters:
            part = chapter.summary
            title = f'<a href="#t{chapter.number}"><bdi>{escaped(chapter.title)}</bdi></a>'
            yield f'<li>{title}{bar(part)}<span class="n">{part.done} of {part.total} done</span></li>'
        yield "</ul>"

    def _chapter(self, chapter: Chapter, opened: bool) -> Iterator[str]:
        self._anchors.begin(chapter.number)
        summary, number, target = chapter.summary, chapter.number, chapter.report.target
        yield f'<section class="spec" aria-labelledby="t{number}"><header>'
        yield f'<h2 id="t{number}"><bdi>{escaped(chapter.title)}</bdi></h2>'
        address = external_link(chapter.address, escaped(target.display_name), "path")
        yield f'<p class="muted">{address} · {summary.done} of {summary.total} done ({percent(summary)})</p>'
        yield f"{bar(summary)}</header>"
        others, cited = chapter.other_citations(), CitedSpans(chapter.report.cited)
        for part in chapter.sections:
            yield self._section(chapter, cited, part, others.get(part.section.id, []), opened)
        yield "</section>"

    def _section(
        self, chapter: Chapter, cited: CitedSpans, part: ChapterSection, others: Sequence[Citation], opened: bool
    ) -> str:
        summary, section_id = part.summary, part.section.id
        target = escaped_attribute(f"{chapter.report.target.display_name}#{section_id}")
        total = summary.total
        count = f"{summary.done} of {total} done" if total else "cited"
        pieces = [
            f'<details class="s card" id="{part.anchor}" data-target="{target}"{" open" if opened else ""}>',
            f'<summary><h3><bdi>{escaped(part.title)}</bdi><span class="path">#{escaped(section_id)}</span></h3>',
            f'{bar(summary)}<span class="n">{count}</span></summary>',
            *(self._requirement(chapter, requirement) for requirement in part.requirements),
            '<details class="full"><summary>Full text of this section, with marks</summary>',
            f'<pre dir="auto">{mark_pieces(section_pieces(chapter.text, cited, part.section))}</pre></details>',
        ]
        if others:
            plural = "citation" if len(others) == 1 else "citations"
            pieces += [
                f'<details class="other"><summary>{len(others)} {plural} outside the requirements</summary>',
                self._citations(others),
                "</details>",
            ]
        pieces.append("</details>")
        return "\n".join(pieces)

    def _requirement(self, chapter: Chapter, requirement: Requirement) -> str:
        anchor = self._anchors.requirement(requirement)
        status, level = requirement.status, _LEVEL_NAMES[requirement.level]
        # If nothing is covered, the status says enough.
        pieces = requirement_pieces(chapter.text, requirement) if requirement.covered else None
        text = mark_pieces(pieces) if pieces else escaped(requirement.text)
        related = requirement.related
        cites = self._citations(related) if related else '<p class="muted">Nothing cites this requirement.</p>'
        return (
            f'<details class="r" id="{anchor}" data-status="{status}" data-level="{level}">\n'
            f'<summary><span class="level {level.lower()}">{_LEVEL_LABELS[requirement.level]}</span>\n'
            f'<span class="text" dir="auto">{text}</span>\n'
            f'<span class="status {status}">{_STATUS_LABELS[status]}</span></summary>\n'
            f'<div class="body"><div class="facts">{self._facts(chapter, requirement, anchor)}</div>\n'
            f"{cites}\n</div></details>"
        )

    def _facts(self, chapter: Chapter, requirement: Requirement, anchor: str) -> str:
        facts = f'<a href="#{anchor}">Link to this requirement</a>'
        if chapter.address is not None:
            address = f"{chapter.address}#{quote(requirement.section.id.encode('utf-8', 'replace'))}"
            facts += " " + external_link(address, "Read it in the specification")
        if requirement.spans:
            facts += f" <span>Line {chapter.line_of(requirement.spans[0][0])} of the specification</span>"
        if self.issue_link is not None and not requirement.status.is_done:
            facts += " " + external_link(_new_issue_url(self.issue_link, requirement), "Open an issue")
        return facts

    def _citations(self, citations: Sequence[Citation]) -> str:
        listed = limit_citations(citations)
        items = [self._citation(citation) for citation in listed]
        if len(citations) > len(listed):
            items.append(f'<li class="muted">and {len(citations) - len(listed)} more</li>')
        return "\n".join(('<ul class="cites">', *items, "</ul>"))

    def _citation(self, citation: Citation) -> str:
        name, is_new = self._anchors.code(citation)
        if is_new:
            anchor, code = f' id="{name}"', self.code.get(citation, "")
        else:
            anchor, code = "", f'<a class="same" href="#{name}">The code is shown here</a>'
        extras = "".join(self._extras(citation)) if citation.feature or citation.tracking_issue or citation.tags else ""
        reason = f'<p class="reason" dir="auto">{escaped(citation.comment)}</p>\n' if citation.comment else ""
        return (
            f'<li{anchor}><div class="head"><span class="kind {citation.type}">{_KIND_LABELS[citation.type]}</span>\n'
            f"{self._location_link(citation.source, citation.line, blob_link=citation.blob_link)}\n"
            f"{extras}</div>\n{reason}{code}\n</li>"
        )

    def _extras(self, citation: Citation) -> Iterator[str]:
        if citation.feature:
            yield f"<span>Feature: <bdi>{escaped(citation.feature)}</bdi></span>"
        if citation.tracking_issue:
            address = _issue_address(citation.tracking_issue, self.issue_link)
            yield f"<span>Issue: {external_link(address, f'<bdi>{escaped(citation.tracking_issue)}</bdi>')}</span>"
        if citation.tags:
            yield f'<span class="muted"><bdi>{escaped(", ".join(citation.tags))}</bdi></span>'

    def _location_link(self, path: str, line: int, column: int = 0, blob_link: str | None = None) -> str:
        text, address = self._file(path, blob_link)
        if line > 0:
            text += f":{line}"
            address = f"{address}#L{line}" if address else None
        if column > 1:
            text += f":{column}"
        return external_link(web_link(path) or address, f"<bdi>{text}</bdi>", "path")

    def _file(self, path: str, blob_link: str | None) -> tuple[str, str | None]:
        """A path as HTML, and the URL of the file, if it is on the web."""
        known = self._files.get((path, blob_link))
        if known is None:
            base, address = web_link(blob_link) if blob_link is not None else self.blob_link, None
            if base is not None and path and ".." not in path.split("/"):
                encoded = uri_of_path(path)
                address = f"{base.rstrip('/')}/{encoded}" if not encoded.startswith("file:") else None
            known = self._files[path, blob_link] = escaped(path), address
        return known

    def _problem_list(self, css: str, name: str, problems: Sequence[Problem], opened: bool) -> Iterator[str]:
        if not problems:
            return
        cited: dict[tuple[str, Location], Citation] = {
            (problem.code, problem.location): self.analysis.citations[number]
            for number, problem in self.analysis.invalid.items()
        }
        plural = name if len(problems) == 1 else f"{name}s"
        yield f'<details class="notes {css} card"{" open" if opened else ""}><summary>{len(problems)} {plural}</summary><ol>'
        for problem in problems:
            citation = cited.get((problem.code, problem.location))
            yield f'<li><p dir="auto">{escaped(problem.message)}</p><div class="where">'
            if problem.location.path:
                blob_link = citation.blob_link if citation else None
                yield self._location_link(
                    problem.location.path, problem.location.line, problem.location.column, blob_link
                )
            yield f"<span>{escaped(problem.code)}</span></div>"
            if citation is not None:
                yield self.code.get(citation, "")
            if problem.help:
                yield f'<div class="hint" dir="auto">{escaped(problem.help)}</div>'
            yield "</li>"
        yield "</ol></details>"


def _toolbar(requirements: Sequence[Requirement]) -> Iterator[str]:
    summary = StatusSummary.of(requirements)
    yield '<div id="tools" role="search" hidden><div class="wide">'
    yield '<input id="search" type="search" placeholder="Search  ( / )" aria-label="Search the requirements" autocomplete="off">'
    yield "<fieldset><legend>Status</legend>"
    for status, count in summary.by_status.items():
        if count:
            yield _chip("status", status.value, _STATUS_LABELS[status], count)
    yield "</fieldset><fieldset><legend>Level</legend>"
    for level in sorted(Level, reverse=True):
        count = sum(1 for requirement in requirements if requirement.level is level)
        if count:
            yield _chip("level", level.name, _LEVEL_LABELS[level], count)
    yield "</fieldset>"
    yield '<button type="button" data-do="open">Unfold all</button><button type="button" data-do="close">Fold all</button>'
    yield '<button type="button" data-do="clear" hidden>Clear</button>'
    yield f'<span id="shown" role="status">{summary.total} requirements</span></div></div>'


def _chip(name: str, value: str, label: str, count: int) -> str:
    box = f'<input type="checkbox" name="{name}" value="{value}" autocomplete="off">'
    return f'<label class="chip">{box}{label} <span class="muted">{count}</span></label>'


def _issue_address(issue: str, issue_link: str | None) -> str | None:
    """The URL of a tracking issue, which is a URL or the number of an issue of the project."""
    if (address := web_link(issue)) is not None:
        return address
    number = issue.removeprefix("#")
    if issue_link is not None and number.isascii() and number.isdigit():
        return f"{issue_link.rstrip('/')}/{number}"
    return None


def _new_issue_url(issue_link: str, requirement: Requirement) -> str:
    target = f"{requirement.target.display_name}#{requirement.section.id}"
    fields = {
        "title": shorten(one_line(requirement.text), 100),
        "body": f"> {shorten(one_line(requirement.text), 600)}\n\n{one_line(target)}\n{requirement.identifier}",
    }
    return f"{issue_link.rstrip('/')}/new?{urlencode(fields)}"
