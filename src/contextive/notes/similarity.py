"""Which notes say much the same as another one: by the words that they share, rare ones counting more.

Two looks, because a base can hold tens of thousands of notes: the first asks of each note whether it holds some chosen words,
the second compares all words of those that do.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from contextive.notes.note import Note

_LEAST = 0.35
_SAMPLED = 200
_ASKED = 6
_TOO_COMMON = 0.25
_LEAST_HELD = 0.3
_MOST_COMPARED = 300


##= docs/spec/notes.md#rules-of-writing
##% A write SHOULD name the notes that say much the same, and merges nothing.
def similar_notes(note: Note, others: Iterable[Note], limit: int = 3) -> list[Note]:
    """The notes that share a good part of their words with this one, most alike first."""
    candidates = [other for other in others if other.path != note.path]
    sample = candidates[:: max(1, len(candidates) // _SAMPLED)]
    seen = Counter(word for other in sample for word in note.words & other.words)
    total = len(sample) + 1
    weight = {word: math.log(1 + total / (1 + seen[word])) for word in note.words}
    whole = sum(weight.values())
    rest = math.log(1 + total)  # a word that this note has not is taken for a rare one
    scored = []
    for other in _promising(note, candidates, _asked_words(note, seen, len(sample))):
        shared_words = note.words & other.words
        shared = sum(weight[word] for word in shared_words)
        score = shared / (whole + rest * (len(other.words) - len(shared_words))) if shared else 0.0
        if score >= _LEAST or other.lowered_title == note.lowered_title:
            scored.append((-score, other.path, other))
    scored.sort(key=lambda item: item[:2])
    return [other for _, _, other in scored[:limit]]


def _asked_words(note: Note, seen: Counter[str], sampled: int) -> list[str]:
    """Some of the note's words, from all over the alphabet: none that every other note has, if there are others."""
    words = sorted(note.words)
    telling = [word for word in words if seen[word] <= max(1, _TOO_COMMON * sampled)] or words
    return telling[:: max(1, len(telling) // _ASKED)][:_ASKED]


def _promising(note: Note, candidates: Sequence[Note], asked: Sequence[str]) -> list[Note]:
    """The notes of the same title, and those that hold most of the asked words."""
    least = max(1, math.ceil(_LEAST_HELD * len(asked)))
    twins = [other for other in candidates if other.lowered_title == note.lowered_title]
    if len(candidates) <= _MOST_COMPARED:
        return list(candidates)
    held: list[tuple[int, Note]] = []
    for other in candidates:
        text = other.lowered
        count = sum([word in text for word in asked])
        if count >= least:
            held.append((count, other))
    held.sort(key=lambda item: -item[0])
    return [*twins, *(other for _, other in held[:_MOST_COMPARED] if other.lowered_title != note.lowered_title)]
