"""Citations that were removed, moved, changed or broken, and code and tests that changed under them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from contextive.review.code_units import CodeUnit
from contextive.review.findings import Finding, Kind, content_digest, listed, short
from contextive.review.versions import ProjectVersion, citation_name, requirement_name
from contextive.trace.citation import Citation, Problem
from contextive.trace.level import CitationType
from contextive.trace.requirement import Requirement

_Key = tuple[str, str, str]
_MIN_MOVED_TOKENS = 3
"""Shorter code occurs everywhere, so that finding it elsewhere means nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class _Cited:
    """A citation of one version with the code below it."""

    citation: Citation
    unit: CodeUnit | None
    requirements: list[Requirement]

    @property
    def key(self) -> _Key:
        """What it quotes. Two citations with one key are the same citation, perhaps at another place."""
        citation = self.citation
        return (citation.target_path.removeprefix("./"), citation.section_id or "", " ".join(citation.quote.split()))

    @property
    def digest(self) -> str:
        return self.unit.digest if self.unit is not None else ""

    @property
    def is_test(self) -> bool:
        return self.citation.type is CitationType.TEST

    @property
    def text(self) -> str:
        """The words that it is about: its quote or, if it only names a requirement, the text of that."""
        return short(self.citation.quote or (self.requirements[0].text if self.requirements else ""))

    @property
    def symbol(self) -> str:
        return self.unit.symbol if self.unit is not None else ""


@dataclass(frozen=True, slots=True)
class CitationChanges:
    """The findings about citations, and the ids of the tests that changed."""

    findings: tuple[Finding, ...]
    changed_tests: frozenset[str]


def citation_changes(old: ProjectVersion, new: ProjectVersion, changed: Collection[str]) -> CitationChanges:
    """What happened to the citations in the changed files."""
    before = [_cited(old, citation) for citation in old.citations_in(changed)]
    after = [_cited(new, citation) for citation in new.citations_in(changed)]
    pairs, removed, added = _pair(before, after)
    retargeted, removed = _pair_same_code(removed, added)
    different = [(o, n) for o, n in pairs if _is_changed(o, n)]
    changed_tests = frozenset(n.citation.id for o, n in different if n.is_test)
    writer = _Writer(old, new, changed_tests)
    found = [
        *(writer.of_pair(o, n) for o, n in pairs if o.citation.type is not n.citation.type),
        *(writer.of_changed(o, n) for o, n in different if o.citation.type is n.citation.type),
        *(writer.of_retargeted(o, n) for o, n in retargeted),
        *(writer.of_removed(o) for o in removed),
    ]
    return CitationChanges(tuple(_merged(one for one in found if one is not None)), changed_tests)


def _cited(version: ProjectVersion, citation: Citation) -> _Cited:
    return _Cited(citation, version.unit(citation), version.requirements(citation))


def _is_changed(old: _Cited, new: _Cited) -> bool:
    if old.unit is None or new.unit is None:
        return False
    return not old.unit.code.is_same_as(new.unit.code)


_SAME: Sequence[Callable[[_Cited, _Cited], bool]] = (
    lambda o, n: o.citation.source == n.citation.source and o.digest == n.digest and o.symbol == n.symbol,
    lambda o, n: o.citation.source == n.citation.source and o.digest == n.digest,
    lambda o, n: o.digest == n.digest,
    lambda o, n: not _is_changed(o, n),
    lambda o, n: o.citation.source == n.citation.source and o.symbol == n.symbol,
    lambda o, n: o.citation.source == n.citation.source,
    lambda o, n: o.key == n.key,
)
"""What makes two citations with one key the same one, the surest first."""


def _pair(
    before: Sequence[_Cited], after: Sequence[_Cited]
) -> tuple[list[tuple[_Cited, _Cited]], list[_Cited], list[_Cited]]:
    """The same citations in both versions, then those that only one version has."""
    news: dict[_Key, list[_Cited]] = {}
    for cited in after:
        news.setdefault(cited.key, []).append(cited)
    olds: dict[_Key, list[_Cited]] = {}
    for cited in before:
        olds.setdefault(cited.key, []).append(cited)
    pairs: list[tuple[_Cited, _Cited]] = []
    removed: list[_Cited] = []
    for key, remaining in olds.items():
        candidates = news.get(key, [])
        for is_same_type in (True, False):
            for is_same in _SAME:
                remaining = list(_take(remaining, candidates, is_same, is_same_type, pairs))
        removed += remaining
    return pairs, removed, [cited for candidates in news.values() for cited in candidates]


def _take(
    remaining: Iterable[_Cited],
    candidates: list[_Cited],
    is_same: Callable[[_Cited, _Cited], bool],
    is_same_type: bool,
    pairs: list[tuple[_Cited, _Cited]],
) -> Iterator[_Cited]:
    """Move the pairs that match to `pairs`, and yield the old citations that are left."""
    for old in remaining:
        found = next(
            (
                new
                for new in candidates
                if (not is_same_type or old.citation.type is new.citation.type) and is_same(old, new)
            ),
            None,
        )
        if found is None:
            yield old
        else:
            candidates.remove(found)
            pairs.append((old, found))


def _pair_same_code(removed: list[_Cited], added: list[_Cited]) -> tuple[list[tuple[_Cited, _Cited]], list[_Cited]]:
    """Old and new citations with other quotes above the same code of one file, and the old ones that are left."""
    pairs: list[tuple[_Cited, _Cited]] = []
    left = list(removed)
    candidates = [new for new in added if new.unit is not None]
    for is_same in (
        lambda o, n: o.key[:2] == n.key[:2] and not _is_changed(o, n),
        lambda o, n: o.citation.source == n.citation.source and not _is_changed(o, n),
    ):
        left = list(_take(left, candidates, is_same, True, pairs))
    return pairs, left


class _Writer:
    """Puts what happened to a citation into words."""

    def __init__(self, old: ProjectVersion, new: ProjectVersion, changed_tests: AbstractSet[str]) -> None:
        self._old, self._new, self._changed_tests = old, new, changed_tests

    ##= docs/spec/review.md#findings
    ##% Code that changed under a citation MUST be reported with the tests of the requirement and whether they changed.
    def of_changed(self, old: _Cited, new: _Cited) -> Finding:
        assert old.unit is not None
        assert new.unit is not None
        quote = new.text
        content = content_digest(old.unit.digest, new.unit.digest)
        if self._is_moved(old, new):
            where = f" from {old.symbol}" if old.symbol and old.symbol != new.symbol else ""
            return _finding(
                Kind.CITATION_MOVED, new, f"The citation moved{where} to other code; the code it was above is still there.",
                f"Check that the code here is about: {quote}", content,
            )  # fmt: skip
        where = f" in {new.symbol}" if new.symbol else ""
        if new.is_test:
            return _finding(
                Kind.TEST_CHANGED, new, f"The test{where} changed.", f"Check that it still tests: {quote}", content
            )
        return _finding(
            Kind.CODE_CHANGED, new, f"The code under the citation{where} changed. {self._tests_of(new)}",
            f"Check that it still does this: {quote}", content,
        )  # fmt: skip

    def of_pair(self, old: _Cited, new: _Cited) -> Finding | None:
        """A citation with another type. A todo that became something else is progress."""
        if old.citation.type is CitationType.TODO:
            return None
        return _finding(
            Kind.CITATION_CHANGED, new, f"The {_word(old.citation)} citation is now of type {_word(new.citation)}.",
            f"Check that this is right for: {new.text}",
            content_digest(old.citation.type.value, new.citation.type.value, new.digest),
        )  # fmt: skip

    def of_retargeted(self, old: _Cited, new: _Cited) -> Finding | None:
        """Another quote above the same code, unless it covers the same requirements or they are gone."""
        lost = [r for r in old.requirements if self._new.has(r)]
        kept = {requirement.identifier for requirement in new.requirements}
        if not lost or kept.issuperset(requirement.identifier for requirement in lost):
            return None
        return replace(
            _finding(
                Kind.CITATION_CHANGED, new, f"The citation quoted another requirement before: {old.text}",
                "Check that the code before this change did not implement that requirement, or cite both.",
                content_digest(*old.key, *new.key),
            ),
            requirement=requirement_name(lost[0]),
        )  # fmt: skip

    ##= docs/spec/review.md#findings
    ##% A citation that was removed MUST be reported, unless its requirement was removed as well.
    def of_removed(self, old: _Cited) -> Finding | None:
        known = [requirement for requirement in old.requirements if self._new.has(requirement)]
        if old.requirements and not known:
            return None
        rest = [
            c
            for r in known
            if (now := self._now(r)) is not None
            for c in now.related
            if c.type is not CitationType.TODO
        ]
        if old.citation.type is CitationType.TODO and rest:
            return None
        is_code_gone = self._is_code_gone(old)
        left = (
            f"Still cited in {listed(sorted({c.id for c in rest}))}." if rest else "Nothing cites the requirement now."
        )
        quote, content = old.text, content_digest(*old.key, old.digest, old.citation.type.value)
        if old.is_test and is_code_gone:
            name = f" {old.symbol}" if old.symbol else ""
            return _finding(
                Kind.TEST_REMOVED, old, f"The test{name} of this requirement was removed. {left}",
                f"Keep a test of: {quote}", content,
            )  # fmt: skip
        gone = " together with its code" if is_code_gone else ", and the code below it is still there"
        return _finding(
            Kind.CITATION_REMOVED, old, f"The {_word(old.citation)} citation was removed{gone}. {left}",
            f"Put it back, or check that this is still done: {quote}", content,
        )  # fmt: skip

    def _now(self, requirement: Requirement) -> Requirement | None:
        return self._new.by_text.get((requirement.target.canonical, requirement.identifier))

    def _is_moved(self, old: _Cited, new: _Cited) -> bool:
        """Whether the old code is still there without the citation, and the new code was there before."""
        assert old.unit is not None
        assert new.unit is not None
        if min(len(old.unit.code.tokens), len(new.unit.code.tokens)) < _MIN_MOVED_TOKENS:
            return False
        now, before = self._new.source(old.citation.source), self._old.source(new.citation.source)
        return now is not None and now.has_code(old.unit) and before is not None and before.has_code(new.unit)

    def _is_code_gone(self, old: _Cited) -> bool:
        now = self._new.source(old.citation.source)
        return old.unit is not None and (now is None or not now.has_code(old.unit))

    def _tests_of(self, new: _Cited) -> str:
        tests = sorted({c.id for r in new.requirements for c in r.citations_of(CitationType.TEST)})
        if not tests:
            return "No test cites the requirement."
        changed = [test for test in tests if test in self._changed_tests]
        unchanged = [test for test in tests if test not in self._changed_tests]
        parts = [f"changed too: {listed(changed, 2)}"] if changed else []
        parts += [f"not changed: {listed(unchanged, 2)}"] if unchanged else []
        return f"Its tests: {'; '.join(parts)}."


def _finding(kind: Kind, cited: _Cited, reason: str, do: str, content: str) -> Finding:
    citation = cited.citation
    also = tuple(requirement_name(requirement) for requirement in cited.requirements[1:])
    name = citation_name(citation, cited.requirements)
    return Finding(kind, citation.source, citation.line, name, reason, do, content, also)


def _word(citation: Citation) -> str:
    return "implementation" if citation.type is CitationType.CITATION else citation.type.value


##= docs/spec/review.md#findings
##% One change of code MUST be one finding, however many citations are above the code.
def _merged(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings, those about one change of one piece of code as one."""
    merged: dict[tuple[str, str, str], Finding] = {}
    for finding in findings:
        if finding.kind not in (Kind.CODE_CHANGED, Kind.TEST_CHANGED):
            yield finding
            continue
        key = (finding.kind, finding.path, finding.content)
        known = merged.get(key)
        if known is None:
            merged[key] = finding
        else:
            names = dict.fromkeys([*known.also, finding.requirement, *finding.also])
            names.pop(known.requirement, None)
            merged[key] = replace(known, also=tuple(names))
    yield from merged.values()


##= docs/spec/review.md#findings
##% A citation that no longer matches its specification MUST be reported as broken.
def broken_citations(old: ProjectVersion, new: ProjectVersion, explained: AbstractSet[str]) -> Iterator[Finding]:
    """Citations that are invalid now and were not before. `explained` are requirements that are reported anyway."""
    before = [old.analysis.citations[number] for number in old.analysis.invalid]
    places = {_identity(citation) for citation in before}
    known = Counter(_identity(citation)[1:] for citation in before)
    quoted: dict[tuple[object, ...], Citation] = {}
    invalid = [(new.analysis.citations[number], problem) for number, problem in new.analysis.invalid.items()]
    # Those in their old files come first. What is left of the count has moved to another file.
    for citation, problem in sorted(invalid, key=lambda item: _identity(item[0]) not in places):
        if citation.type is CitationType.SPEC:
            continue
        if known[_identity(citation)[1:]]:
            known[_identity(citation)[1:]] -= 1
            continue
        if not quoted:
            quoted = {_identity(one): one for one in old.analysis.citations}
        was = quoted.get(_identity(citation))
        if was is not None and any(r.identifier in explained for r in old.requirements(was)):
            continue
        yield _broken(citation, problem, is_new=was is None)


def _broken(citation: Citation, problem: Problem, *, is_new: bool) -> Finding:
    when = "The new citation is not valid" if is_new else "The citation was valid before"
    return Finding(
        Kind.CITATION_BROKEN, citation.source, citation.line, citation.target,
        f"{when}: {short(problem.message)}.",
        f"Quote the specification as it is now, or remove the citation: {short(citation.quote)}",
        content_digest(problem.code, citation.target, citation.quote),
    )  # fmt: skip


def _identity(citation: Citation) -> tuple[object, ...]:
    return (citation.source, citation.type, citation.target, citation.quote)
