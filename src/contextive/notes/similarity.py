"""Find notes that are similar to another one, by shared words. Rare words count more.

There may be tens of thousands of notes, so this takes two passes: the first finds the notes with some chosen words,
the second compares all words of these notes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from contextive.notes.note import Note

_MIN_SCORE = 0.35
_SAMPLE_SIZE = 200
_RARE = 1
"""A word is rare if this number of sampled notes contains it. A word in none of them may be in this note only."""
_RARE_PROBE_COUNT = 4
_PROBE_COUNT = 6
_TOO_COMMON = 0.25
_MIN_PROBE_SHARE = 0.3
_MAX_COMPARED = 300


##= docs/spec/notes.md#writing-rules
##% The answer to a write SHOULD name notes with similar content, without merging them.
def similar_notes(note: Note, others: Iterable[Note], limit: int = 3) -> list[Note]:
    """The notes that share many words with this one, most similar first."""
    candidates = [other for other in others if other.path != note.path]
    sample = candidates[:: max(1, len(candidates) // _SAMPLE_SIZE)]
    seen = Counter(word for other in sample for word in note.words & other.words)
    total = len(sample) + 1
    weight = {word: math.log(1 + total / (1 + seen[word])) for word in note.words}
    whole = sum(weight.values())
    rest = math.log(1 + total)  # words that this note does not have count as rare
    scored = []
    for other in _filter_candidates(note, candidates, *_probe_words(note, seen, len(sample))):
        shared_words = note.words & other.words
        shared = sum(weight[word] for word in shared_words)
        score = shared / (whole + rest * (len(other.words) - len(shared_words))) if shared else 0.0
        if score >= _MIN_SCORE or other.lowered_title == note.lowered_title:
            scored.append((-score, other.path, other))
    scored.sort(key=lambda item: item[:2])
    return [other for _, _, other in scored[:limit]]


def _probe_words(note: Note, seen: Counter[str], sampled: int) -> tuple[list[str], int]:
    """Some words of the note, and how many of them another note must contain to be compared.

    Each word costs a pass over the texts of all notes. Rare words need few passes, because a note with one of them is
    worth comparing; common words are significant only together.
    """
    words = sorted(note.words)
    rare = [word for word in words if seen[word] == _RARE]
    if len(rare) >= _RARE_PROBE_COUNT:
        return _spread(rare, _RARE_PROBE_COUNT), 1
    informative = [word for word in words if seen[word] <= max(1, _TOO_COMMON * sampled)] or words
    probes = _spread(informative, _PROBE_COUNT)
    return probes, max(1, math.ceil(_MIN_PROBE_SHARE * len(probes)))


def _spread(words: Sequence[str], count: int) -> list[str]:
    """`count` of the words, spread over the alphabet."""
    return list(words[:: max(1, len(words) // count)][:count])


def _filter_candidates(note: Note, candidates: Sequence[Note], probes: Sequence[str], least: int) -> list[Note]:
    """The notes with the same title, and the notes with the most probe words and at least `least` of them."""
    if len(candidates) <= _MAX_COMPARED:
        return list(candidates)
    counts = [0] * len(candidates)
    texts = [other.lowered for other in candidates]
    for word in probes:
        counts = [count + (word in text) for count, text in zip(counts, texts, strict=True)]
    matching = [number for number, count in enumerate(counts) if count >= least]
    matching.sort(key=lambda number: -counts[number])
    title = note.lowered_title
    same_title = [other for other in candidates if other.lowered_title == title]
    return [*same_title, *(candidates[n] for n in matching[:_MAX_COMPARED] if candidates[n].lowered_title != title)]
