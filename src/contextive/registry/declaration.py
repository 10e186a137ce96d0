"""Declarations of packs, tools, resources and prompts. Every transport serves the same declarations."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict

from contextive.registry.content import PromptMessage, Reply, ResourceBody
from contextive.registry.context import Context
from contextive.registry.schema import input_schema, output_schema
from contextive.registry.scopes import Scope

TOOL_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$")


##= docs/spec/host.md#declaration
##% An input schema MUST refuse unknown arguments.
class ToolInput(BaseModel):
    """Base class of input models: strict types, no unknown fields."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ToolOutput(BaseModel):
    """Base class of output models."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NoInput(ToolInput):
    """The input of a tool without arguments."""


ToolHandler: TypeAlias = Callable[[Any, Context], Awaitable[Any] | Any]
ReadHandler: TypeAlias = Callable[[Mapping[str, str], Context], Awaitable[Any] | Any]
CompleteHandler: TypeAlias = Callable[[str, Mapping[str, str], Context], Awaitable[Sequence[str]] | Sequence[str]]
RenderHandler: TypeAlias = Callable[
    [Mapping[str, str], Context], Awaitable[Sequence[PromptMessage]] | Sequence[PromptMessage]
]


##= docs/spec/host.md#declaration
##% The annotations of a tool MUST say whether it is read-only, destructive and idempotent, and whether it reaches
##% external systems.
@dataclass(frozen=True, slots=True)
class Annotations:
    """The MCP annotations of a tool."""

    read_only: bool = True
    destructive: bool = False
    idempotent: bool = True
    open_world: bool = False


@dataclass(frozen=True, slots=True)
class ToolCode:
    """The handler of a tool, and its input and output models."""

    input_model: type[BaseModel]
    output_model: type[BaseModel] | None
    handler: ToolHandler


@dataclass(frozen=True, slots=True)
class ToolSchemas:
    """The JSON Schemas of the input and output of a tool."""

    input: dict[str, Any]
    output: dict[str, Any] | None


##= docs/spec/host.md#declaration
##% A tool MUST have a name, a title, a description, an input schema and an output schema.
##= docs/spec/host.md#declaration
##% A tool that changes something MUST say so in its safety notes.
@dataclass(frozen=True)
class Tool:
    """One tool. Its code is loaded on first use."""

    name: str
    title: str
    description: str
    load: Callable[[], ToolCode]
    scope: Scope = Scope.READER
    ##= docs/spec/host.md#declaration
    ##% A tool declaration MUST include labels and safety notes.
    labels: tuple[str, ...] = ()
    safety_notes: str = ""
    ##= docs/spec/host.md#declaration
    ##% A tool declaration MAY include hints on when an agent should call the tool.
    invocation_hints: str = ""
    annotations: Annotations = field(default_factory=Annotations)
    meta: Mapping[str, Any] = field(default_factory=dict)
    pack: str = ""
    listed: bool = True
    """Whether the default profile lists the tool. A tool that is not listed can still be called."""
    essential: bool = False
    """Whether clients that load tools on demand should always load this one."""
    needs: str = ""
    """What the project must have before the default profile lists the tool; empty means nothing."""
    timeout_seconds: float | None = None
    """Time limit for a tool that takes long; None means the limit of the server."""
    list_field: str | None = None
    """The field of the result that is the whole answer where a plain array is expected."""
    untrusted: tuple[str, ...] = ()
    """The top-level fields of the result that can hold text from the project's files or from a model."""
    schemas: ToolSchemas | None = None
    """Schemas from `declared.json`; None means they are generated from the types of the handler."""

    @cached_property
    def code(self) -> ToolCode:
        return self.load()

    @property
    def input_model(self) -> type[BaseModel]:
        return self.code.input_model

    @property
    def output_model(self) -> type[BaseModel] | None:
        return self.code.output_model

    @property
    def handler(self) -> ToolHandler:
        return self.code.handler

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        return self.schemas.input if self.schemas is not None else input_schema(self.input_model)

    @cached_property
    def output_schema(self) -> dict[str, Any] | None:
        if self.schemas is not None:
            return self.schemas.output
        return output_schema(self.output_model) if self.output_model is not None else None

    @cached_property
    def runs_in_loop(self) -> bool:
        """Coroutine handlers run in the event loop, plain functions in a worker thread."""
        return asyncio.iscoroutinefunction(self.handler)


@dataclass(frozen=True, slots=True)
class ResourceEntry:
    """One entry of a resource list."""

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the resource itself, which the list below another resource adds to the entry."""


ListHandler: TypeAlias = Callable[[int, int, Context], Awaitable[Sequence[ResourceEntry]] | Sequence[ResourceEntry]]


@dataclass(frozen=True, slots=True)
class ResourceCode:
    """The functions of a resource: read it, list the members of a template, complete the variables."""

    read: ReadHandler
    list_entries: ListHandler | None = None
    complete: Mapping[str, CompleteHandler] = field(default_factory=dict)


@dataclass(frozen=True)
class Resource:
    """The resource at a URI, or all resources of an RFC 6570 template."""

    uri: str
    name: str
    title: str
    description: str
    mime_type: str
    load: Callable[[], ResourceCode]
    scope: Scope = Scope.READER
    in_parts: bool = False
    """Whether the query parameters `offset` and `limit` select a part of it."""
    members: tuple[str, ...] = ()
    """Templates whose members are listed below it although their URIs are not directly below its own."""
    listed: bool = True
    """Whether the members of a template are in the list of all resources. Otherwise they are only in the list below their
    parent, because there can be thousands of them."""
    pack: str = ""
    needs: str = ""

    @cached_property
    def code(self) -> ResourceCode:
        return self.load()

    @property
    def is_template(self) -> bool:
        return "{" in self.uri


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """An argument of a prompt."""

    name: str
    description: str
    required: bool = False
    complete: CompleteHandler | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class PromptCode:
    """The functions of a prompt: render it, complete the arguments."""

    render: RenderHandler
    complete: Mapping[str, CompleteHandler] = field(default_factory=dict)


@dataclass(frozen=True)
class Prompt:
    """A prompt template that a user chooses and a model receives."""

    name: str
    title: str
    description: str
    load: Callable[[], PromptCode]
    arguments: tuple[PromptArgument, ...] = ()
    scope: Scope = Scope.READER
    pack: str = ""
    needs: str = ""

    @cached_property
    def code(self) -> PromptCode:
        return self.load()


F = TypeVar("F", bound=Callable[..., Any])


class Pack:
    """A named set of tools, resources and prompts, which its decorators add."""

    def __init__(
        self,
        name: str,
        *,
        title: str,
        description: str,
        default_tools: Sequence[str] | None = None,
        needs: str = "",
        guide: str = "",
    ) -> None:
        """`default_tools` are the tools that the default profile lists; None means all. `needs` says what the project
        must have before that profile lists anything of this pack. `guide` is the beginning of the instructions of a
        profile that offers this pack alone."""
        self.name = name
        self.title = title
        self.description = description
        self.default_tools = None if default_tools is None else frozenset(default_tools)
        self.needs = needs
        self.guide = guide
        self.tools: list[Tool] = []
        self.resources: list[Resource] = []
        self.prompts: list[Prompt] = []

    ##= docs/spec/host.md#declaration
    ##% A tool MUST be declared once, and every transport offers it from that declaration.
    def tool(
        self,
        name: str,
        *,
        title: str,
        description: str,
        scope: Scope = Scope.READER,
        labels: Sequence[str] = (),
        safety_notes: str = "",
        invocation_hints: str = "",
        annotations: Annotations | None = None,
        output: type[BaseModel] | None = None,
        meta: Mapping[str, Any] | None = None,
        essential: bool = False,
        needs: str | None = None,
        timeout_seconds: float | None = None,
        list_field: str | None = None,
        untrusted: Sequence[str] = (),
    ) -> Callable[[F], F]:
        """Declare the decorated `handler(input, ctx) -> output` as a tool. Its type annotations define the schemas.

        For a handler that returns a `Reply`, `output` is the model of `Reply.data`.
        """
        if not TOOL_NAME.match(name):
            raise ValueError(f"{name!r} is not a tool name: letters, digits, '_', '-', '.', at most 128")

        def declare(handler: F) -> F:
            input_model, output_model = _models_of(handler)
            code = ToolCode(input_model, output or output_model, handler)
            self.tools.append(
                Tool(
                    name=name,
                    title=title,
                    description=description,
                    load=lambda: code,
                    scope=scope,
                    labels=tuple(labels),
                    safety_notes=safety_notes,
                    invocation_hints=invocation_hints,
                    annotations=annotations or Annotations(),
                    meta=dict(meta or {}),
                    pack=self.name,
                    listed=self.default_tools is None or name in self.default_tools,
                    essential=essential,
                    needs=self.needs if needs is None else needs,
                    timeout_seconds=timeout_seconds,
                    list_field=list_field,
                    untrusted=tuple(untrusted),
                )
            )
            return handler

        return declare

    def resource(
        self,
        uri: str,
        *,
        name: str,
        title: str,
        description: str,
        mime_type: str = "application/json",
        scope: Scope = Scope.READER,
        list_entries: ListHandler | None = None,
        complete: Mapping[str, CompleteHandler] | None = None,
        in_parts: bool = False,
        members: tuple[str, ...] = (),
        listed: bool = True,
        needs: str = "",
    ) -> Callable[[F], F]:
        """Declare the decorated `read(variables, ctx)` as the resource at `uri`, which may be a template.

        `list_entries(offset, limit, ctx)` returns one page of the members of a template.
        """

        def declare(read: F) -> F:
            code = ResourceCode(read, list_entries, dict(complete or {}))
            self.resources.append(
                Resource(
                    uri=uri,
                    name=name,
                    title=title,
                    description=description,
                    mime_type=mime_type,
                    load=lambda: code,
                    scope=scope,
                    in_parts=in_parts,
                    members=members,
                    listed=listed,
                    pack=self.name,
                    needs=needs,
                )
            )
            return read

        return declare

    def prompt(
        self,
        name: str,
        *,
        title: str,
        description: str,
        arguments: Sequence[PromptArgument] = (),
        scope: Scope = Scope.READER,
        needs: str | None = None,
    ) -> Callable[[F], F]:
        """Declare the decorated `render(arguments, ctx) -> messages` as a prompt."""

        def declare(render: F) -> F:
            code = PromptCode(render, {a.name: a.complete for a in arguments if a.complete is not None})
            self.prompts.append(
                Prompt(
                    name=name,
                    title=title,
                    description=description,
                    load=lambda: code,
                    arguments=tuple(arguments),
                    scope=scope,
                    pack=self.name,
                    needs=self.needs if needs is None else needs,
                )
            )
            return render

        return declare


##= docs/spec/host.md#declaration
##% A tool MUST have a handler that takes the input and a context and returns the output.
##= docs/spec/host.md#declaration
##% The schemas of a tool MUST be generated from the types of its handler.
def _models_of(handler: Callable[..., Any]) -> tuple[type[BaseModel], type[BaseModel] | None]:
    """Input and output model, read from the annotations of `handler(input, ctx) -> output`."""
    hints = get_type_hints(handler)
    returns = hints.pop("return", None)
    parameters = [name for name in inspect.signature(handler).parameters if name != "self"]
    if len(parameters) != 2:
        raise TypeError(f"{handler.__name__} must take (input, ctx)")
    input_model = hints.get(parameters[0])
    if not (isinstance(input_model, type) and issubclass(input_model, BaseModel)):
        raise TypeError(f"{handler.__name__}: annotate the first parameter with a pydantic model")
    if input_model.model_config.get("extra") != "forbid":
        raise TypeError(f"{handler.__name__}: the input model must forbid unknown arguments (derive from ToolInput)")
    if returns is Reply:
        return input_model, None
    if not (isinstance(returns, type) and issubclass(returns, BaseModel)):
        raise TypeError(f"{handler.__name__}: annotate the result with a pydantic model or Reply")
    return input_model, returns


__all__ = [
    "Annotations",
    "NoInput",
    "Pack",
    "Prompt",
    "PromptArgument",
    "Resource",
    "ResourceBody",
    "ResourceEntry",
    "Tool",
    "ToolInput",
    "ToolOutput",
]
