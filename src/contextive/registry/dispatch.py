"""The one way in which a tool is called, a resource read and a prompt rendered, whichever door the call came through."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError

from contextive.errors import ContextiveError, InternalError, InvalidRequest, TimedOut, TooLarge
from contextive.registry.arguments import explain_arguments
from contextive.registry.content import Content, PromptMessage, Reply, ResourceBody, Text
from contextive.registry.context import Context, Freshness, InputNeeded
from contextive.registry.declaration import Prompt, Resource, ResourceEntry, Tool
from contextive.registry.paging import Page, decode_cursor, encode_cursor
from contextive.registry.registry import Registry, Surface, shown

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a call may take, how large its answer may be, how long a page is."""

    timeout_seconds: float = 60.0
    result_bytes: int = 1_000_000
    page_size: int = 100


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool's answer, ready for any door: data, content blocks, and how fresh it is."""

    data: Any
    content: Sequence[Content]
    as_of: Freshness
    is_error: bool = False
    meta: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The text blocks as one string."""
        return "\n".join(block.text for block in self.content if isinstance(block, Text))


@dataclass(frozen=True, slots=True)
class CallRecord:
    """What is known about one finished call; telemetry and audit are made from it."""

    tool: str
    known: bool
    caller: str
    door: str
    request_id: str
    duration_seconds: float
    arguments: Mapping[str, Any]
    error: str | None
    """The error's code; None for a call that succeeded."""


class CallObserver(Protocol):
    """Is told of every finished call."""

    def __call__(self, record: CallRecord) -> None: ...


class Dispatcher:
    """Finds, checks, runs and reports; a door only translates. The registry may be exchanged while it works."""

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

    async def call(self, surface: Surface, name: str, arguments: Mapping[str, Any], ctx: Context) -> ToolResult:
        """Run one tool. Raises a `ContextiveError` with a stable code, or `InputNeeded`; never anything else."""
        started = time.perf_counter()
        error: str | None = None
        known = name in surface.tools
        try:
            tool = surface.tool(name)
            if not ctx.caller.scope.covers(tool.scope):  # the surface has left it out already; checked again on purpose
                raise InternalError("A tool stood in a surface of too small a scope.")
            parsed = parse_arguments(tool, arguments)
            return self._shape(tool, await self._run(tool, parsed, ctx))
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
            )
            for observer in self.observers:
                observer(record)

    async def read(self, surface: Surface, uri: str, ctx: Context) -> list[ResourceBody]:
        """The body of one resource."""
        resource, full_uri, variables = surface.find_resource(uri)
        value = await self._guarded(lambda: resource.read(variables, ctx), resource.read, f"resource {resource.name}")
        bodies = _bodies(resource, full_uri, value)
        size = sum(len(body.body) for body in bodies)
        if size > self.limits.result_bytes:
            raise TooLarge(f"The resource has {size} bytes, {self.limits.result_bytes} are allowed.")
        return bodies

    async def list_resources(self, surface: Surface, cursor: str | None, ctx: Context) -> Page[ResourceEntry]:
        """One page of everything that can be read: fixed resources and the members of every template."""
        index, offset = _resource_position(cursor, len(surface.resources))
        size = self.limits.page_size
        items: list[ResourceEntry] = []
        while index < len(surface.resources):
            resource = surface.resources[index]
            wanted = size + 1 - len(items)
            entries = await self._entries(resource, offset, wanted, ctx)
            items.extend(entries)
            if len(items) > size:
                return Page(
                    items[:size], encode_cursor("resources", f"{index}:{offset + len(entries) - (len(items) - size)}")
                )
            if len(entries) < wanted:
                index, offset = index + 1, 0
            else:
                offset += len(entries)
        return Page(items)

    async def render(
        self, surface: Surface, name: str, arguments: Mapping[str, str], ctx: Context
    ) -> tuple[Prompt, Sequence[PromptMessage]]:
        """A prompt with its blanks filled."""
        prompt = surface.prompt(name)
        known = {argument.name for argument in prompt.arguments}
        if unknown := sorted(set(arguments) - known):
            raise InvalidRequest(
                f"Unknown argument {shown(unknown[0])} for prompt {name}.",
                hint=f"Allowed: {', '.join(sorted(known)) or 'none'}.",
            )
        missing = [a.name for a in prompt.arguments if a.required and not arguments.get(a.name)]
        if missing:
            raise InvalidRequest(f"Prompt {name} needs the argument {missing[0]}.", hint="Give it a non-empty value.")
        messages = await self._guarded(lambda: prompt.render(arguments, ctx), prompt.render, f"prompt {name}")
        return prompt, messages

    async def complete(
        self, handler: Callable[..., Any], prefix: str, others: Mapping[str, str], ctx: Context
    ) -> Sequence[str]:
        """Values that a blank can take."""
        values = await self._guarded(lambda: handler(prefix, others, ctx), handler, "completion")
        return [str(value) for value in values]

    async def _entries(self, resource: Resource, offset: int, limit: int, ctx: Context) -> Sequence[ResourceEntry]:
        if resource.list_entries is not None:
            handler = resource.list_entries
            listed: Sequence[ResourceEntry] = await self._guarded(
                lambda: handler(offset, limit, ctx), handler, f"listing {resource.name}"
            )
            return list(listed)[:limit]
        if resource.is_template or offset:
            return []
        return [ResourceEntry(resource.uri, resource.name, resource.title, resource.description, resource.mime_type)]

    async def _run(self, tool: Tool, parsed: BaseModel, ctx: Context) -> Any:
        return await self._guarded(lambda: tool.handler(parsed, ctx), tool.handler, f"tool {tool.name}")

    async def _guarded(self, run: Callable[[], Any], handler: Callable[..., Any], what: str) -> Any:
        """Run a handler under the time limit; whatever it raises leaves as one of our errors."""
        try:
            async with asyncio.timeout(self.limits.timeout_seconds):
                if asyncio.iscoroutinefunction(handler):
                    return await run()
                return await asyncio.to_thread(run)
        except (ContextiveError, InputNeeded, asyncio.CancelledError):
            raise
        except TimeoutError:
            raise TimedOut(
                f"The {what} took longer than {self.limits.timeout_seconds:g} seconds.",
                hint="Ask for less, or raise limits.toolTimeoutSeconds.",
            ) from None
        except (Exception, SystemExit):
            # The outermost handler: a fault in a pack must cost this call only, and must not show its insides.
            logger.exception("%s failed", what)
            raise InternalError(
                f"The {what} failed inside.", hint="The server's log has the details under this request's id."
            ) from None

    def _shape(self, tool: Tool, value: Any) -> ToolResult:
        """Check a handler's value against the tool's output model and make it ready for any door."""
        reply = value if isinstance(value, Reply) else Reply(data=value)
        data = _checked_data(tool, reply)
        content = tuple(reply.content)
        if not content and data is not None:
            content = (Text(json.dumps(data, ensure_ascii=False)),)
        size = sum(len(block.text.encode("utf-8", "replace")) for block in content if isinstance(block, Text))
        if size > self.limits.result_bytes:
            raise TooLarge(
                f"The answer of {tool.name} has {size} bytes, {self.limits.result_bytes} are allowed.",
                hint="Ask for less with a limit or a filter.",
            )
        return ToolResult(data, content, self._freshness(), reply.is_error, reply.meta)


def parse_arguments(tool: Tool, arguments: Mapping[str, Any]) -> BaseModel:
    """The arguments as the tool's input model, or an `InvalidRequest` that names what is wrong and what is allowed."""
    try:
        # JSON mode with strict types accepts exactly what the published schema accepts.
        return tool.input_model.model_validate_json(json.dumps(arguments), strict=True)
    except ValidationError as problems:
        raise explain_arguments(tool.name, tool.input_schema, problems) from None


def _checked_data(tool: Tool, reply: Reply) -> Any:
    if tool.output_model is None or (reply.data is None and (reply.is_error or reply.content)):
        return reply.data
    try:
        checked = (
            reply.data
            if isinstance(reply.data, tool.output_model)
            else tool.output_model.model_validate(reply.data, strict=False)
        )
        return checked.__pydantic_serializer__.to_python(checked, mode="json", by_alias=True, warnings="error")
    except (ValidationError, PydanticSerializationError):
        logger.exception("tool %s returned what its output schema does not allow", tool.name)
        raise InternalError(f"The tool {tool.name} gave an answer that its schema does not allow.") from None


def _bodies(resource: Resource, uri: str, value: Any) -> list[ResourceBody]:
    if isinstance(value, ResourceBody):
        return [value]
    if isinstance(value, list) and value and all(isinstance(item, ResourceBody) for item in value):
        return value
    if isinstance(value, str | bytes):
        return [ResourceBody(uri, value, resource.mime_type)]
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json", by_alias=True)
    return [ResourceBody(uri, json.dumps(value, ensure_ascii=False, indent=2), resource.mime_type)]


def _resource_position(cursor: str | None, count: int) -> tuple[int, int]:
    if cursor is None:
        return 0, 0
    index, _, offset = decode_cursor("resources", cursor).partition(":")
    return min(int(index), count), int(offset)
