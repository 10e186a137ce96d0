"""Where the comments and docstrings of a source file are, from its syntax tree."""

from __future__ import annotations

from contextive.knowledge.languages import language_parser

_MAX_CHARACTERS = 400_000
_COMMENTS = (b"#", b"//", b"/*")
_DOCSTRINGS = (b'"""', b"'''", b'r"""')


def comment_spans(text: str, language: str) -> list[tuple[int, int]] | None:
    """The offsets of each comment and docstring, sorted. None for a file that is too large to parse."""
    if len(text) > _MAX_CHARACTERS:
        return None
    data = text.encode("utf-8", "surrogatepass")
    tools = language_parser(language)
    nodes = tools.non_code.captures(tools.parser.parse(data).root_node).get("q", [])
    spans = sorted((node.start_byte, node.end_byte) for node in nodes)
    wanted = [span for span in spans if _is_comment(data, *span, is_python=language == "python")]
    return wanted if text.isascii() else _to_characters(data, wanted)


def _is_comment(data: bytes, start: int, end: int, *, is_python: bool) -> bool:
    if data.startswith(_COMMENTS, start, end):
        return True
    if not is_python or not data.startswith(_DOCSTRINGS, start, end):
        return False
    # A string is a docstring if it is a statement: nothing is before it on its line, and nothing after it.
    before = data[data.rfind(b"\n", 0, start) + 1 : start]
    line_end = data.find(b"\n", end)
    after = data[end : line_end if line_end >= 0 else len(data)]
    return not before.strip() and not after.split(b"#")[0].strip()


def _to_characters(data: bytes, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Byte offsets as character offsets. The spans do not overlap."""
    found = []
    byte = character = 0
    for start, end in spans:
        character += len(data[byte:start].decode("utf-8", "surrogatepass"))
        length = len(data[start:end].decode("utf-8", "surrogatepass"))
        found.append((character, character + length))
        byte, character = end, character + length
    return found
