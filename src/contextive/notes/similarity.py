"""Which notes say much the same as another one: by the words that they share, rare ones counting more."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from contextive.notes.note import Note

_LEAST = 0.35


def similar_notes(note: Note, others: Iterable[Note], limit: int = 3) -> list[Note]:
    """The notes that share a good part of their words with this one, most alike first."""
    candidates = [other for other in others if other.path != note.path]
    counts = Counter(word for other in candidates for word in other.words if word in note.words)
    total = len(candidates) + 1
    weight = {word: math.log(1 + total / (1 + counts[word])) for word in note.words}
    whole = sum(weight.values())
    rest = math.log(1 + total)  # a word that this note has not is taken for a rare one
    scored = []
    for other in candidates:
        shared_words = note.words & other.words
        shared = sum(weight[word] for word in shared_words)
        score = shared / (whole + rest * (len(other.words) - len(shared_words))) if shared else 0.0
        if score >= _LEAST or other.lowered_title == note.lowered_title:
            scored.append((-score, other.path, other))
    scored.sort(key=lambda item: item[:2])
    return [other for _, _, other in scored[:limit]]
