"""Split code into chunks at its symbols."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from contextive.knowledge.chunk import ChunkDraft
from contextive.knowledge.lines import MAX_CHUNK_CHARACTERS, TextLines, indent_cost, split_range
from contextive.knowledge.symbol import Symbol
from contextive.knowledge.windows import cut_line

_MAX_TRIVIAL = 200
"""Consecutive symbols shorter than this number of characters share a chunk."""
_MAX_SCRAP = 80
"""Text between symbols joins one of them if it is shorter than this: an opening line, a closing bracket."""
_MAX_TITLE = 200
_CLASS_LIKE = frozenset({"class", "interface", "type"})
_WORD = re.compile(r"\w")
_HASH_LEADS = ("#", "@")
_SLASH_LEADS = ("//", "/*", "*", "#[", "@")
_PLAIN_STEMS = frozenset({"__init__", "__main__", "index", "mod", "main", "lib"})


@dataclass(frozen=True, slots=True)
class _Block:
    """A range of lines that belong together. `members` are the symbols inside, outer ones first."""

    first: int
    stop: int
    names: tuple[str, ...]
    container: str
    symbol: Symbol | None = None
    members: tuple[Symbol, ...] = ()


def cut_code(path: str, lines: TextLines, language: str, symbols: Sequence[Symbol]) -> Iterator[ChunkDraft]:
    """One chunk per symbol. A class longer than `MAX_CHUNK_CHARACTERS` is split into its head and its members.

    Text between symbols gets chunks too.
    """
    leads = _HASH_LEADS if language == "python" else _SLASH_LEADS
    ordered = sorted(symbols, key=lambda symbol: (symbol.line_start, -symbol.line_end))
    blocks = _attach_scraps(lines, list(_expand(lines, ordered, leads)))
    cost = indent_cost(lines)
    stem = display_stem(path)
    for block in _merge_trivial(lines, blocks):
        title = f"{_join_names(block.names)} ({stem})" if block.names else stem
        for first, stop in split_range(lines, block.first, block.stop, cost):
            first, stop = lines.trim(first, stop)
            if stop == first + 1 and lines.size(first, stop) > MAX_CHUNK_CHARACTERS:
                yield from cut_line(lines, first, title)
            elif first < stop:
                yield ChunkDraft("code", title, first, stop, lines.text(first, stop))


def display_stem(path: str) -> str:
    """The name of a file without its suffix. Generic names such as `index` include the folder."""
    folder, name = posixpath.split(path)
    stem = name.partition(".")[0] or name
    return f"{posixpath.basename(folder)}/{stem}" if stem in _PLAIN_STEMS and folder else stem


def _join_names(names: Sequence[str]) -> str:
    text = ", ".join(dict.fromkeys(names))
    return text if len(text) <= _MAX_TITLE else text[: _MAX_TITLE - 1].rpartition(", ")[0] + ", …"


def _expand(lines: TextLines, symbols: Sequence[Symbol], leads: tuple[str, ...]) -> Iterator[_Block]:
    """The blocks of a file by line. Classes that are too large are split."""
    end = len(lines.items)
    waiting = list(reversed(list(_blocks(lines, 0, end, symbols, "", leads))))
    while waiting:
        block = waiting.pop()
        symbol = block.symbol
        if symbol is None or not block.members or not _is_divisible(lines, block, symbol):
            yield block
            continue
        inner = _blocks(lines, block.first, block.stop, block.members, symbol.qualified_name, leads)
        waiting.extend(reversed(list(inner)))


def _is_divisible(lines: TextLines, block: _Block, symbol: Symbol) -> bool:
    return symbol.kind in _CLASS_LIKE and lines.size(block.first, block.stop) > MAX_CHUNK_CHARACTERS


def _blocks(
    lines: TextLines, first: int, stop: int, symbols: Sequence[Symbol], container: str, leads: tuple[str, ...]
) -> Iterator[_Block]:
    """The outermost of these symbols in a range, and the text between them, as blocks."""
    around = (container,) if container else ()
    number = 0
    while number < len(symbols):
        symbol = symbols[number]
        start, end = min(symbol.line_start - 1, stop), min(symbol.line_end, stop)
        number += 1
        names = [symbol.qualified_name]
        members: list[Symbol] = []
        while number < len(symbols) and symbols[number].line_start <= end:
            member = symbols[number]
            number += 1
            members.append(member)
            if member.line_end > end:  # it starts on the last line of the previous symbol
                end = min(member.line_end, stop)
                names.append(member.qualified_name)
        start = _comment_start(lines, max(first, min(start, end)), first, leads)
        if start > first:
            yield _Block(first, start, around, container)
        if end > start:
            is_single = len(names) == 1
            yield _Block(start, end, tuple(names), container, symbol, tuple(members) if is_single else ())
        first = max(first, end)
    if first < stop:
        yield _Block(first, stop, around, container)


def _comment_start(lines: TextLines, start: int, lowest: int, leads: tuple[str, ...]) -> int:
    """The first line of the comments directly above a line."""
    while start > lowest:
        above = lines.items[start - 1].strip()
        if above.endswith("*/") and leads is _SLASH_LEADS:
            opening = start - 1
            while opening > lowest and "/*" not in lines.items[opening]:
                opening -= 1
            if not lines.items[opening].lstrip().startswith("/*"):
                return start
            start = opening
        elif above.startswith(leads):
            start -= 1
        else:
            return start
    return start


def _attach_scraps(lines: TextLines, blocks: list[_Block]) -> list[_Block]:
    """The non-blank blocks, with each scrap joined to the block that it opens or closes."""
    joined: list[_Block] = []
    opening: _Block | None = None
    for block in blocks:
        first, stop = lines.trim(block.first, block.stop)
        if first == stop:
            continue
        if block.symbol is None and lines.size(first, stop) < _MAX_SCRAP:
            if joined and opening is None and not _WORD.search(lines.text(first, stop)):
                joined[-1] = replace(joined[-1], stop=stop)
            else:
                opening = replace(block, first=opening.first if opening else first, stop=stop)
            continue
        if opening is not None:
            first, names = opening.first, (*opening.names, *block.names)
            opening = None
        else:
            names = block.names
        joined.append(replace(block, first=first, stop=stop, names=names))
    if opening is not None:
        if joined:
            joined[-1] = replace(joined[-1], stop=opening.stop)
        else:
            joined.append(opening)
    return joined


def _merge_trivial(lines: TextLines, blocks: list[_Block]) -> Iterator[_Block]:
    """The blocks, with consecutive trivial symbols merged."""
    current: _Block | None = None
    for block in blocks:
        is_trivial = block.symbol is not None and lines.size(block.first, block.stop) < _MAX_TRIVIAL
        if (
            current is not None
            and is_trivial
            and current.container == block.container
            and lines.size(current.first, block.stop) <= MAX_CHUNK_CHARACTERS
        ):
            current = replace(current, stop=block.stop, names=(*current.names, *block.names))
            continue
        if current is not None:
            yield current
        current = block if is_trivial else None
        if not is_trivial:
            yield block
    if current is not None:
        yield current
