"""Split text and code into the tokens of the lexical index and its queries.

Documents and queries follow the same rules, and stores never tokenise by themselves, so every store returns the same
results. An identifier is kept whole and also split: `gatherAll` becomes `gatherall`, `gather` and (if it were not a
stop word) `all`; `src/a/b.py` becomes itself, `src`, `a`, `b.py`, `b` and `py`. Digits stay with their letters: `s2n`
is one word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple

import Stemmer  # type: ignore[import-not-found]

MAX_TOKEN_LENGTH: Final = 64
MAX_COMPOUND_PARTS: Final = 16
CACHE_LIMIT: Final = 100_000
"""The limit of cached pieces of text, about 30 MB at most. The cache is emptied when it is full."""
_CACHED_WORDS: Final = 16_384

_STOP_WORDS_TEXT = """
    a about after again all also am an and any are as at be because been before being both but by can cannot could did do
    does doing done for from further had has have having he her here hers him his how i if in into is it its itself just
    let may me might more most must my no nor not of off on once only or other our ours out over own same she should so
    some such than that the their theirs them then there these they this those through to too under until up us very was
    we were what when where which while who whom whose why will with would you your yours
    self cls
"""
STOP_WORDS: Final = frozenset(_STOP_WORDS_TEXT.split())
"""Words that say nothing about the topic of a text. `self` and `cls` are the articles of Python."""

# Marks of Indic and Thai scripts belong to the word, though `\w` does not match them.
_LETTER = "\\w\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0963\u0966-\u0dff\u0e00-\u0e7f"
_RAW_WORD = re.compile(f"[{_LETTER}]+(?:(?:[-./]|::)[{_LETTER}]+)*")
_BLANKS = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) in "-./:_")}
_SEPARATORS = ("/", "::", ".", "-", "_")
_CAMEL_EDGE = re.compile(
    r"(?<=[a-z])(?=[A-Z])"
    r"|(?<=[A-Z])(?=[A-Z](?!s(?![a-z]))[a-z])"
    r"|(?:(?<=[A-Za-z][0-9])|(?<=[A-Za-z][0-9]{2})|(?<=[A-Za-z][0-9]{3})|(?<=[A-Za-z][0-9]{4}))(?=[A-Z][a-z])"
)
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_CJK_RUN = re.compile(f"([{_CJK}]+)")
_OWNER = re.compile(r"(?:self|cls|this)\.")


class _WordTokens(NamedTuple):
    """The tokens of one raw word."""

    tokens: tuple[str, ...]
    """Everything but stop words."""
    stop_words: tuple[str, ...]
    wholes: tuple[str, ...]
    """The tokens that are a whole identifier of several parts, or mix letters and digits."""


class _TokenCache(dict[str, tuple[str, ...]]):
    """The tokens of recently seen pieces of text. A lookup of a cached piece makes no Python call."""

    def __missing__(self, piece: str) -> tuple[str, ...]:
        if piece.isalnum():
            tokens = _split_simple_word(piece).tokens
        else:
            found: list[str] = []
            for raw in _RAW_WORD.findall(piece):
                _split(_OWNER.sub("", raw) if "." in raw else raw, found, [], [])
            tokens = tuple(found)
        if len(self) >= CACHE_LIMIT:
            self.clear()
        if len(piece) <= 2 * MAX_TOKEN_LENGTH:
            self[piece] = tokens
        return tokens


_token_cache: Final = _TokenCache()
_tokens_of: Final = _token_cache.__getitem__


##= docs/spec/knowledge.md#ranking
##% An identifier MUST be found as a whole and by its words, in any naming style.
def tokenise(text: str) -> list[str]:
    """The tokens of a document in order, with repetitions, without stop words."""
    return list(chain.from_iterable(map(_tokens_of, _pieces(text))))


def tokenise_joined(text: str) -> str:
    """The tokens of a document, joined by spaces. No token contains a space."""
    return " ".join(chain.from_iterable(map(_tokens_of, _pieces(text))))


def terms_by_line(lines: Sequence[str], terms: Collection[str]) -> list[frozenset[str]]:
    """The terms that each line contains."""
    wanted = frozenset(terms)
    return [wanted.intersection(chain.from_iterable(map(_tokens_of, _pieces(line)))) for line in lines]


def query_terms(text: str) -> tuple[str, ...]:
    """The distinct tokens of a query in order. Stop words are left out unless there is nothing else."""
    found = [_split_raw_word(raw) for raw in _raw_words(text)]
    terms = dict.fromkeys(token for words in found for token in words.tokens)
    return tuple(terms or dict.fromkeys(token for words in found for token in words.stop_words))


def split_query(text: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Each word of a query in lower case with its tokens: an identifier of several words as a whole, then its words."""
    return tuple((raw.lower(), _split_raw_word(raw).tokens) for raw in _raw_words(text))


def query_identifiers(text: str) -> tuple[str, ...]:
    """The distinct identifiers of a query in lower case: words with `_`, `.`, `/`, `-`, inner capitals or digits."""
    return tuple(dict.fromkeys(whole for raw in _raw_words(text) for whole in _split_raw_word(raw).wholes))


def unstemmed_words(text: str) -> tuple[str, ...]:
    """The distinct words of a query that stemming changes: `gatherall` may stand for the identifier `gatherAll`."""
    words = dict.fromkeys(raw.lower() for raw in _raw_words(text) if raw.isascii() and raw.isalpha())
    return tuple(word for word in words if word not in STOP_WORDS and _stem(word) != word)


def _pieces(text: str) -> list[str]:
    """The text in pieces that no raw word crosses. ASCII uses a fast split, whose pieces may have extra punctuation."""
    return text.translate(_BLANKS).split() if text.isascii() else _raw_words(text)


def _raw_words(text: str) -> list[str]:
    found: list[str] = _RAW_WORD.findall(text if text.isascii() else unicodedata.normalize("NFKC", text))
    return found


@lru_cache(maxsize=1024)
def _split_raw_word(raw: str) -> _WordTokens:
    tokens: list[str] = []
    stop_words: list[str] = []
    wholes: list[str] = []
    _split(_OWNER.sub("", raw), tokens, stop_words, wholes)
    return _WordTokens(tuple(tokens), tuple(stop_words), tuple(wholes))


def _split(word: str, tokens: list[str], stop_words: list[str], wholes: list[str]) -> None:
    """Add an identifier as a whole, then its parts, from the widest separator to the narrowest."""
    for separator in _SEPARATORS:
        if separator not in word:
            continue
        parts = [part for part in word.split(separator) if part]
        whole = word.casefold()
        is_number = all(part.isdigit() for part in parts)
        if len(parts) <= MAX_COMPOUND_PARTS and whole.strip("_"):
            tokens.append(whole[:MAX_TOKEN_LENGTH])
            wholes.append(whole[:MAX_TOKEN_LENGTH])
        if not is_number or len(parts) > MAX_COMPOUND_PARTS:
            for part in parts:
                _split(part, tokens, stop_words, wholes)
        return
    # Most identifiers are new, but the words they are made of repeat, so only words are cached.
    simple = _split_simple_word(word)
    tokens += simple.tokens
    stop_words += simple.stop_words
    wholes += simple.wholes


@lru_cache(maxsize=_CACHED_WORDS)
def _split_simple_word(word: str) -> _WordTokens:
    """The tokens of a word without separators."""
    tokens: list[str] = []
    stop_words: list[str] = []
    wholes: list[str] = []
    if not word.isascii():
        _split_scripts(word, tokens, stop_words)
        return _WordTokens(tuple(tokens), tuple(stop_words), ())
    parts = _CAMEL_EDGE.split(word) if len(word) <= MAX_TOKEN_LENGTH else [word]
    whole = word.lower()[:MAX_TOKEN_LENGTH]
    if len(parts) > 1:
        tokens.append(whole)
        wholes.append(whole)
    elif not word.isalpha() and not word.isdigit():
        wholes.append(whole)
    for part in parts:
        _add_word(part.lower(), tokens, stop_words)
    return _WordTokens(tuple(tokens), tuple(stop_words), tuple(wholes))


def _split_scripts(word: str, tokens: list[str], stop_words: list[str]) -> None:
    """Add the tokens of a non-ASCII word. In scripts without spaces, every two adjacent characters are a token."""
    for run in _CJK_RUN.split(word):
        if not run:
            continue
        if not _CJK_RUN.match(run):
            _add_word(run.casefold(), tokens, stop_words)
        elif len(run) == 1:
            tokens.append(run)
        else:
            tokens.extend(run[at : at + 2] for at in range(len(run) - 1))


def _add_word(word: str, tokens: list[str], stop_words: list[str]) -> None:
    if word in STOP_WORDS:
        stop_words.append(word)
    elif word.isascii() and word.isalpha():
        tokens.append(_stem(word[:MAX_TOKEN_LENGTH]))
    else:
        tokens.append(word[:MAX_TOKEN_LENGTH])


@lru_cache(maxsize=CACHE_LIMIT)
def _stem(word: str) -> str:
    # A stemmer has state, so threads must not share one. Creating one takes less than a microsecond.
    stem: str = Stemmer.Stemmer("english", 0).stemWord(word)
    return stem
