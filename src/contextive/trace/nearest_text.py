"""What a wrong citation probably means: the section with its quote, the section with a similar name, a similar text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher, get_close_matches

from contextive.trace.catalog import SpecificationEntry, TraceCatalog
from contextive.trace.specification import Format, Section, Specification, slug
from contextive.trace.text import normalise, trim

_WORD = re.compile(r"\w+")
_SENTENCE_END = re.compile(r"(?<=\.)\s+")
_LABEL_WORD = re.compile(r"[`\[(*]{0,3}([A-Za-z][\w.-]{1,300}+)")
_LABEL_NUMBER = re.compile(r"[0-9]\w{0,16}\Z")
_BULLET = re.compile(r"\A(?:[*+\u2022-]|o)\s+")
_NUMBERED = re.compile(r"(?:section|appendix|sec)?[-. _]?[A-Za-z]?[.]?[0-9]+(?:[.][0-9]+)*[.]?\Z", re.IGNORECASE)
_MIN_SIMILARITY = 0.55
_MAX_COMPARED = 500
"""How many characters of two sentences are compared: the time grows with the square."""
_MAX_SENTENCES = 12
_MAX_COMPARED_WORDS = 200


def find_quote_anywhere(quote: str, catalog: TraceCatalog) -> tuple[SpecificationEntry, Section] | None:
    """The specification and section that contain a quote."""
    for entry in catalog.specifications.values() if quote else ():
        section = section_containing(entry, quote)
        if section is not None:
            return entry, section
    return None


def section_containing(entry: SpecificationEntry, quote: str) -> Section | None:
    """The first section of a specification that contains a quote."""
    needle = normalise(quote)
    for section, text in _normalised_sections(entry.specification):
        if needle and needle in text:
            return section
    return None


def likely_section(entry: SpecificationEntry | None, quote: str) -> str:
    """The id of the section that contains a quote, or that has the text with its label; empty if there is none."""
    if entry is None or not quote:
        return ""
    found = section_containing(entry, quote)
    if found is None and (label := label_of(quote)):
        found = next((section for section, _ in _labelled_blocks(entry, label)), None)
    return found.id if found is not None else ""


def nearest_section(entry: SpecificationEntry | None, wanted: str) -> str:
    """The id of the section that a wrong id means: by its title, or by its spelling. Numbers are never guessed."""
    if entry is None:
        return ""
    sections, name = entry.specification.sections, slug(wanted)
    if entry.specification.format is Format.IETF and _NUMBERED.match(wanted.strip()):
        return ""  # another number is another section
    titles = [(slug(section.title), section.id) for section in sections]
    for title, section_id in titles:
        if name and (title == name or f"-{name}-" in f"-{title}-"):
            return section_id
    close_ids = get_close_matches(wanted, list(entry.specification.by_id), n=1, cutoff=0.6)
    if close_ids and entry.specification.format is not Format.IETF:
        return close_ids[0]
    close_titles = get_close_matches(name, [title for title, _ in titles], n=1, cutoff=0.6)
    return next((section_id for title, section_id in titles if close_titles and title == close_titles[0]), "")


def label_of(quote: str) -> str:
    """The identifier that the authors of a specification wrote before a requirement, such as `REQ-12`; empty if none."""
    found = _LABEL_WORD.match(quote)
    if found is None:
        return ""
    word = found[1].rstrip(".")
    number = word[max(word.rfind(mark) for mark in "-_.") + 1 :]
    return word if len(number) < len(word) and _LABEL_NUMBER.match(number) else ""


##= docs/spec/trace.md#validate-citation
##% A corrected citation MUST have the type of the wrong one and, if its quote begins with an identifier, the same
##% identifier.
def nearest_passage(quote: str, entry: SpecificationEntry, section: Section) -> tuple[str, Section]:
    """The text that is most similar to a wrong quote, and its section, which is searched first."""
    label = label_of(quote)
    if label:
        for found_section, sentences in _labelled_blocks(entry, label, first=section):
            return _most_similar_start(quote, sentences), found_section
    sentence, found_section = _nearest_sentence(quote, entry, section)
    if label and label not in sentence:
        return "", section
    if sentence and len(_SENTENCE_END.split(quote)) > 1:
        block = next((block for block in _blocks(entry, found_section) if sentence in block), [sentence])
        return _most_similar_start(quote, block[block.index(sentence) :]), found_section
    return sentence, found_section


def _labelled_blocks(
    entry: SpecificationEntry, label: str, first: Section | None = None
) -> Iterator[tuple[Section, list[str]]]:
    """The paragraphs and list items that begin with a label, from the label on."""
    for section in (*([first] if first is not None else ()), *entry.specification.sections):
        for block in _blocks(entry, section):
            for number, sentence in enumerate(block):
                if label in sentence and label_of(sentence) == label:
                    yield section, block[number:]


def _most_similar_start(quote: str, sentences: Sequence[str]) -> str:
    """As many of the sentences as are most similar to the quote together."""
    best, best_score, words = sentences[0], 0.0, quote.split()[:_MAX_COMPARED_WORDS]
    for count in range(1, min(len(sentences), _MAX_SENTENCES) + 1):
        if count > 1 and label_of(sentences[count - 1]):
            break  # the next requirement
        passage = " ".join(sentences[:count])
        score = SequenceMatcher(None, words, passage.split()[:_MAX_COMPARED_WORDS], autojunk=False).ratio()
        if score > best_score:
            best, best_score = passage, score
    return best


def _nearest_sentence(quote: str, entry: SpecificationEntry, section: Section) -> tuple[str, Section]:
    """The sentence that is most similar to a wrong quote, searched for in its own section first."""
    words = set(_WORD.findall(quote.lower()))
    best, best_score, found_section = "", 0.0, section
    for candidate_section in (section, *entry.specification.sections):
        for sentence, other in _words_of_sentences(entry, candidate_section):
            overlap = len(words & other) / (len(words | other) or 1)
            if overlap * 1.5 <= best_score:
                continue
            matcher = SequenceMatcher(None, quote[:_MAX_COMPARED], sentence[:_MAX_COMPARED], autojunk=False)
            score = (overlap + matcher.ratio()) / 2
            if score > best_score:
                best, best_score, found_section = sentence, score, candidate_section
        if candidate_section is section and best_score >= _MIN_SIMILARITY:
            break
    return (best, found_section) if best_score >= _MIN_SIMILARITY else ("", section)


def _normalised_sections(specification: Specification) -> list[tuple[Section, str]]:
    """Each section with its normalised text, cached with the specification."""
    known = specification._cache.get("normalised sections")
    if not isinstance(known, list):
        known = [(section, normalise(section.content())) for section in specification.sections]
        specification._cache["normalised sections"] = known
    return known


def _words_of_sentences(entry: SpecificationEntry, section: Section) -> list[tuple[str, frozenset[str]]]:
    """Each sentence of a section with its words, cached with the specification."""
    cache, key = entry.specification._cache, ("sentences", section.id)
    known = cache.get(key)
    if not isinstance(known, list):
        known = [(s, frozenset(_WORD.findall(s.lower()))) for block in _blocks(entry, section) for s in block]
        cache[key] = known
    return known


def _blocks(entry: SpecificationEntry, section: Section) -> list[list[str]]:
    """The sentences of each paragraph or list item, without its bullet; cached with the specification."""
    cache, key = entry.specification._cache, ("blocks", section.id)
    known = cache.get(key)
    if not isinstance(known, list):
        known = cache[key] = list(_split_blocks(section))
    return known


def _split_blocks(section: Section) -> Iterator[list[str]]:
    paragraph: list[str] = []
    for line in [*section.lines, None]:
        if line is not None and trim(line.text):
            paragraph.append(trim(line.text))
            continue
        if paragraph:
            text = _BULLET.sub("", " ".join(paragraph), count=1)
            yield [part for part in map(trim, _SENTENCE_END.split(text)) if part]
            paragraph = []
