"""Random specifications in IETF text and Markdown, built from everything that has ever been hard to parse."""

from __future__ import annotations

from random import Random

_TEXT = (
    "the a server client MUST SHOULD MAY NOT frame stream é naïve über 日本 кот 🦀 e.g. i.e. 1.2 v1.0. end. Stop. etc.) "
    'it\'s (see [RFC2119] x-y a_b * - `code` | } A 0x1F \u00a0nb\u00a0 e\u0301 REQUIRED SHALL RECOMMENDED OPTIONAL "MUST" '
    "MUST\u0301 x\u200dy \u200bz \x85n "
    "MUST. MUST, is not, which: that; value=3 a/b ... .. <tag> &amp; \\* Ωmega ﬁn ½ ²  ."
)
_WORDS = _TEXT.split(" ")
_IETF_WORDS = [*_WORDS, *["हिन्दी", "का", "שלום", "ไทย", "ⓐ", "①", "٣", "MUST²", "MAYⓐ"]]
"""Also scripts whose transliteration is not exactly duvet's, which does not matter: IETF titles have no slugs."""
_IETF_TITLES = (
    "Introduction",
    "The  Wide Title",
    "A | B",
    "Trailing |",
    "Foo .......... 3",
    "Foo . . . . 3",
    "code {",
    "; comment",
    "é Título",
    "",
    "lots     of space",
    "Ends (",
    "1.2 inner",
    "MUST do this.",
    "日本",
)
_NAMED = (
    "Abstract",
    "References",
    "Security Considerations",
    "Status of This Memo",
    "Authors' Addresses",
    "Index",
    "Appendix",
    " Abstract",
    "Abstract ",
)
_MARKDOWN_TITLES = (
    "Overview",
    "1.1 Purpose",
    "Foo *bar baz*",
    "**Bold** rest",
    "[Link](x) after",
    "`code` first",
    "Some `code` in",
    "Título é",
    "日本 語",
    "Ünïcode ß æ",
    "A_B.C",
    "Emoji 🦀 crab",
    "Custom {#custom-id}",
    "Custom {#a .b key=v}",
    "Class {.x}",
    "Braces {not closed",
    "Braces } {#x y",
    "Empty {}",
    "Trailing ##",
    "Trailing \\#",
    "Entity &amp; so",
    "&lt;lead",
    "Escaped \\* star",
    "\\*lead",
    "<b>html</b> x",
    "![img](y) z",
    "",
    "Overview",
    "***",
    "A <http://auto.link> b",
    "\"Quotes\" and 'more'",
    "two  spaces",
    "x\u00a0nbsp",
    "e\u0301 combining",
    "кот и пёс",
    "ﬁn ½",
    "_em_",
    "a*b*c",
    "Foo <!-- c --> bar",
    "[ref]",
    "a | b",
    "end.",
    "MUST be",
    "한국어 제목",
    "ελληνικά Ψ",
    "しん・ブン",
    "½ ⅓ §",
    "→ a ↓",
    "Foo [x][ref] b",
    "Foo [ref] b",
    "a \\",
    "<!-- only -->",
    "http://bare.link",
    "*a* `b` _c_",
    "`` a ` b ``",
    "[a](<b c> 'd')",
    "[`code`](x) y",
    "![](y)",
    "&unknown; x",
    "&#35; y",
    "a<br/>b",
    "~~strike~~",
    "Tab\tinside",
    "x {#é}",
    "{#only}",
)


def words(random: Random, count: int, known: list[str] = _WORDS) -> str:
    return " ".join(random.choice(known) for _ in range(count))


def _paragraph(random: Random, indent: str, known: list[str] = _WORDS) -> list[str]:
    sizes = [random.choice((1, 2, 5, 9, 12)) for _ in range(random.choice((1, 1, 2, 3, 6)))]
    return [indent + words(random, size, known) for size in sizes]


def ietf_text(random: Random) -> str:
    lines: list[str] = []
    if random.random() < 0.5:
        lines += ["\ufeff" * (random.random() < 0.3) + "Network Working Group", "RFC: 1", ""]
    number = [0]
    for _ in range(random.choice((2, 4, 7))):
        lines += _ietf_heading(random, number)
        for _ in range(random.choice((0, 1, 2, 3))):
            lines += _ietf_block(random)
    return "\n".join(lines) + "\n"


def _ietf_heading(random: Random, number: list[int]) -> list[str]:
    kind = random.random()
    gap = random.choice(([""], [""], ["", ""], [], ["\x0c"], ["  "]))
    if kind < 0.6:
        move = random.random()
        if move < 0.5 or len(number) > 3:
            number[-1] += 1
        elif move < 0.8:
            number.append(1)
        elif len(number) > 1:
            number.pop()
            number[-1] += 1
        else:
            number[-1] += random.choice((0, 1, 2, 5))
        section_number = ".".join(map(str, number))
        section_number += random.choice((".", "", ".", ":", ".:", ".."))
        heading = f"{section_number}{random.choice((' ', '  ', chr(9)))}{random.choice(_IETF_TITLES)}"
    elif kind < 0.75:
        word = random.choice(("Appendix ", "APPENDIX ", "Annex ", "Appendix  ", ""))
        letter = random.choice(("A", "B", "C", "A.1", "B.2.", "A1", "AA", "a"))
        heading = f"{word}{letter}{random.choice(('.', '. ', ': ', ' : ', ' - ', ' -- ', ' ', ''))}{random.choice(_IETF_TITLES)}"
    elif kind < 0.9:
        return [*gap, random.choice(_NAMED), random.choice(("", "   x"))]
    else:
        heading = random.choice(
            ("1", "1.0", "2.", "200. Too big", "0. Zero", "1.a. Letter", "A.", "3.1.", "...", "12", "1.0 One")
        )
    return [*gap, heading, *random.choice(([""], [], [""], ["", ""]))]


def _ietf_block(random: Random) -> list[str]:
    kind = random.random()
    if kind < 0.55:
        return [*_paragraph(random, "   ", _IETF_WORDS), random.choice(("", " ", "\t"))]
    if kind < 0.7:
        return [
            "",
            "Author                Standards Track              [Page 3]",
            "\x0c",
            "RFC 1         Title      May 2020",
            "",
            "",
        ]
    if kind < 0.8:
        return [
            random.choice(("\x0c", "\x0c ", " \x0c")),
            "A Running Header",
            "",
            *_paragraph(random, "   ", _IETF_WORDS),
        ]
    if kind < 0.9:
        return ["   * " + words(random, 4), "", "   *  " + words(random, 8), ""]
    if kind < 0.95:
        return ["   +---+", "   | A |", "   }", "   A", "   é", ""]
    return [words(random, 6), "[Page 4]", words(random, 3)]


def markdown_text(random: Random) -> str:
    lines: list[str] = []
    if random.random() < 0.2:
        lines += ['[//]: "Copyright"', ""]
    if random.random() < 0.8:
        lines += ["# " + random.choice(_MARKDOWN_TITLES), ""]
    for _ in range(random.choice((2, 4, 7))):
        lines += _markdown_heading(random)
        for _ in range(random.choice((0, 1, 2, 3))):
            lines += _markdown_block(random, "")
    return "\n".join(lines) + "\n"


def _markdown_heading(random: Random) -> list[str]:
    title = random.choice(_MARKDOWN_TITLES)
    kind = random.random()
    if kind < 0.7:
        mark = "#" * random.choice((1, 2, 2, 3, 6, 7))
        before = random.choice(("", "", "", " ", "   ", "    ")) + mark + random.choice((" ", "  ", "\t", ""))
        return [before + title + random.choice(("", "", " #", " ", "\t")), *([""] * random.choice((0, 1)))]
    if kind < 0.9:
        second = random.choice(([], [], [random.choice(_MARKDOWN_TITLES)]))
        return [random.choice(("", title)), title, *second, random.choice(("===", "---", "-", "=  ", "  ----")), ""]
    return [
        random.choice(("> # ", "- # ", "1. ## ", "> > ## ", "- - # ", "* text\n\n  ## ")) + title,
        random.choice(("", "  below", "> below")),
    ]


def _markdown_block(random: Random, indent: str, depth: int = 0) -> list[str]:
    kind = random.random()
    if kind < 0.35:
        return [*_paragraph(random, indent), ""]
    if kind < 0.65 and depth < 3:
        return _markdown_list(random, indent, depth)
    if kind < 0.75:
        fence = random.choice(("```", "~~~", "````"))
        inner = [
            indent + random.choice(("# not a heading", "It MUST not.", "", "- x", "   deep"))
            for _ in range(random.choice((0, 1, 3)))
        ]
        return [
            indent + fence + random.choice(("", "text")),
            *inner,
            *random.choice(([indent + fence], [indent + fence], [])),
            "",
        ]
    if kind < 0.82:
        return [indent + "> " + line for line in (*_paragraph(random, ""), "", "- " + words(random, 3))] + [""]
    if kind < 0.88:
        return [
            indent + line
            for line in random.choice(
                (["<div>", "# x", "</div>", ""], ["<!-- c", "", "# y -->", ""], ["<p>MUST x", "", "y"])
            )
        ]
    if kind < 0.94:
        return [indent + "    indented MUST code", indent + "    # no", ""]
    return [
        indent + line
        for line in random.choice(
            (
                ["| a | b |", "|---|---|", "| MUST | x. |", ""],
                ["[ref]: /url 'title'", ""],
                ["***", ""],
                ["a  ", "b\\", "c", ""],
            )
        )
    ]


def _markdown_list(random: Random, indent: str, depth: int) -> list[str]:
    lines: list[str] = []
    mark = random.choice(("- ", "* ", "+ ", "1. ", "10) ", "-   ", "-\t"))
    for _ in range(random.choice((1, 2, 3))):
        lines.append(
            indent
            + mark
            + random.choice((words(random, 4), words(random, 4), "", "- " + words(random, 2), "```", "> q MUST"))
        )
        inner = indent + " " * len(mark)
        follow = random.random()
        if follow < 0.3:
            lines += [inner + words(random, 5)]
        elif follow < 0.4:
            lines += [words(random, 3)]
        elif follow < 0.6:
            lines += ["", *_markdown_block(random, inner, depth + 1)]
        elif follow < 0.75:
            lines += _markdown_block(random, inner, depth + 1)
        if random.random() < 0.3:
            lines.append("")
    if random.random() < 0.7:
        lines.append("")
    return lines
