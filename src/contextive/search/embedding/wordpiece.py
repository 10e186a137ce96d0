"""The WordPiece tokeniser of BERT's uncased models. It needs only the vocabulary."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

MAX_WORD_LENGTH: Final = 100
"""A longer word becomes one unknown piece, as in the training of the model."""
MAX_CACHED_WORDS: Final = 50_000


class WordPiece:
    """The tokeniser of one vocabulary."""

    def __init__(self, vocabulary: Sequence[str], max_pieces: int) -> None:
        self._numbers = {piece: number for number, piece in enumerate(vocabulary)}
        self._unknown = self._numbers["[UNK]"]
        self._first = self._numbers["[CLS]"]
        self._last = self._numbers["[SEP]"]
        self._longest = max(map(len, vocabulary))
        self._max_pieces = max_pieces
        self._cache: dict[str, tuple[int, ...]] = {}

    def encode(self, text: str) -> list[int]:
        """The piece numbers of a text between [CLS] and [SEP], cut at the limit."""
        limit = self._max_pieces - 2
        numbers: list[int] = []
        # A piece rarely covers more than MAX_WORD_LENGTH characters and a space, so the rest would be cut off anyway.
        for word in split_words(text[: limit * (MAX_WORD_LENGTH + 1)]):
            numbers.extend(self._pieces(word))
            if len(numbers) >= limit:
                break
        return [self._first, *numbers[:limit], self._last]

    def _pieces(self, word: str) -> tuple[int, ...]:
        pieces = self._cache.get(word)
        if pieces is None:
            pieces = self._match(word)
            if len(self._cache) >= MAX_CACHED_WORDS:
                self._cache.clear()
            self._cache[word] = pieces
        return pieces

    def _match(self, word: str) -> tuple[int, ...]:
        """The longest matching piece from the left, repeatedly. If no piece matches, the whole word is unknown."""
        if len(word) > MAX_WORD_LENGTH:
            return (self._unknown,)
        numbers: list[int] = []
        start = 0
        while start < len(word):
            for end in range(min(len(word), start + self._longest), start, -1):
                piece = word[start:end] if start == 0 else f"##{word[start:end]}"
                number = self._numbers.get(piece)
                if number is not None:
                    numbers.append(number)
                    start = end
                    break
            else:
                return (self._unknown,)
        return tuple(numbers)


def split_words(text: str) -> list[str]:
    """Lower-cased words without accents; each punctuation mark and each Chinese character is a separate word."""
    if not text.isascii():
        text = "".join(map(_clean, text))
        text = "".join(char for char in unicodedata.normalize("NFD", text) if unicodedata.category(char) != "Mn")
        # Lower-casing letter by letter: str.lower would change a sigma at the end of a word.
        text = "".join(map(str.lower, text))
        return [word for word in "".join(map(_space_punctuation, text)).split(" ") if word]
    return text.translate(_ASCII).split()


@lru_cache(maxsize=8192)
def _clean(letter: str) -> str:
    code = ord(letter)
    if letter in "\t\n\r" or (letter.isspace() and unicodedata.category(letter) != "Cc"):
        return " "
    if code in (0, 0xFFFD) or unicodedata.category(letter).startswith("C"):
        return ""
    return f" {letter} " if _is_chinese(code) else letter


@lru_cache(maxsize=8192)
def _space_punctuation(letter: str) -> str:
    code = ord(letter)
    is_mark = 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126
    return f" {letter} " if is_mark or unicodedata.category(letter).startswith("P") else letter


def _is_chinese(code: int) -> bool:
    return (
        0x4E00 <= code <= 0x9FFF
        or 0x3400 <= code <= 0x4DBF
        or 0x20000 <= code <= 0x2A6DF
        or 0x2A700 <= code <= 0x2B73F
        or 0x2B740 <= code <= 0x2B81F
        or 0x2B820 <= code <= 0x2CEAF
        or 0xF900 <= code <= 0xFAFF
        or 0x2F800 <= code <= 0x2FA1F
    )


_ASCII = {code: "".join(map(_space_punctuation, _clean(chr(code)).lower())) for code in range(128)}
