"""Calls tools, reads resources and renders prompts, for every transport."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol
from urllib.parse import unquote

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError

from contextive.errors import (
    ContextiveError,
    InternalError,
    InvalidCursor,
    InvalidRequest,
    TimedOut,
    TooLarge,
    Unavailable,
)
from contextive.registry.arguments import invalid_arguments_error, json_with_integers
from contextive.registry.content import (
    Audio,
    Content,
    Image,
    PromptMessage,
    Reply,
    ResourceBody,
    ResourceLink,
    Text,
    escape_hidden_characters,
)
from contextive.registry.context import Context, Freshness, InputNeeded
from contextive.registry.declaration import Prompt, Resource, ResourceEntry, Tool
from contextive.registry.paging import Page, decode_cursor, encode_cursor, page_of
from contextive.registry.registry import Registry, Surface, safe_repr
from contextive.registry.threads import run_in_thread

logger = logging.getLogger(__name__)

_SYSTEM_ERRNOS = frozenset(
    {errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.ENOMEM}
)
"""Errors caused by the system (disk, limits), not by a handler."""

RESOURCE_PAGE_SIZE = 50
"""The most entries on a page of `resources/list`."""
_STRICT_JSON = json.JSONEncoder(allow_nan=False)
_COMPACT_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Limits:
    """Time limit of a call, largest answer, and page size."""

    timeout_seconds: float = 60.0
    result_bytes: int = 1_000_000
    page_size: int = 100


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool's answer for any transport: data, content blocks, and freshness."""

    data: Any
    content: Sequence[Content]
    as_of: Freshness
    is_error: bool = False
    meta: Mapping[str, Any] = field(default_factory=dict)
    untrusted: tuple[str, ...] = ()
    """The fields of the data that can hold text from the project's files or from a model."""

    @property
    def text(self) -> str:
        """The text blocks as one string."""
        return "\n".join(block.text for block in self.content if isinstance(block, Text))


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One finished call, for telemetry and audit."""

    tool: str
    known: bool
    caller: str
    door: str
    """The transport, as in `Context.door`."""
    request_id: str
    duration_seconds: float
    arguments: Mapping[str, Any]
    error: str | None
    """The error code; None if the call succeeded."""
    warnings: int = 0
    """Number of warnings in the answer."""


class CallObserver(Protocol):
    """A function that is called after every finished call."""

    def __call__(self, record: CallRecord, /) -> None: ...


class Dispatcher:
    """Finds, checks and runs what is called. Transports only translate. The registry can be replaced at any time."""

    def __init__(
        self,
        registry: Registry,
        *,
        limits: Limits | None = None,
        observers: Sequence[CallObserver] = (),
        freshness: Callable[[], Freshness] = Freshness.now,
    ) -> None:
        self.registry = registry
        self.limits = limits or Limits()
        self.observers = list(observers)
        self._freshness = freshness

    ##= docs/spec/host.md#permissions
    ##% The scope MUST be checked in one place for all transports.
    async def call(self, surface: Surface, name: str, arguments: Mapping[str, Any], ctx: Context) -> ToolResult:
        """Run one tool. Raises only a `ContextiveError` with a stable code, or `InputNeeded`."""
        started = time.perf_counter()
        error: str | None = None
        warnings = 0
        known = name in surface.tools or name in surface.withheld
        try:
            tool = surface.tool(name)
            allowed = ctx.caller.tools
            if not ctx.caller.scope.covers(tool.scope) or (allowed is not None and tool.name not in allowed):
                # The surface does not contain such tools; this is a second check on purpose.
                raise InternalError("The surface contains a tool that needs a higher scope.")
            parsed = parse_arguments(tool, arguments)
            value = await self._run_handler(
                lambda pack_ctx: self._run(tool, parsed, pack_ctx),
                tool.runs_in_loop,
                f"tool {tool.name}",
                self._context_for(tool.pack, ctx),
                tool.timeout_seconds,
            )
            result = self._build_result(tool, value, ctx) if tool.runs_in_loop else value
            warnings = _count_warnings(result.data)
            return result
        except ContextiveError as failure:
            error = failure.code
            raise
        except InputNeeded:
            error = "input_required"
            raise
        except asyncio.CancelledError:
            error = "cancelled"
            raise
        finally:
            record = CallRecord(
                tool=name if known else "unknown",
                known=known,
                caller=ctx.caller.name,
                door=ctx.door,
                request_id=ctx.request_id,
                duration_seconds=time.perf_counter() - started,
                arguments=arguments,
                error=error,
                warnings=warnings,
            )
            for observer in self.observers:
                observer(record)

    async def read(self, surface: Surface, uri: str, ctx: Context) -> list[ResourceBody]:
        """The body of one resource."""
        resource, full_uri, variables = surface.find_resource(uri)
        value = await self._run_handler(
            lambda pack_ctx: resource.code.read(variables, pack_ctx),
            asyncio.iscoroutinefunction(resource.code.read),
            f"resource {resource.name}",
            self._context_for(resource.pack, ctx),
        )
        part = uri.partition("?")[2] if resource.in_parts else ""
        bodies = _bodies(resource, f"{full_uri}?{part}" if part else full_uri, value)
        size = sum(_size(body) for body in bodies)
        if size > self.limits.result_bytes:
            raise TooLarge(
                f"The resource has {size} bytes; the limit is {self.limits.result_bytes}.",
                hint=f"Read it in parts: {full_uri}?offset=0&limit=100." if resource.in_parts else None,
            )
        return bodies

    ##= docs/spec/host.md#resources-and-prompts
    ##% The server MUST list the readable resources, except for members of templates that are only listed below their
    ##% parent, and be able to read each of them.
    ##= docs/spec/host.md#resources-and-prompts
    ##% Resources that cannot be listed MUST NOT prevent the others from being listed; the result reports what is
    ##% missing and why.
    async def list_resources(self, surface: Surface, cursor: str | None, ctx: Context) -> Page[ResourceEntry]:
        """One page of the readable resources: fixed ones, then the members of templates that are listed."""
        resources = sorted((r for r in surface.resources if r.listed), key=lambda resource: resource.is_template)
        index, offset = _resource_position(cursor, len(resources))
        ##= docs/spec/host.md#lists-and-pagination
        ##% A page of the list of resources MUST have at most 50 entries.
        size = min(self.limits.page_size, RESOURCE_PAGE_SIZE)
        items: list[ResourceEntry] = []
        failures: dict[str, ContextiveError] = {}
        while index < len(resources):
            resource = resources[index]
            wanted = size + 1 - len(items)
            entries: Sequence[ResourceEntry] = ()
            try:
                entries = await self._entries(resource, offset, wanted, ctx)
            except ContextiveError as error:
                failures.setdefault(error.full_message(), error)  # one broken file causes the same error many times
            items.extend(entries)
            if len(items) > size:
                position = f"{index}:{offset + len(entries) - (len(items) - size)}"
                return Page(items[:size], encode_cursor("resources", position), list(failures.values()))
            if len(entries) < wanted:
                index, offset = index + 1, 0
            else:
                offset += len(entries)
        if failures and not items and cursor is None:
            raise next(iter(failures.values()))
        return Page(items, failures=list(failures.values()))

    ##= docs/spec/host.md#resources-and-prompts
    ##% A URI or path given to `resources/list` MUST limit the list to the resources directly below it.
    async def list_below(self, surface: Surface, uri: str, cursor: str | None, ctx: Context) -> Page[ResourceEntry]:
        """One page of the resources directly below another one."""
        resource, full_uri, _ = surface.find_resource(uri)
        prefix, found = f"{unquote(full_uri)}/", []
        for below in surface.below(resource):
            entries = await self._entries(below, 0, sys.maxsize, ctx)
            found += [entry for entry in entries if resource.members or unquote(entry.uri).startswith(prefix)]
        if not found:
            await self.read(surface, uri, ctx)  # raises if the resource itself does not exist
        return page_of("resources below", found, cursor, min(self.limits.page_size, RESOURCE_PAGE_SIZE))

    ##= docs/spec/host.md#resources-and-prompts
    ##% A prompt MUST refuse unknown arguments and missing required ones.
    async def render(
        self, surface: Surface, name: str, arguments: Mapping[str, str], ctx: Context
    ) -> tuple[Prompt, Sequence[PromptMessage]]:
        """A prompt and its messages, with the arguments filled in."""
        prompt = surface.prompt(name)
        known = {argument.name for argument in prompt.arguments}
        if unknown := sorted(set(arguments) - known):
            raise InvalidRequest(
                f"Unknown argument {safe_repr(unknown[0])} for prompt {name}.",
                hint=f"Allowed: {', '.join(sorted(known)) or 'none'}.",
            )
        missing = [a.name for a in prompt.arguments if a.required and not arguments.get(a.name)]
        if missing:
            raise InvalidRequest(f"Prompt {name} needs the argument {missing[0]}.", hint="Give it a non-empty value.")
        messages = await self._run_handler(
            lambda pack_ctx: prompt.code.render(arguments, pack_ctx),
            asyncio.iscoroutinefunction(prompt.code.render),
            f"prompt {name}",
            self._context_for(prompt.pack, ctx),
        )
        return prompt, [replace(message, content=_well_formed(message.content)) for message in messages]

    async def complete(
        self, pack: str, handler: Callable[..., Any], prefix: str, others: Mapping[str, str], ctx: Context
    ) -> Sequence[str]:
        """Completions for a variable or argument declared by the pack."""
        values = await self._run_handler(
            lambda pack_ctx: handler(prefix, others, pack_ctx),
            asyncio.iscoroutinefunction(handler),
            "completion",
            self._context_for(pack, ctx),
        )
        return [well_formed(str(value)) for value in values]

    async def _entries(self, resource: Resource, offset: int, limit: int, ctx: Context) -> Sequence[ResourceEntry]:
        handler = resource.code.list_entries
        if handler is not None:
            listed: Sequence[ResourceEntry] = await self._run_handler(
                lambda pack_ctx: handler(offset, limit, pack_ctx),
                asyncio.iscoroutinefunction(handler),
                f"listing {resource.name}",
                self._context_for(resource.pack, ctx),
            )
            return [replace(entry, name=well_formed(entry.name)) for entry in list(listed)[:limit]]
        if resource.is_template or offset:
            return []
        return [ResourceEntry(resource.uri, resource.name, resource.title, resource.description, resource.mime_type)]

    def _context_for(self, pack: str, ctx: Context) -> Context:
        """The context with the settings of `pack`."""
        settings = self.registry.settings_of(pack)
        return ctx if settings == ctx.settings else replace(ctx, settings=settings)

    ##= docs/spec/host.md#limits
    ##% A failure in one call MUST NOT affect another call.
    ##= docs/spec/host.md#errors
    ##% An error MUST NOT show a stack trace, a secret, the text of an unexpected exception, or a path outside the
    ##% project.
    async def _run_handler(
        self,
        run: Callable[[Context], Any],
        in_loop: bool,
        what: str,
        ctx: Context,
        seconds: float | None = None,
    ) -> Any:
        """Run a handler with a time limit (`seconds`, or the default), and convert what it raises to a `ContextiveError`."""
        timeout = self.limits.timeout_seconds if seconds is None else seconds
        limit = asyncio.timeout(timeout)
        try:
            async with limit:
                if in_loop:
                    return await run(ctx)
                return await run_in_thread(lambda: run(ctx))
        except (ContextiveError, InputNeeded):
            raise
        except (Exception, SystemExit, asyncio.CancelledError) as failure:
            # The outermost handler: an error in a pack fails only this call, and its text is not sent to the client.
            if isinstance(failure, asyncio.CancelledError) and _is_being_cancelled():
                raise
            ##= docs/spec/host.md#limits
            ##% A call that runs longer than `limits.toolTimeoutSeconds` MUST end with the code `timeout`.
            if limit.expired():
                raise TimedOut(
                    f"The {what} took longer than {timeout:g} seconds.",
                    hint="Request less, or raise limits.toolTimeoutSeconds.",
                ) from None
            if isinstance(failure, OSError) and failure.errno in _SYSTEM_ERRNOS:
                logger.warning("%s failed: %s", what, failure, extra=_log_fields(ctx))
                raise Unavailable(
                    f"The {what} failed because of the system: {os.strerror(failure.errno)}.",
                    hint="Check disk space and system limits, then try again.",
                ) from None
            logger.exception("%s failed", what, extra=_log_fields(ctx))
            raise InternalError(
                f"The {what} failed with an internal error.", hint="See the server log for details."
            ) from None

    def _run(self, tool: Tool, parsed: BaseModel, ctx: Context) -> Any:
        """The awaitable of a coroutine handler; for a handler in a thread the built result, because large ones take time."""
        value = tool.handler(parsed, ctx)
        return value if tool.runs_in_loop else self._build_result(tool, value, ctx)

    ##= docs/spec/host.md#limits
    ##% A result over `limits.maxResultBytes` MUST be refused with the code `too_large`.
    def _build_result(self, tool: Tool, value: Any, ctx: Context) -> ToolResult:
        """Validate a handler's value against the output model, and convert it for any transport."""
        reply = value if isinstance(value, Reply) else Reply(data=value)
        try:
            data, text = _as_json(_checked_data(tool, reply))
            content = tuple(_well_formed(block) for block in reply.content)
        except (ValidationError, PydanticSerializationError, TypeError, ValueError, RecursionError):
            logger.exception("tool %s returned an invalid answer", tool.name, extra=_log_fields(ctx))
            raise InternalError(
                f"The tool {tool.name} returned an answer that does not match its output schema."
            ) from None
        if not content and data is not None:
            content = (Text(text),)
        size = max(len(text.encode()), sum(map(_size, content)))
        if size > self.limits.result_bytes:
            raise TooLarge(
                f"The answer of {tool.name} has {size} bytes; the limit is {self.limits.result_bytes}.",
                hint="Use a limit or a filter to get less.",
            )
        ##= docs/spec/host.md#tool-calls
        ##% A result MUST name once the fields that can hold text from project files.
        untrusted = tuple(name for name in tool.untrusted if isinstance(data, dict) and name in data)
        return ToolResult(data, content, self._freshness(), reply.is_error, reply.meta, untrusted)


##= docs/spec/host.md#tool-calls
##% Arguments MUST be accepted exactly as the published input schema defines them.
def parse_arguments(tool: Tool, arguments: Mapping[str, Any]) -> BaseModel:
    """The arguments as the tool's input model. Raises `InvalidRequest` with what is wrong and what is allowed."""
    try:
        text = _STRICT_JSON.encode(arguments)
    except (ValueError, RecursionError):
        raise InvalidRequest(
            f"The arguments of {tool.name} contain a number that is not finite, or are nested too deeply."
        ) from None
    try:
        # JSON mode with strict types accepts exactly what the published schema accepts.
        return tool.input_model.model_validate_json(text, strict=True)
    except ValidationError as problems:
        if any(detail["type"] == "int_type" for detail in problems.errors(include_url=False, include_input=False)):
            whole = json_with_integers(arguments)
            if whole != text:
                return _parse_json(tool, whole)
        raise invalid_arguments_error(tool.name, tool.input_schema, problems) from None


def _parse_json(tool: Tool, text: str) -> BaseModel:
    try:
        return tool.input_model.model_validate_json(text, strict=True)
    except ValidationError as problems:
        raise invalid_arguments_error(tool.name, tool.input_schema, problems) from None


def well_formed(text: str) -> str:
    """The text without lone surrogates. They come from undecodable file names and cannot be encoded as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


##= docs/spec/host.md#tool-calls
##% A result MUST be checked against the tool's output schema before it is sent.
def _checked_data(tool: Tool, reply: Reply) -> Any:
    if tool.output_model is None or (reply.data is None and (reply.is_error or reply.content)):
        return reply.data
    checked = (
        reply.data
        if isinstance(reply.data, tool.output_model)
        else tool.output_model.model_validate(reply.data, strict=False)
    )
    return checked.__pydantic_serializer__.to_python(
        checked, mode="json", by_alias=True, exclude_none=True, warnings="error"
    )


def _as_json(data: Any) -> tuple[Any, str]:
    """The data and its JSON text, both fit for every wire."""
    text = _COMPACT_JSON.encode(data)
    clean = well_formed(text)
    return (data if clean is text else json.loads(clean)), escape_hidden_characters(clean)


def _well_formed(content: Content) -> Content:
    match content:
        case Text(text):
            return Text(well_formed(text))
        case ResourceBody(uri, str(body), mime_type):
            return ResourceBody(uri, well_formed(body), mime_type)
        case ResourceBody() | Image() | Audio() | ResourceLink():
            return content
        case _:
            raise TypeError(f"{type(content).__name__} is not a content type")


def _count_warnings(data: Any) -> int:
    """Number of entries in `warnings` and `metadata.warnings` of an answer."""
    parts = (data, data.get("metadata")) if isinstance(data, dict) else ()
    found = (part.get("warnings") for part in parts if isinstance(part, dict))
    return sum(len(warnings) for warnings in found if isinstance(warnings, list))


def _size(content: Content) -> int:
    match content:
        case Text(text):
            return len(text.encode())
        case Image(data) | Audio(data):
            return len(data)
        case ResourceBody(_, body):
            return len(body.encode() if isinstance(body, str) else body)
        case ResourceLink():
            return 0


def _is_being_cancelled() -> bool:
    """Whether the running task was cancelled. A handler can also raise CancelledError for other reasons."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _log_fields(ctx: Context) -> dict[str, Any]:
    return {"contextive_fields": {"requestId": ctx.request_id}}


def _bodies(resource: Resource, uri: str, value: Any) -> list[ResourceBody]:
    if isinstance(value, list) and value and all(isinstance(item, ResourceBody) for item in value):
        bodies: list[ResourceBody] = value
    elif isinstance(value, ResourceBody):
        bodies = [value]
    else:
        if isinstance(value, BaseModel):
            value = value.model_dump(mode="json", by_alias=True)
        if not isinstance(value, str | bytes):
            value = escape_hidden_characters(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False))
        bodies = [ResourceBody(uri, value, resource.mime_type)]
    return [replace(b, body=well_formed(b.body)) if isinstance(b.body, str) else b for b in bodies]


def _resource_position(cursor: str | None, count: int) -> tuple[int, int]:
    if cursor is None:
        return 0, 0
    index, _, offset = decode_cursor("resources", cursor).partition(":")
    if not (index + offset).isascii() or not index.isdigit() or not offset.isdigit():
        raise InvalidCursor("The cursor is not valid for this list.", hint="Start without a cursor.")
    return min(int(index), count), int(offset)
