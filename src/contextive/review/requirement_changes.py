"""Requirements that were added, reworded, removed or given another level."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from contextive.review.findings import Finding, Kind, content_digest, listed, short
from contextive.review.versions import ProjectVersion, requirement_name
from contextive.trace.analysis import TargetReport
from contextive.trace.level import CitationType, Level
from contextive.trace.ranking import level_word
from contextive.trace.requirement import Requirement

_TOKEN = re.compile(r"\w+|[<>=+\-%!/&|^~]+")
_LEVEL_WORDS = frozenset(
    {"must", "shall", "required", "should", "recommended", "may", "optional"}
)  # fmt: skip
_SIMILAR = 0.55
_MAX_COMPARED = 200
"""The limit of removed and of added requirements of one specification that are compared with each other."""
MentionedIn = Callable[[str], Sequence[str]]
"""The notes and tasks that refer to a requirement, by its identifier."""


@dataclass(frozen=True, slots=True)
class RequirementChanges:
    findings: tuple[Finding, ...]
    explained: frozenset[str]
    """The identifiers of the old requirements that changed. Their citations are named in the findings."""


def requirement_changes(old: ProjectVersion, new: ProjectVersion, mentioned_in: MentionedIn) -> RequirementChanges:
    """How the requirements of the specifications changed."""
    before = {report.target.canonical: report for report in old.analysis.reports.values()}
    after = {report.target.canonical: report for report in new.analysis.reports.values()}
    findings: list[Finding] = []
    explained: set[str] = set()
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name), after.get(name)
        if was is not None and now is not None and was.requirements is now.requirements:
            continue
        compared = _Comparison(was, now, mentioned_in)
        findings += compared.findings()
        explained |= {requirement.identifier for requirement in compared.gone}
    return RequirementChanges(tuple(findings), frozenset(explained))


def _words(requirement: Requirement) -> tuple[str, ...]:
    """What must stay the same for a requirement to be the same: its words and operators, and its level."""
    return (level_word(requirement.level), *_TOKEN.findall(requirement.text.lower()))


class _Comparison:
    """The requirements of one specification, before and after."""

    def __init__(self, was: TargetReport | None, now: TargetReport | None, mentioned_in: MentionedIn) -> None:
        old = list(was.requirements) if was is not None else []
        new = list(now.requirements) if now is not None else []
        known, present = {_words(one) for one in new}, {_words(one) for one in old}
        self.gone = [one for one in old if _words(one) not in known]
        self.added = [one for one in new if _words(one) not in present]
        self._is_new = not old and len(self.added) > 1
        self._is_removed = not new and len(self.gone) > 1
        self._mentioned_in = mentioned_in

    def findings(self) -> Iterator[Finding]:
        if self._is_new:
            yield self._new_specification()
            return
        if self._is_removed:
            yield self._removed_specification()
            return
        pairs = self._pairs()
        reworded = {id(one) for pair in pairs for one in pair}
        for old, new in pairs:
            yield self._reworded(old, new)
        for old in self.gone:
            if id(old) not in reworded:
                yield self._removed(old)
        for new in self.added:
            if id(new) not in reworded:
                yield _added(new)

    def _pairs(self) -> list[tuple[Requirement, Requirement]]:
        """Old requirements and the new ones that replace them, the most similar first."""
        candidates = []
        for old in self.gone[:_MAX_COMPARED]:
            words = _words(old)[1:]
            matcher = SequenceMatcher(None, (), words, autojunk=False)
            for new in self.added[:_MAX_COMPARED]:
                matcher.set_seq1(_words(new)[1:])
                bonus = 0.1 if old.section.id == new.section.id else 0.0
                if matcher.real_quick_ratio() + bonus >= _SIMILAR and matcher.quick_ratio() + bonus >= _SIMILAR:
                    ratio = matcher.ratio() + bonus
                    if ratio >= _SIMILAR:
                        candidates.append((ratio, old, new))
        candidates.sort(key=lambda found: -found[0])
        pairs: list[tuple[Requirement, Requirement]] = []
        used: set[int] = set()
        for _, old, new in candidates:
            if id(old) not in used and id(new) not in used:
                used |= {id(old), id(new)}
                pairs.append((old, new))
        return pairs

    ##= docs/spec/review.md#findings
    ##% A requirement that was added, reworded or removed, or has another level, MUST be reported with what cites it.
    def _reworded(self, old: Requirement, new: Requirement) -> Finding:
        is_level = old.level is not new.level or _without_level(old) == _without_level(new)
        levels = f" from {level_word(old.level)} to {level_word(new.level)}" if old.level is not new.level else ""
        kind = Kind.REQUIREMENT_LEVEL if is_level else Kind.REQUIREMENT_REWORDED
        what = f"The level changed{levels}." if is_level else "The requirement was reworded."
        return _finding(
            kind, new, f"{what} It was: {short(old.text)} {self._cited(old)}",
            f"Check the code and tests that cite it against: {short(new.text)}", old.text, new.text,
        )  # fmt: skip

    def _removed(self, old: Requirement) -> Finding:
        path, line = _place(old)
        return Finding(
            Kind.REQUIREMENT_REMOVED, path, line, requirement_name(old),
            f"The requirement was removed: {short(old.text)} {self._cited(old)}",
            "Remove the code, tests and citations that only it needed, or put it back.",
            content_digest(old.text),
        )  # fmt: skip

    def _cited(self, old: Requirement) -> str:
        places = sorted({citation.id for citation in old.related})
        cited = f"Cited in {listed(places)}." if places else "Nothing cites it."
        mentions = list(self._mentioned_in(old.identifier))
        return f"{cited} Mentioned in {listed(mentions)}." if mentions else cited

    def _new_specification(self) -> Finding:
        open_musts = [one for one in self.added if _is_open_must(one)]
        kind = Kind.MUST_WITHOUT_CODE if open_musts else Kind.REQUIREMENT_ADDED
        first = (open_musts or self.added)[0]
        return _finding(
            kind, first, f"The specification is new: {len(self.added)} requirements, {len(open_musts)} MUST without code.",
            "Implement and cite them, or mark them as todo.", *(one.identifier for one in self.added),
        )  # fmt: skip

    def _removed_specification(self) -> Finding:
        cited = sorted({citation.id for one in self.gone for citation in one.related})
        path, line = _place(self.gone[0])
        what = f"Cited in {listed(cited)}." if cited else "Nothing cites it."
        return Finding(
            Kind.REQUIREMENT_REMOVED, path, line, self.gone[0].target.display_name,
            f"The specification and its {len(self.gone)} requirements were removed. {what}",
            "Remove what only it needed, or put it back.", content_digest(*(one.identifier for one in self.gone)),
        )  # fmt: skip


##= docs/spec/review.md#findings
##% A new requirement of the highest level that no code implements MUST be reported as such.
def _added(new: Requirement) -> Finding:
    if _is_open_must(new):
        tests = [citation.id for citation in new.citations_of(CitationType.TEST)]
        tested = f" Tests cite it: {listed(tests)}." if tests else ""
        return _finding(
            Kind.MUST_WITHOUT_CODE, new, f"A new MUST, and no code cites it: {short(new.text)}{tested}",
            "Implement and cite it, or mark it as todo.", new.text,
        )  # fmt: skip
    cited = [citation.id for citation in new.related]
    where = f"Cited in {listed(cited)}." if cited else "Nothing cites it."
    return _finding(
        Kind.REQUIREMENT_ADDED, new, f"A new requirement ({level_word(new.level)}): {short(new.text)} {where}",
        "Check that the code does what it says." if cited else "Implement and cite it, or mark it as todo.", new.text,
    )  # fmt: skip


def _is_open_must(requirement: Requirement) -> bool:
    return requirement.level is Level.MUST and requirement.implementation == "none"


def _without_level(requirement: Requirement) -> list[str]:
    return [word for word in _words(requirement)[1:] if word not in _LEVEL_WORDS]


def _finding(kind: Kind, requirement: Requirement, reason: str, do: str, *content: str) -> Finding:
    path, line = _place(requirement)
    return Finding(kind, path, line, requirement_name(requirement), reason, do, content_digest(*content))


def _place(requirement: Requirement) -> tuple[str, int]:
    start = requirement.spans[0][0] if requirement.spans else requirement.section.title_start
    return requirement.target.display_name, requirement.source.line_of(start)
