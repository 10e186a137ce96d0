"""Sets values of a table in a TOML text, or removes a table. Comments and the order of everything else are preserved.

Every result is parsed with `tomllib` and compared with the expected data, so a text that cannot be edited is refused and
never damaged. `tomlkit` takes up to 20 µs per character, so texts over a limit are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from contextive.errors import ParseError
from contextive.toml.reader import read_toml

if TYPE_CHECKING:
    from tomlkit import TOMLDocument
    from tomlkit.container import Container
    from tomlkit.items import Item, Key, Table

TableValues = Mapping[str, str | Sequence[str]]
MAX_CHARACTERS: Final = 262_144


class NotEditable(Exception):
    """A TOML or JSON text cannot be edited safely; the message says why."""


def table_text(path: Sequence[str], values: TableValues) -> str:
    """The text of a table, with its header."""
    import tomlkit  # imported here because few commands edit TOML

    table = tomlkit.table()
    for key, value in _with_lists(values).items():
        table.add(key, value)
    for key in reversed(path[1:]):
        outer = tomlkit.table(is_super_table=True)
        outer.add(key, table)
        table = outer
    return tomlkit.document().add(path[0], table).as_string()


def with_values(text: str, path: Sequence[str], values: TableValues) -> str:
    """The text with these values set in the table at this path; an empty path is the document itself.

    Other values of the table are kept. A missing table is added at the end.
    """
    data = _read(text)
    table = _find(data, path)
    if table is not None and not isinstance(table, dict):
        raise NotEditable(f"there is no table where {path[-1]!r} belongs")
    expected = _with(data, path, {**(table or {}), **_with_lists(values)})
    if table is None:
        gap = "" if not text.strip() else "\n" if text.endswith("\n") else "\n\n"
        return _verify(text + _with_newlines_of(text, gap + table_text(path, values)), expected)
    document = _parse(text)
    node: Any = document
    for key in path:
        node = node[key]
    for key, value in _with_lists(values).items():
        if table.get(key) != value:
            node[key] = value
    return _verify(_with_newlines_of(text, document.as_string()), expected)


def without_table(text: str, path: Sequence[str]) -> str:
    """The text without the table at this path and its subtables; unchanged if there is no such table."""
    data = _read(text)
    if _find(data, path) is None:
        return text
    document = _parse(text)
    _remove(document, path)
    changed = document.as_string()
    if changed.endswith("\n\n") and not text.endswith(("\n\n", "\n\r\n")):
        changed = changed.rstrip("\n") + "\n"  # also remove the blank line above a table at the end
    changed = _with_newlines_of(text, changed.lstrip("\n"))
    return _verify(changed, _without(data, path), _without(data, path, keep_empty=True))


def _remove(container: Container, path: Sequence[str], *, has_header: bool = True) -> list[tuple[Key | None, Item]]:
    """Remove a table from the body of its container, in which it may occur several times.

    Comments at its end are above the next table and belong to that one. They are moved to the nearest container that has
    a header; comments that could not be moved are returned.
    """
    from tomlkit.items import Table

    left: list[tuple[Key | None, Item]] = []
    for index, (key, item) in reversed(list(enumerate(container.body))):
        if key is None or key.key != path[0]:
            continue
        if not isinstance(item, Table) or key.is_dotted():
            raise NotEditable(f"{path[0]!r} is not a table with its own header")
        if len(path) == 1:
            comments = _comments_at_end(item)
            del container.body[index]
        else:
            is_super = item.is_super_table()
            comments = _remove(item.value, path[1:], has_header=not is_super)
            if is_super and all(inner is None for inner, _ in item.value.body):
                del container.body[index]
            else:
                index += 1
        if has_header:
            container.body[index:index] = comments
        else:
            left = comments + left
    return left


def _comments_at_end(table: Table) -> list[tuple[Key | None, Item]]:
    from tomlkit.items import Comment, Table, Whitespace

    body = table.value.body
    if body and isinstance(body[-1][1], Table):
        return _comments_at_end(body[-1][1])
    start = len(body)
    while start and isinstance(body[start - 1][1], Comment | Whitespace):
        start -= 1
    first = next((n for n in range(start, len(body)) if isinstance(body[n][1], Comment)), len(body))
    return body[first:]


def _read(text: str) -> dict[str, Any]:
    if len(text) > MAX_CHARACTERS:
        raise NotEditable(f"it has more than {MAX_CHARACTERS} characters")
    try:
        return read_toml(text)
    except ParseError as error:
        raise NotEditable(f"it is not TOML{f' at line {error.line}' if error.line else ''}") from None


def _parse(text: str) -> TOMLDocument:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.parse(text.replace("\r\n", "\n") if _has_only_crlf(text) else text)
    except (TOMLKitError, RecursionError, ValueError):  # tomlkit accepts a little less than tomllib
        raise NotEditable("it uses TOML syntax that cannot be edited") from None


def _has_only_crlf(text: str) -> bool:
    return 0 < text.count("\r\n") == text.count("\n")


def _with_newlines_of(text: str, changed: str) -> str:
    return changed.replace("\n", "\r\n") if _has_only_crlf(text) else changed


def _with_lists(values: TableValues) -> dict[str, str | list[str]]:
    return {key: value if isinstance(value, str) else list(value) for key, value in values.items()}


def _find(data: dict[str, Any], path: Sequence[str]) -> Any:
    found: Any = data
    for key in path:
        if not isinstance(found, dict):
            raise NotEditable(f"there is no table where {key!r} belongs")
        if key not in found:
            return None
        found = found[key]
    return found


def _with(data: dict[str, Any], path: Sequence[str], value: dict[str, Any]) -> dict[str, Any]:
    if not path:
        return value
    return {**data, path[0]: _with(data.get(path[0], {}), path[1:], value)}


def _without(data: dict[str, Any], path: Sequence[str], *, keep_empty: bool = False) -> dict[str, Any]:
    """The data without the table. A parent table without its own header is removed too if it would be empty."""
    if len(path) > 1:
        rest = _without(data[path[0]], path[1:], keep_empty=keep_empty)
        if rest or keep_empty:
            return {**data, path[0]: rest}
    return {key: value for key, value in data.items() if key != path[0]}


def _verify(text: str, *expected: dict[str, Any]) -> str:
    try:
        is_as_expected = read_toml(text) in expected
    except ParseError:
        is_as_expected = False
    if not is_as_expected:
        raise NotEditable("the text cannot be changed without touching other parts of it")
    return text
