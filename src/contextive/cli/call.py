"""`call`: calls one tool in this process, with the same dispatcher as every other transport."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import uuid
from typing import TYPE_CHECKING, Any

from contextive.cli.load_project import open_host
from contextive.cli.parser import add_project_options, add_write_option
from contextive.cli.printing import print_data, print_line, print_text
from contextive.errors import CapabilityMissing, UsageError
from contextive.registry import InputNeeded, Tool
from contextive.server.pipes import stdout_to_stderr

if TYPE_CHECKING:
    from contextive.server.host import Host


_OWN_FLAGS = frozenset({"config", "profile", "project"})


def configure_call(parser: argparse.ArgumentParser) -> None:
    add_project_options(parser)
    add_write_option(parser)
    parser.add_argument("tool", metavar="TOOL", help="name of the tool")
    parser.add_argument(
        "arguments",
        nargs=argparse.REMAINDER,
        metavar="--key value | --json '{…}'",
        help="arguments of the tool: one flag each, repeated for lists; or all of them as one JSON object",
    )
    parser.set_defaults(run=run_call)


def run_call(options: argparse.Namespace) -> int:
    host = open_host(options)
    surface = host.surface(host.profile, host.owner.scope)
    arguments = parse_tool_arguments(surface.tool(options.tool), options.arguments)
    context = host.context(host.owner, door="cli", profile=host.profile, request_id=uuid.uuid4().hex)
    try:
        with stdout_to_stderr():
            result = asyncio.run(host.dispatcher.call(surface, options.tool, arguments, context))
    except InputNeeded as needed:
        raise CapabilityMissing(tuple(q.capability for q in needed.questions.values())) from None
    if result.data is not None:
        text = json.dumps(result.data, indent=2, ensure_ascii=False)
        print_data(text.encode("utf-8", "backslashreplace").decode())
    else:
        print_text(result.text)
    if result.is_error:
        print_line("The tool reported an error.", file=sys.stderr)
    return 1 if result.is_error else 0


def call_tool(host: Host, name: str, arguments: dict[str, Any]) -> Any:
    """The structured result of a tool, called as the owner of this terminal."""
    surface = host.surface(host.profile, host.owner.scope)
    context = host.context(host.owner, door="cli", profile=host.profile, request_id=uuid.uuid4().hex)
    with stdout_to_stderr():
        return asyncio.run(host.dispatcher.call(surface, name, arguments, context)).data


def parse_tool_arguments(tool: Tool, words: list[str]) -> dict[str, Any]:
    """The tool's arguments from `--some-key value` pairs or a `--json` object, with the types of its schema."""
    arguments: dict[str, Any] = {}
    flags: set[str] = set()
    rest = list(words)
    while rest:
        flag = rest.pop(0)
        if not flag.startswith("--") or flag == "--":
            raise UsageError(
                f"Expected --key value, found {flag[:60]!r}.",
                hint=f"contextive-mcp tools --json shows the arguments of {tool.name}.",
            )
        name, equals, inline = flag[2:].partition("=")
        if name == "json":
            arguments |= _json_object(inline if equals else _take_value(flag, rest))
            continue
        properties = tool.input_schema["properties"]
        key = name.replace("-", "_") if name not in properties else name
        if key in _OWN_FLAGS and key not in properties:
            raise UsageError(
                f"{flag} is a flag of the command, not an argument of {tool.name}.",
                hint=f"Put it before the name of the tool: contextive-mcp call {flag} … {tool.name} …",
            )
        spec = _resolve_schema(tool.input_schema, properties.get(key, {}))
        if not equals and _kind(spec) == "boolean" and (not rest or rest[0].startswith("--")):
            arguments[key] = True
            continue
        value = _parse_value(spec, inline if equals else _take_value(flag, rest))
        if key in arguments and _accepts_list(properties.get(key, {})):
            value = [*_as_list(arguments[key]), *_as_list(value)]
        elif key in flags:
            raise UsageError(f"--{name} is given more than once, and {tool.name} takes one value for it.")
        arguments[key] = value
        flags.add(key)
    return arguments


def _accepts_list(spec: dict[str, Any]) -> bool:
    """Whether an argument may have several values, perhaps besides a single one."""
    return any(option.get("type") == "array" for option in (spec, *spec.get("anyOf", ())))


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _take_value(flag: str, rest: list[str]) -> str:
    if not rest:
        raise UsageError(f"{flag} needs a value.")
    return rest.pop(0)


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise UsageError("--json takes one JSON object.", hint="""For example --json '{"query": "error handling"}'.""")
    return value


def _resolve_schema(schema: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in spec:
        return dict(schema.get("$defs", {}).get(spec["$ref"].rsplit("/", 1)[-1], {}))
    for option in spec.get("anyOf", ()):
        if option.get("type") != "null":
            return _resolve_schema(schema, option)
    return spec


def _kind(spec: dict[str, Any]) -> str:
    return str(spec.get("type", "string"))


def _parse_value(spec: dict[str, Any], text: str) -> Any:
    """The text as the type in the schema. Text of another type stays text, and the tool reports the error."""
    kind = _kind(spec)
    if kind == "string":
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    if kind == "array" and not isinstance(value, list):
        return [text if spec.get("items", {}).get("type") == "string" else value]
    return value
