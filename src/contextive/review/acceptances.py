"""Findings that a person read and found right: one TOML file in the repository, sorted, so that changes merge well."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from contextive.errors import InvalidRequest, ParseError
from contextive.review.findings import Finding, Kind, content_digest, listed, short
from contextive.toml.reader import read_toml

ACCEPTANCES_PATH: Final = "contextive.accepted.toml"
MAX_NOTE: Final = 500
_MAX_ENTRIES: Final = 10_000
_HEADER: Final = (
    "# Findings of `contextive-mcp review` that a person read and found right. An entry holds while the code, the\n"
    "# citation or the requirement that it is about stays the same. Add one with: contextive-mcp accept ID --note TEXT\n"
)
_FIELDS: Final = ("id", "kind", "place", "requirement", "note")
_ID = re.compile(r"[0-9a-f]{12}")


@dataclass(frozen=True, slots=True, order=True)
class Acceptance:
    """One accepted finding. Its id is a digest of what the finding is about."""

    place: str
    kind: str
    id: str
    requirement: str
    note: str


def acceptance_of(finding: Finding, note: str) -> Acceptance:
    """The acceptance of a finding. Raises InvalidRequest if there is no note, or nothing to accept."""
    note = " ".join(note.split())
    if not note or len(note) > MAX_NOTE:
        raise InvalidRequest(f"A note has 1 to {MAX_NOTE} characters.", hint="Say why the change is right.")
    if finding.kind is Kind.ACCEPTANCES_CHANGED:
        raise InvalidRequest("A change of the acceptances cannot be accepted itself.", hint="Read it in the diff.")
    return Acceptance(finding.path, finding.kind.value, finding.id, finding.requirement, note)


def parse_acceptances(text: str) -> list[Acceptance]:
    """The entries of the file. Raises ParseError if it is not valid."""
    entries = read_toml(text).get("accepted", [])
    if not isinstance(entries, list) or len(entries) > _MAX_ENTRIES:
        raise ParseError("`accepted` must be written as [[accepted]]", 1)
    found = []
    for entry in entries:
        if not isinstance(entry, dict) or not all(isinstance(entry.get(name), str) for name in _FIELDS):
            raise ParseError(f"each [[accepted]] has the texts {', '.join(_FIELDS)}", 1)
        if not _ID.fullmatch(entry["id"]):
            raise ParseError("an id has 12 hexadecimal digits", 1)
        found.append(Acceptance(**{name: entry[name] for name in _FIELDS}))
    return sorted(found)


##= docs/spec/review.md#acceptances
##% The acceptances MUST be one file in the repository, sorted, with an entry for each finding and a note.
def format_acceptances(acceptances: Iterable[Acceptance]) -> str:
    parts = [_HEADER]
    for one in sorted(set(acceptances)):
        values = "".join(f"{name} = {_toml_string(getattr(one, name))}\n" for name in _FIELDS)
        parts.append(f"\n[[accepted]]\n{values}")
    return "".join(parts)


def _toml_string(text: str) -> str:
    escaped = "".join(
        f"\\{char}" if char in '"\\' else char if char.isprintable() else f"\\U{ord(char):08X}"
        for char in text.encode("utf-8", "replace").decode()
    )
    return f'"{escaped}"'


@dataclass(frozen=True, slots=True)
class AcceptedFindings:
    """The findings that are left, and how many were accepted."""

    findings: tuple[Finding, ...]
    accepted: int


##= docs/spec/review.md#acceptances
##% An accepted finding MUST NOT be reported until the content that it is about changes.
def without_accepted(findings: Sequence[Finding], acceptances: Iterable[Acceptance]) -> AcceptedFindings:
    known = {one.id for one in acceptances}
    left = tuple(finding for finding in findings if finding.id not in known)
    return AcceptedFindings(left, len(findings) - len(left))


##= docs/spec/review.md#acceptances
##% A change of the acceptances MUST be reported itself.
def changed_acceptances(old: Sequence[Acceptance], new: Sequence[Acceptance]) -> list[Finding]:
    added, removed = sorted(set(new) - set(old)), sorted(set(old) - set(new))
    if not added and not removed:
        return []
    reason = "; ".join([*_counted(added, "accepted"), *_counted(removed, "no longer accepted")])
    digests: Mapping[str, str] = {one.id: one.note for one in (*added, *removed)}
    content = content_digest(*(f"{key} {value}" for key, value in sorted(digests.items())))
    return [
        Finding(
            Kind.ACCEPTANCES_CHANGED, ACCEPTANCES_PATH, 1, "", f"{reason}.",
            "Read the notes: what is accepted is not reported again.", content,
        )
    ]  # fmt: skip


def _counted(entries: Sequence[Acceptance], what: str) -> list[str]:
    shown = [f"{one.kind} {one.place} ({short(one.note, 60)})" for one in entries]
    return [f"{len(entries)} {what}: {listed(shown, 3)}"] if entries else []
