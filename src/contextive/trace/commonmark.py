"""The block parser: markdown-it, with lazy continuation lines as CommonMark has them.

markdown-it measures the indent of a line that falls out of a list item from that item. CommonMark measures it from the
container that the line is still in: with four columns or more it opens nothing, and continues the paragraph.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock

_Rule = Callable[[StateBlock, int, int, bool], bool]
_INTERRUPTING = ("fence", "blockquote", "hr", "list", "html_block", "heading")
_INDENTS = "container indents"
_OPENING = frozenset("`~>*-_+<#0123456789")
"""The characters with which a line can begin that opens something inside a paragraph."""
_NO_PROSE_FIRST = _OPENING | {"["}
_NO_PROSE_LATER = _OPENING | {"="}
_UNDERLINE_LINES = 32
"""So far an underline is looked for before the rule itself is asked. Each item of a long list would look through all others."""


@cache
def block_parser() -> MarkdownIt:
    """A parser for block structure alone. The content of paragraphs stays as it is; plain ones at the top give no tokens."""
    parser = MarkdownIt("commonmark", {"maxNesting": 100})
    parser.core.ruler.disable(["inline", "text_join"])
    ruler = parser.block.ruler
    for rule in list(ruler.__rules__):
        if rule.name in _INTERRUPTING:
            changed = _unless_lazy(rule.fn)
            ruler.at(rule.name, _remembering_indent(changed) if rule.name == "list" else changed, {"alt": rule.alt})
        elif rule.name == "lheading":
            ruler.at(rule.name, _if_underlined(rule.fn), {"alt": rule.alt})
    ruler.before("code", "prose", _skip_plain_paragraph)
    return parser


def _skip_plain_paragraph(state: StateBlock, line: int, end: int, _silent: bool) -> bool:
    """Pass over a paragraph outside of any container whose lines can neither open nor underline anything.

    Most of a specification is that, and all the other rules together would come to the same end: the next blank line.
    """
    if state.level or state.sCount[line] > 3 or _first(state, line) in _NO_PROSE_FIRST:
        return False
    source, begins, shifts, ends = state.src, state.bMarks, state.tShift, state.eMarks
    later = line + 1
    while later < end and (at := begins[later] + shifts[later]) < ends[later]:
        if source[at] in _NO_PROSE_LATER:
            return False
        later += 1
    state.line = later
    return True


def _unless_lazy(rule: _Rule) -> _Rule:
    def changed(state: StateBlock, line: int, end: int, silent: bool) -> bool:
        if _first(state, line) not in _OPENING:
            return False  # most lines of prose: no need to ask
        if silent and state.parentType != "list" and _is_lazy(state, line):
            return False
        return rule(state, line, end, silent)

    return changed


def _if_underlined(rule: _Rule) -> _Rule:
    """The rule of underlined headings, asked only where an underline may stand before the paragraph ends."""

    def changed(state: StateBlock, line: int, end: int, silent: bool) -> bool:
        for later in range(line + 1, min(end, line + _UNDERLINE_LINES)):
            first = _first(state, later)
            if first in ("=", "-"):
                return rule(state, line, end, silent)
            if not first:
                return False
        return end > line + _UNDERLINE_LINES and rule(state, line, end, silent)

    return changed


def _first(state: StateBlock, line: int) -> str:
    """The first character of a line that is no white space; nothing for a blank line."""
    at = state.bMarks[line] + state.tShift[line]
    return state.src[at] if at < state.eMarks[line] else ""


def _is_lazy(state: StateBlock, line: int) -> bool:
    indent = state.sCount[line]
    if indent >= state.blkIndent:
        return False
    return indent - max((outer for outer in state.env.get(_INDENTS, ()) if outer <= indent), default=0) > 3


def _remembering_indent(rule: _Rule) -> _Rule:
    """The list rule, leaving word of the indent around the list while it parses the items."""

    def changed(state: StateBlock, line: int, end: int, silent: bool) -> bool:
        if silent:
            return rule(state, line, end, silent)
        outer = state.env.setdefault(_INDENTS, [])
        outer.append(state.blkIndent)
        try:
            return rule(state, line, end, silent)
        finally:
            outer.pop()

    return changed
