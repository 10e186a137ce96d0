"""Converts between Contextive's values and the SDK's wire models. Pure translation, no decisions."""

from __future__ import annotations

import base64
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from contextive.errors import (
    CapabilityMissing,
    ContextiveError,
    InternalError,
    InvalidRequest,
    NotFound,
    ResourceNotFound,
)
from contextive.registry import (
    Audio,
    Content,
    Image,
    InputNeeded,
    Prompt,
    PromptMessage,
    Question,
    Resource,
    ResourceBody,
    ResourceEntry,
    ResourceLink,
    Text,
    Tool,
    ToolResult,
)
from contextive.registry.paging import Page
from contextive.registry.vendors import tool_meta

AS_OF_META_KEY = "contextive/as_of"
UNTRUSTED_META_KEY = "contextive/untrusted"
MISSING_META_KEY = "contextive/missing"
FIELDS_META_KEY = "contextive/fields"
LEGACY_RESOURCE_NOT_FOUND = -32002


##= docs/spec/host.md#declaration
##% The annotations of a tool MUST say whether it is read-only, destructive and idempotent, and whether it reaches
##% external systems.
def tool_to_wire(tool: Tool) -> types.Tool:
    annotations = tool.annotations
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=types.ToolAnnotations(
            read_only_hint=annotations.read_only,
            destructive_hint=annotations.destructive,
            idempotent_hint=annotations.idempotent,
            open_world_hint=annotations.open_world,
        ),
        _meta={**dict(tool.meta), **tool_meta(tool)} or None,
    )


def resources_to_wire(page: Page[ResourceEntry], *, with_fields: bool = False) -> types.ListResourcesResult:
    """A page of resources, with the errors of those that could not be listed. `with_fields` adds their own fields."""
    missing = [failure.as_dict() for failure in page.failures]
    return types.ListResourcesResult(
        resources=[_resource_to_wire(entry, with_fields) for entry in page.items],
        next_cursor=page.next_cursor,
        _meta={MISSING_META_KEY: missing} if missing else None,
    )


def _resource_to_wire(entry: ResourceEntry, with_fields: bool) -> types.Resource:
    return types.Resource(
        uri=entry.uri,
        name=entry.name,
        title=entry.title,
        description=entry.description,
        mime_type=entry.mime_type,
        size=entry.size,
        _meta={FIELDS_META_KEY: dict(entry.fields)} if with_fields and entry.fields else None,
    )


##= docs/spec/trace.md#uris
##% A list of resources below a path MUST have the fields of each resource in its entry.
def fields_to_top(result: dict[str, Any]) -> dict[str, Any]:
    """A list of resources with their own fields beside `uri` and `name`. The SDK leaves out fields that MCP lacks."""
    for resource in result.get("resources", ()):
        meta = resource.pop("_meta", {})
        resource.update(meta.pop(FIELDS_META_KEY, {}))
        if meta:
            resource["_meta"] = meta
    return result


def template_to_wire(resource: Resource) -> types.ResourceTemplate:
    return types.ResourceTemplate(
        uri_template=resource.uri,
        name=resource.name,
        title=resource.title,
        description=resource.description,
        mime_type=resource.mime_type,
    )


def prompt_to_wire(prompt: Prompt) -> types.Prompt:
    return types.Prompt(
        name=prompt.name,
        title=prompt.title,
        description=prompt.description,
        arguments=[
            types.PromptArgument(name=argument.name, description=argument.description, required=argument.required)
            for argument in prompt.arguments
        ],
    )


def message_to_wire(message: PromptMessage) -> types.PromptMessage:
    return types.PromptMessage(role=message.role, content=content_to_wire(message.content))


def content_to_wire(content: Content) -> types.ContentBlock:
    match content:
        case Text(text):
            return types.TextContent(text=text)
        case Image(data, mime_type):
            return types.ImageContent(data=_base64(data), mime_type=mime_type)
        case Audio(data, mime_type):
            return types.AudioContent(data=_base64(data), mime_type=mime_type)
        case ResourceLink(uri, name, mime_type, description):
            return types.ResourceLink(uri=uri, name=name, mime_type=mime_type, description=description)
        case ResourceBody():
            return types.EmbeddedResource(resource=body_to_wire(content))


def body_to_wire(body: ResourceBody) -> types.TextResourceContents | types.BlobResourceContents:
    if isinstance(body.body, bytes):
        return types.BlobResourceContents(uri=body.uri, mime_type=body.mime_type, blob=_base64(body.body))
    return types.TextResourceContents(uri=body.uri, mime_type=body.mime_type, text=body.body)


##= docs/spec/host.md#tool-calls
##% A successful result MUST contain its data as structured content and the same data as text.
##= docs/spec/host.md#tool-calls
##% A result MUST report the freshness of its data.
def result_to_wire(result: ToolResult) -> types.CallToolResult:
    untrusted = {UNTRUSTED_META_KEY: list(result.untrusted)} if result.untrusted else {}
    return types.CallToolResult(
        content=[content_to_wire(block) for block in result.content],
        structured_content=result.data if not result.is_error else None,
        is_error=result.is_error,
        _meta={AS_OF_META_KEY: result.as_of.as_dict(), **untrusted, **result.meta},
    )


##= docs/spec/host.md#tool-calls
##% A failed call MUST return a result with `isError`, a code, a message and, if there is a remedy, a hint.
##= docs/spec/host.md#tool-calls
##% A failed call MUST NOT return structured content.
def failure_to_wire(error: ContextiveError) -> types.CallToolResult:
    """The result of a failed tool call. No structured content: clients validate that against the output schema."""
    return types.CallToolResult(content=[types.TextContent(text=failure_text(error))], is_error=True)


##= docs/spec/gateway.md#tool-results
##% An error MUST have the `status` `error` and an `error` with a code, a message and, if there is a remedy, a hint.
def failure_text(error: ContextiveError) -> str:
    from pydantic_core import to_json

    return to_json({"status": "error", "error": error.as_dict()}).decode()


def question_to_wire(question: Question) -> dict[str, Any]:
    return {"method": question.method, "params": dict(question.params)}


def input_needed_to_wire(needed: InputNeeded) -> dict[str, Any]:
    result: dict[str, Any] = {
        "resultType": "input_required",
        "inputRequests": {key: question_to_wire(question) for key, question in needed.questions.items()},
    }
    if needed.state is not None:
        result["requestState"] = needed.state
    return result


def protocol_error(error: ContextiveError, version: str, *, uri: str | None = None) -> MCPError:
    """An error outside a tool call as a JSON-RPC error for the client's protocol era."""
    modern = version in MODERN_PROTOCOL_VERSIONS
    data: dict[str, Any] = {"code": error.code}
    if error.hint:
        data["hint"] = error.hint
    if uri is not None:
        data["uri"] = uri
    match error:
        case CapabilityMissing() if modern:
            data["requiredCapabilities"] = {name: {} for name in error.capabilities}
            return MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, error.message, data)
        case ResourceNotFound() if not modern:
            return MCPError(LEGACY_RESOURCE_NOT_FOUND, error.message, data)
        case NotFound() | InvalidRequest():
            return MCPError(types.INVALID_PARAMS, error.message, data)
        case InternalError():
            return MCPError(types.INTERNAL_ERROR, error.message, data)
        case _:
            return MCPError(types.INTERNAL_ERROR, error.message, data)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
