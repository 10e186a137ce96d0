"""Large and deeply nested inputs: a beginning, a unit that is repeated, and an end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .targets import CODE

Bomb = tuple[bytes, bytes, bytes]

_CODE: tuple[Bomb, ...] = (
    *((b"", unit, b"") for unit in (b"(", b"{", b"[", b"x = (", b"if a {", b"a.b(", b"/*", b'"', b"`${", b"<a>")),
    (b"from ", b".", b"x\n"),
    (b"use a", b" ", b"b;\n"),
)
_PROSE: tuple[Bomb, ...] = (
    (b"", b"> ", b"x"), (b"", b"- ", b"x"), (b"", b"[", b""), (b"", b"![", b"]("), (b"", b"*a ", b""), (b"", b"<", b""),
    (b"", b"`", b""), (b"", b"`a``", b""), (b"# ", b"#", b""), (b"", b"[[", b"]]"), (b"", b"[[a|", b""), (b"", b"[a](b", b""),
    (b"", b"| a ", b"\n|-|\n"), (b"", b"\n", b"x"), (b"", b"# a\n", b""), (b"", b"A MUST. ", b""), (b"", b"&#", b""),
    (b"", b"a\n===\n", b""), (b"", b"<!--", b""), (b"---\n", b"a: [", b"\n---\n"), (b"---\n", b"a\n", b""),
    (b"", b"1.1. ", b"x\n"), (b"", b" \t", b"x"), (b"", b"-", b"\n"), (b"", b"MUST ", b""), (b"", b"a.", b""),
    (b"# a", b" ", b"b"), (b"= a", b" ", b"b"), (b"`", b" ", b"\n===\n"), (b"", b":a", b"\n===\n"), (b"`a` ", b"[[", b""),
    (b"[", b"![a]", b"x"), (b"---\ntitle: a", b" ", b"b\n---\n"),
)  # fmt: skip
_SPEC_DRIVEN: tuple[Bomb, ...] = (
    *_PROSE,
    (b"### Requirement 1\n#### Acceptance Criteria\n", b"1. A SHALL b\n", b""),
    (b"", b"### Requirement 1\n#### Acceptance Criteria\n1. A\n", b""),
    (b"", b"- [ ] 1. A\n  - _Requirements: All_\n", b""), (b"- [ ] 1. A\n  - _Requirements: ", b"1.1-1.9, ", b"_\n"),
    (b"", b"2.1 A\n", b""), (b"", b"- **FR-001**: A\n", b""), (b"", b"### User Story 1\n", b""),
    (b"### User Story 1\n**Acceptance Scenarios**:\n", b"1. **Given**\n", b""), (b"- [ ] T001 ", b"[US1] ", b"a/b.py\n"),
    (b"## Requirements\n", b"### Requirement: A\n", b""), (b"## RENAMED Requirements\n", b"- FROM: `### Requirement: A`\n", b""),
    (b"- [ ] ", b"a/", b"b.py\n"), (b"## Glossary\n", b"- **A**: b\n", b""), (b"## Properties\n", b"### Property 1: A\n", b""),
)  # fmt: skip
_YAML: tuple[Bomb, ...] = (
    (b"", b"[", b""), (b"", b"{a: ", b""), (b"a: ", b"- ", b""), (b"", b"a: &a [*a]\n", b""), (b"", b"? ", b""),
    (b"x: |\n", b" a\n", b""), (b"x: '", b"'", b""), (b"", b"a: b\n", b""), (b"", b"!!", b" x"), (b"", b"%", b""),
    (b"", b"\t", b"a"), (b"a: ", b"9", b""),
)  # fmt: skip
_JSON: tuple[Bomb, ...] = (
    (b"", b"[", b""), (b"", b'{"a":', b""), (b"{", b'"a":1,', b'"b":2}'), (b'"', b"\\", b'"'), (b"", b"9", b""),
    (b'"', b"\\ud800", b'"'), (b"[", b"1e400,", b"1]"), (b"", b" ", b"1"), (b'{"a":', b"-", b"}"),
)  # fmt: skip
_TOML: tuple[Bomb, ...] = (
    (b"a = ", b"[", b""), (b"", b"a.", b"b=1"), (b"[", b"a.", b"b]"), (b"a = ", b"{a=", b""), (b'a = """', b'"', b""),
    (b"", b"[[a]]\n", b""), (b"", b"[a]\n", b""), (b"a = ", b"9", b""), (b"", b"#", b""), (b'a = "', b"\\", b'"'),
    (b"", b'"', b""), (b"", b"[[a.b]]\n", b""), (b"", b" ", b"x"), (b'a = "', b'\\"', b""),
)  # fmt: skip
_WORDS = (b"a.", b"aB", b"a_", b"a::", b"/", b"-", "\u4e16".encode(), b"1a", b"a ", "\u0301".encode(), b"self.", b'"')

_BOMBS: Mapping[str, tuple[Bomb, ...]] = {
    "duvet-config": _TOML,
    "requirement-toml": _TOML,
    "citations": (
        (b"", b"//=", b""), (b"", b"//= a#b\n", b""), (b"//= a#b\n", b"//# c\n", b""), (b"//= ", b"type=", b""),
        (b"", b" ", b"//= a"), (b"x", b" ", b"x"), (b"/*", b"#", b""),
    ),
    "markdown-specification": _PROSE,
    "ietf-specification": _PROSE,
    "kiro": _SPEC_DRIVEN,
    "kiro-bugfix": _SPEC_DRIVEN,
    "speckit": _SPEC_DRIVEN,
    "openspec": _SPEC_DRIVEN,
    "openspec-change": _SPEC_DRIVEN,
    "note": _PROSE,
    "front-matter": tuple((b"---\n" + begin, unit, end + b"\n---\n") for begin, unit, end in _YAML),
    "names-and-links": _PROSE,
    "forwarded": tuple(
        (b"", unit, b"")
        for unit in (b"10.0.0.1,", b"for=10.0.0.1,", b'for="', b"a=b;", b",", b";", b'"', b"\\", b":", b"[", b"1", b" ")
    ),
    "config-json": _JSON,
    "config-yaml": _YAML,
    "config-toml": _TOML,
    "recipe": _YAML,
    "template": ((b"", b"${", b""), (b"", b"$${", b""), (b"", b"${x}", b""), (b"${n", b"[0]", b"}")),
    "recipe-path": ((b"a", b".b", b""), (b"a", b"[0]", b""), (b"a", b'["', b"")),
    "ignore-rules": (
        (b"", b"*a", b""), (b"", b"**/", b"a"), (b"", b"*a*a*a*a*a*a*a*a*b\n", b""), (b"", b"[", b""), (b"", b"!a\n", b""),
        (b"", b"?*", b""), (b"", b"a/**/", b"b"), (b"", b"*a**/*a*/**/a*b\n", b""),
    ),
    "globs": (
        (b"", b"*a", b""), (b"", b"**/", b"a"), (b"", b"[", b""), (b"", b"a/**/*/", b""),
        (b"", b"a/b/" + b"*x" * 60 + b"y\n", b""), (b"", b"**/" + b"*/**/" * 20 + b"y\n", b""),
    ),
    "cron": ((b"", b"* ", b""), (b"", b"1,", b"1 * * * *"), (b"", b"9", b" * * * *")),
    "graph-query": _JSON,
    "filters": ((b'{"tags":["', b"a", b'"]}'), (b'{"tags":[', b'"a",', b'"b"]}'), (b'{"', b"a", b'": 1}')),
    "llms-txt": (
        (b"## Models\n", b"- a: b\n", b""), (b"## Models\n- [", b"[", b"]("), (b"## Models\n- a: ", b",", b""),
        (b"## Models\n- a: x", b" ", b":"), (b"", b"#", b""), (b"# a", b" #", b"b"),
    ),
    "archive": ((b"", b"\0", b""), (b"manifest.json", b"\0", b""), (b"", b"7", b"")),
    "archive-packed": ((b"\x1f\x8b", b"\0", b""),),
    "merged-reports": _JSON,
    "json-rpc-line": (*_JSON, (b"[", b"{},", b"{}]")),
    "cursors-and-uris": ((b"duvet:///citations/", b"/x/", b""), (b"", b"A", b"")),
    "query-words": tuple((b"", unit, b"") for unit in _WORDS),
    "cited-answers": (*_PROSE, (b"[1", b", 1", b"]"), (b"[1-", b"9", b"]")),
    "secrets": (
        (b"PRIVATE KEY", b"-----BEGIN ", b""), (b"", b"aws_secret", b""), (b"", b"hooks.slack.com/services/T", b""),
        (b"", b"-----BEGIN PRIVATE KEY-----\n", b""),
    ),
    "target-urls": (
        (b"https://", b"/", b""), (b"https://a", b"/..", b""), (b"https://", b"a:", b""), (b"https://", b"[", b""),
    ),
    **{f"code-{suffix}": _CODE for suffix in CODE},
    **{f"chunks-{suffix}": _PROSE for suffix in ("md", "sql", "txt")},
}  # fmt: skip
_BYTES: Mapping[str, int] = {
    **{f"code-{suffix}": 20_000 for suffix in CODE},
    **dict.fromkeys(("front-matter", "config-yaml", "recipe"), 5_000),
}
"""Smaller sizes for slow parsers. Grammars are third-party code; in the product they run in separate processes with a
time limit per file. The YAML parser is pure Python: slow, but linear."""


_NESTS: Mapping[str, tuple[Bomb, ...]] = {
    "config-json": ((b'{"a":', b"[", b"]"),),
    "config-yaml": ((b"a: ", b"[", b"]"), (b"a: ", b"{a: ", b"}")),
    "config-toml": ((b"a = ", b"[", b"]"), (b"a = ", b"{a=", b"}")),
    "duvet-config": ((b"source = ", b"[", b"]"),),
    "requirement-toml": ((b"spec = ", b"[", b"]"),),
    "recipe": ((b"version: ", b"[", b"]"), (b"version: 1\nsteps: ", b"{a: ", b"}")),
    "front-matter": ((b"---\na: ", b"[", b"]"), (b"---\na: ", b"{a: ", b"}")),
    "merged-reports": ((b'{"version": "2.0", "annotations": {}, "sources": {"x": ', b"[", b"]"),),
    "graph-query": ((b'{"start": {"label": ', b"[", b"]"),),
    "filters": ((b'{"tags": ', b"[", b"]"),),
    "json-rpc-line": ((b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": ', b'{"a":', b"}"),),
    "archive": ((b"", b"[", b"]"),),
}
_CLOSED: Mapping[str, bytes] = {
    "config-json": b"}", "front-matter": b"\n---\n", "merged-reports": b"}}", "graph-query": b"}}", "filters": b"}",
    "json-rpc-line": b"}",
}  # fmt: skip
_DEPTHS = (60, 70, 150, 240, 330, 480, 900, 990, 3000)
"""Depths around the limits of our parsers, of recursive functions and of Python."""


def bombs_of(name: str, size: int = 30_000) -> Iterator[bytes]:
    """Yield the bombs for a parser: long ones, then deeply nested ones that are closed properly."""
    for begin, unit, end in _BOMBS[name]:
        yield begin + unit * (_BYTES.get(name, size) // len(unit)) + end
    for begin, opening, closing in _NESTS.get(name, ()):
        for depth in _DEPTHS:
            inner = b"1" if opening != b'{"a":' else b"{}"
            yield begin + opening * depth + inner + closing * depth + _CLOSED.get(name, b"")
