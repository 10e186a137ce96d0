"""An index of the words in groups of notes. It narrows down the notes that may contain a text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice

from contextive.notes.note import Note

GROUP_SIZE = 32
"""The number of notes in a group. Larger groups make the index smaller and searches slower."""
_MAX_WORDS = 2000
_SEPARATOR = "\n"


class WordIndex:
    """For each word, the groups of notes that may contain it.

    Words are only added, never removed, so a changed note costs only its own words. A group that is returned must
    still be searched; all other groups certainly do not contain the text.
    """

    def __init__(self) -> None:
        self._groups: defaultdict[str, list[int]] = defaultdict(list)
        self._words = _SEPARATOR
        """All words, each between two line ends."""
        self._known: dict[str, tuple[Note, int]] = {}
        self._count = 0

    def group_of(self, note: Note) -> int | None:
        """The group of a note, or None if the note is not indexed yet."""
        known = self._known.get(note.path)
        return known[1] if known is not None and known[0] is note else None

    def add_notes(self, notes: Sequence[Note]) -> None:
        """Add the words of new or changed notes."""
        before = len(self._groups)
        new = []
        for note in notes:
            known = self._known.get(note.path)
            if known is None:
                new.append(note)
            elif known[0] is not note:
                self._add([note], known[1], is_new=False)
        for start in range(0, len(new), GROUP_SIZE):
            self._add(new[start : start + GROUP_SIZE], self._count, is_new=True)
            self._count += 1
        if len(self._groups) > before:
            self._words += _SEPARATOR.join(islice(self._groups, before, None)) + _SEPARATOR

    def groups_containing(self, wanted: str) -> set[int] | None:
        """The groups of the notes that may contain a text, or None for all."""
        pieces = wanted.split()
        if len(pieces) == 1:
            return self._groups_with_part(pieces[0])
        found = [
            self._groups_with_part(f"{pieces[0]}{_SEPARATOR}"),
            self._groups_with_part(f"{_SEPARATOR}{pieces[-1]}"),
        ]
        found += [set(self._groups.get(piece, ())) for piece in pieces[1:-1]]
        narrow = [groups for groups in found if groups is not None]
        return set.intersection(*narrow) if narrow else None

    def _add(self, notes: Sequence[Note], group: int, *, is_new: bool) -> None:
        words: set[str] = set()
        for note in notes:
            words.update(note.lowered.split())
            self._known[note.path] = note, group
        groups = self._groups
        for word in words:
            if is_new or group not in groups[word]:
                groups[word].append(group)

    def _groups_with_part(self, part: str) -> set[int] | None:
        """The groups of all words that contain a part, or None if there are too many to narrow anything down."""
        found: set[int] = set()
        for count, word in enumerate(self._words_with(part)):
            found.update(self._groups.get(word, ()))
            if count == _MAX_WORDS or len(found) == self._count:
                return None
        return found

    def _words_with(self, part: str) -> Iterator[str]:
        """The words that contain a part, which may start or end with a separator."""
        words = self._words
        position = words.find(part)
        while position >= 0:
            start = position + 1 if part[0] == _SEPARATOR else words.rfind(_SEPARATOR, 0, position) + 1
            end = words.find(_SEPARATOR, start)
            yield words[start:end]
            position = words.find(part, end)
