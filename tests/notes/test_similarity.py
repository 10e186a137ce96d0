"""Similar notes."""

from __future__ import annotations

import random

from contextive.notes.similarity import similar_notes
from tests.notes.catalogs import catalog_of


def test_notes_that_share_most_words_are_similar() -> None:
    body = "The deployment pipeline builds images, runs checks, and promotes releases every Monday."
    catalog = catalog_of({"a.md": body, "b.md": f"{body} Mostly.", "c.md": "Recipes for bread with flour and water."})
    assert [note.slug for note in similar_notes(catalog.notes[0], catalog.notes)] == ["b"]
    assert similar_notes(catalog.notes[2], catalog.notes) == []


def test_a_similar_note_is_found_among_many() -> None:
    rng = random.Random(5)
    texts = {f"n{i}.md": " ".join(f"word{rng.randrange(400)}x" for _ in range(30)) for i in range(900)}
    twin = texts["n444.md"] + " and a few words of its own"
    catalog = catalog_of(texts | {"twin.md": twin})
    note = catalog.get("twin")
    assert note is not None
    assert similar_notes(note, catalog.notes)[0].slug == "n444"


def test_a_similar_note_is_found_among_many_with_rare_words() -> None:
    """With rare words only a few are probed, and each of them is enough to find a similar note."""
    rng = random.Random(7)
    texts = {f"n{i}.md": " ".join(f"word{rng.randrange(12_000)}x" for _ in range(80)) for i in range(1_500)}
    for number in range(40):
        words = texts[f"n{number}.md"].split()
        own = [word if rng.random() < 0.8 else f"own{at}x" for at, word in enumerate(words)]
        texts[f"twin{number}.md"] = " ".join(own)
    catalog = catalog_of(texts)
    found = 0
    for number in range(40):
        twin = catalog.get(f"twin{number}")
        assert twin is not None
        found += [note.slug for note in similar_notes(twin, catalog.notes)] == [f"n{number}"]
    assert found >= 38
