"""Ignore rules with the same semantics as in git.

A rule is matched against one entry, never against the directories above it; the walk does not enter ignored
directories. Matching works on bytes, as in git, so `?` is one byte. Rules are translated here and not by a library,
because a walk needs three results (ignored, included, no match) for each ignore file, and exactly those of git.
"""

from __future__ import annotations

import os
import re
import string
from collections.abc import Iterable
from dataclasses import dataclass, field

MAX_RULES = 10_000
_MAX_RULE_BYTES = 4096
_BYTES = [bytes([number]) for number in range(256)]
_SPECIAL = re.compile(rb"[*?\[\\]")
_ASCII = {
    b"alnum": string.ascii_letters + string.digits,
    b"alpha": string.ascii_letters,
    b"blank": " \t",
    b"cntrl": "".join(map(chr, [*range(32), 127])),
    b"digit": string.digits,
    b"graph": "".join(map(chr, range(33, 127))),
    b"lower": string.ascii_lowercase,
    b"print": "".join(map(chr, range(32, 127))),
    b"punct": string.punctuation,
    b"space": " \t\n\r\v\f",
    b"upper": string.ascii_uppercase,
    b"xdigit": string.hexdigits,
}


@dataclass(frozen=True, slots=True)
class IgnoreRule:
    """One line of an ignore file."""

    source: bytes
    """A regular expression for the name, or for the path if the rule contains a slash."""
    negated: bool
    only_directories: bool
    is_path: bool
    literal: bytes | None = None
    """The name, if the rule is only a name."""
    ending: bytes | None = None
    """The end of the name, if the rule is a star and an ending."""


@dataclass(slots=True)
class IgnoreRules:
    """The rules of one file for the entries below `base`, the path of its directory: empty or ending with a slash."""

    base: bytes
    rules: tuple[IgnoreRule, ...]
    _compiled: list[tuple[re.Pattern[bytes], IgnoreRule]] = field(init=False)
    _literals: frozenset[bytes] = field(init=False)
    _endings: tuple[bytes, ...] = field(init=False)
    _other_names: re.Pattern[bytes] | None = field(init=False)
    _paths: re.Pattern[bytes] | None = field(init=False)

    def __post_init__(self) -> None:
        self._literals = frozenset(rule.literal for rule in self.rules if rule.literal is not None)
        self._endings = tuple({rule.ending for rule in self.rules if rule.ending is not None})
        plain = [rule for rule in self.rules if rule.literal is None and rule.ending is None]
        self._other_names = _any_of(rule.source for rule in plain if not rule.is_path)
        self._paths = _any_of(rule.source for rule in plain if rule.is_path)
        self._compiled = [(re.compile(rule.source, re.DOTALL), rule) for rule in reversed(self.rules)]

    def verdict(self, path: bytes, name: bytes, is_directory: bool) -> bool | None:
        """True for an ignored entry, False for one that is explicitly included, None if no rule matches."""
        may_match = (
            name in self._literals
            or (self._endings and name.endswith(self._endings))
            or (self._other_names is not None and self._other_names.fullmatch(name) is not None)
        )
        inner = path[len(self.base) :]
        if not may_match and (self._paths is None or self._paths.fullmatch(inner) is None):
            return None
        for pattern, rule in self._compiled:
            if rule.only_directories and not is_directory:
                continue
            if pattern.fullmatch(inner if rule.is_path else name):
                return not rule.negated
        return None


def parse_rules(data: bytes, base: str = "") -> IgnoreRules | None:
    """The rules in an ignore file, or None if it has none."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    found = []
    for line in data.split(b"\n"):
        rule = parse_rule(line.removesuffix(b"\r"))
        if rule is not None:
            found.append(rule)
            if len(found) == MAX_RULES:
                break
    return IgnoreRules(os.fsencode(base), tuple(found)) if found else None


def rules_from_patterns(patterns: Iterable[str]) -> IgnoreRules | None:
    """The rules of a list of patterns in the same syntax, relative to the root."""
    found = tuple(rule for pattern in patterns if (rule := parse_rule(os.fsencode(pattern))) is not None)
    return IgnoreRules(b"", found) if found else None


def parse_rule(line: bytes) -> IgnoreRule | None:
    """The rule in a line, or None for an empty line, a comment, or a pattern that can never match."""
    if not line or line.startswith(b"#") or len(line) > _MAX_RULE_BYTES:
        return None
    pattern = _without_trailing_spaces(line)
    negated = pattern.startswith(b"!")
    pattern = pattern[1:] if negated else pattern
    only_directories = pattern.endswith(b"/")
    pattern = pattern[:-1] if only_directories else pattern
    is_path = b"/" in pattern
    if is_path:
        pattern = pattern.removeprefix(b"/")
    if not pattern:
        return None
    special = _SPECIAL.search(pattern)
    if special is None:
        return IgnoreRule(re.escape(pattern), negated, only_directories, is_path, literal=None if is_path else pattern)
    if not is_path and pattern.startswith(b"*") and not _SPECIAL.search(pattern, 1):
        ending = pattern[1:]
        return IgnoreRule(b".*" + re.escape(ending), negated, only_directories, is_path, ending=ending)
    # As in git, the text before the first special character is compared separately: `a**/b` matches `ab`.
    rest = _to_regex(pattern[special.start() :])
    if rest is None:
        return None
    return IgnoreRule(re.escape(pattern[: special.start()]) + rest, negated, only_directories, is_path)


def _any_of(sources: Iterable[bytes]) -> re.Pattern[bytes] | None:
    joined = b"|".join(b"(?:" + source + b")" for source in sources)
    return re.compile(joined, re.DOTALL) if joined else None


def _without_trailing_spaces(line: bytes) -> bytes:
    """A line without trailing spaces. A backslash keeps the space after it."""
    end = position = 0
    while position < len(line):
        if line[position : position + 1] == b"\\":
            position += 2
            end = min(position, len(line))
        elif line[position : position + 1] == b" ":
            position += 1
        else:
            position += 1
            end = position
    return line[:end]


_FOLDERS = b"(?:|.*?/)"
_SOME_FOLDERS = b".*?/"
_REST = b".*"


def _to_regex(pattern: bytes) -> bytes | None:
    """A pattern as a regular expression, or None for a malformed one, which never matches."""
    components: list[list[bytes] | bytes] = [[b""]]
    """Each is a list of the parts of a name between its stars, or one of the constants for `**`."""
    position = 0
    while position < len(pattern):
        character = pattern[position : position + 1]
        name = components[-1]
        assert isinstance(name, list)
        if character == b"*":
            end = position + len(pattern[position:]) - len(pattern[position:].lstrip(b"*"))
            folders = _double_star(pattern, position, end)
            if folders is None:
                name.append(b"")
                position = end
            else:
                components[-1] = folders[0]
                components.append([b""])
                position = folders[1]
            continue
        if character == b"?":
            name[-1] += b"[^/]"
        elif character == b"[":
            found = _character_class(pattern, position + 1)
            if found is None:
                return None
            name[-1] += found[0]
            position = found[1]
            continue
        else:
            if character == b"\\":
                position += 1
                character = pattern[position : position + 1]
                if not character:
                    return None
            if character == b"/":
                components.append([b""])
            else:
                name[-1] += re.escape(character)
        position += 1
    return _join_components(components)


def _double_star(pattern: bytes, start: int, end: int) -> tuple[bytes, int] | None:
    """The meaning of a run of stars that is a whole path component, and the position after it."""
    if end - start < 2 or (start > 0 and pattern[start - 1 : start] != b"/"):
        return None
    if end == len(pattern):
        return _REST, end
    if pattern[end : end + 1] == b"/":
        return _FOLDERS, end + 1
    return (_SOME_FOLDERS, end + 2) if pattern[end : end + 2] == b"\\/" else None


def _join_components(components: list[list[bytes] | bytes]) -> bytes:
    """All components as one expression that is not slow for any path.

    There is a fixed number of components between two `**`, so their first match is as good as any later one, and the
    group can be atomic.
    """
    if components[-2:-1] == [_REST]:
        components = components[:-1]
    groups: list[bytes] = [b""]
    for index, component in enumerate(components):
        if isinstance(component, bytes):
            groups.append(component)
        else:
            groups[-1] += _name_regex(component) + (b"/" if index < len(components) - 1 else b"")
    first, *others = groups
    return first + b"".join(b"(?>" + group + b")" for group in others[:-1]) + (others[-1] if others else b"")


def _name_regex(pieces: list[bytes]) -> bytes:
    """The expression of one name from the parts between its stars. The groups of the stars are atomic."""
    first, *others = pieces
    inner = b"".join(b"(?>[^/]*?" + piece + b")" for piece in others[:-1])
    return first + inner + (b"[^/]*" + others[-1] if others else b"")


def _character_class(pattern: bytes, position: int) -> tuple[bytes, int] | None:
    """The expression for a set that starts at `position`, after its bracket, and the position after it.

    None if the set is not closed.
    """
    negated = pattern[position : position + 1] in (b"!", b"^")
    position += negated
    members: set[int] = set()
    previous: int | None = None
    first = True
    while first or pattern[position : position + 1] != b"]":
        first = False
        if position >= len(pattern):
            return None
        current: int | None = pattern[position]
        if current == ord("\\"):
            position += 1
            if position >= len(pattern):
                return None
            current = pattern[position]
            members.add(current)
        elif current == ord("-") and previous is not None and pattern[position + 1 : position + 2] not in (b"", b"]"):
            position += 1
            if pattern[position] == ord("\\"):
                position += 1
                if position >= len(pattern):
                    return None
            members.update(range(previous, pattern[position] + 1))
            current = None
        elif pattern[position : position + 2] == b"[:":
            end = pattern.find(b"]", position + 2)
            if end < 0:
                return None
            name = pattern[position + 2 : end]
            if not name.endswith(b":"):
                members.add(ord("["))
            else:
                if name[:-1] not in _ASCII:
                    return None
                members.update(_ASCII[name[:-1]].encode("ascii"))
                position, current = end, None
        else:
            members.add(pattern[position])
        previous = current
        position += 1
    chosen = set(range(256)) - members if negated else members
    chosen.discard(ord("/"))
    if not chosen:
        return rb"(?!)", position + 1
    return b"[" + b"".join(re.escape(_BYTES[number]) for number in sorted(chosen)) + b"]", position + 1
