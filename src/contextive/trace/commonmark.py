"""The block parser: markdown-it, with lazy continuation lines as CommonMark defines them.

If a line is indented less than its list item, markdown-it measures its indent from that item. CommonMark measures it
from the container that the line is still in: a line indented by four columns or more cannot start a block and continues
the paragraph.
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
"""The first characters of lines that can interrupt a paragraph."""
_NOT_PLAIN_FIRST = _OPENING | {"["}
_NOT_PLAIN_LATER = _OPENING | {"="}
_UNDERLINE_LINES = 32
"""How many lines to search for an underline. After these, the heading rule is called anyway: without a limit, long
lists would take quadratic time."""


@cache
def block_parser() -> MarkdownIt:
    """A parser for block structure only. Inline content stays text; plain top-level paragraphs produce no tokens."""
    parser = MarkdownIt("commonmark", {"maxNesting": 100})
    parser.core.ruler.disable(["inline", "text_join"])
    ruler = parser.block.ruler
    for rule in list(ruler.__rules__):
        if rule.name in _INTERRUPTING:
            changed = _unless_lazy(rule.fn)
            ruler.at(rule.name, _remembering_indent(changed) if rule.name == "list" else changed, {"alt": rule.alt})
        elif rule.name == "lheading":
            ruler.at(rule.name, _if_underlined(rule.fn), {"alt": rule.alt})
    ruler.before("code", "plain_paragraph", _skip_plain_paragraph)
    ruler.before("plain_paragraph", "form_feeds", _skip_form_feeds)
    return parser


def _skip_form_feeds(state: StateBlock, line: int, _end: int, _silent: bool) -> bool:
    """Skip a line of white space with form feeds. As in duvet's parser, it is blank unless a paragraph contains it."""
    at, end = state.bMarks[line] + state.tShift[line], state.eMarks[line]
    if at == end or state.src[at] not in "\x0b\x0c" or state.src[at:end].strip(" \t\x0b\x0c"):
        return False
    state.line = line + 1
    return True


def _skip_plain_paragraph(state: StateBlock, line: int, end: int, _silent: bool) -> bool:
    """Skip a top-level paragraph whose lines can neither start a block nor be an underline.

    Most paragraphs are like this. The other rules would find the same end, the next blank line, but slower.
    """
    if state.level or state.sCount[line] > 3 or _first_character(state, line) in _NOT_PLAIN_FIRST:
        return False
    source, begins, shifts, ends = state.src, state.bMarks, state.tShift, state.eMarks
    later = line + 1
    while later < end and (at := begins[later] + shifts[later]) < ends[later]:
        if source[at] in _NOT_PLAIN_LATER:
            return False
        later += 1
    state.line = later
    return True


def _unless_lazy(rule: _Rule) -> _Rule:
    def changed(state: StateBlock, line: int, end: int, silent: bool) -> bool:
        if _first_character(state, line) not in _OPENING:
            return False  # most lines of prose: the rule cannot match
        if silent and state.parentType != "list" and _is_lazy(state, line):
            return False
        return rule(state, line, end, silent)

    return changed


def _if_underlined(rule: _Rule) -> _Rule:
    """The rule for underlined headings, called only if an underline may follow before the paragraph ends."""

    def changed(state: StateBlock, line: int, end: int, silent: bool) -> bool:
        for later in range(line + 1, min(end, line + _UNDERLINE_LINES)):
            first = _first_character(state, later)
            if first in ("=", "-"):
                return rule(state, line, end, silent)
            if not first:
                return False
        return end > line + _UNDERLINE_LINES and rule(state, line, end, silent)

    return changed


def _first_character(state: StateBlock, line: int) -> str:
    """The first character of a line that is not white space; empty for a blank line."""
    at = state.bMarks[line] + state.tShift[line]
    return state.src[at] if at < state.eMarks[line] else ""


def _is_lazy(state: StateBlock, line: int) -> bool:
    indent = state.sCount[line]
    if indent >= state.blkIndent:
        return False
    return indent - max((outer for outer in state.env.get(_INDENTS, ()) if outer <= indent), default=0) > 3


def _remembering_indent(rule: _Rule) -> _Rule:
    """The list rule, which also records the indent of the container of the list while it parses the items."""

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
