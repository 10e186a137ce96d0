"""One profile as an MCP server: the SDK's low-level `Server`, whose handlers call the dispatcher.

Everything that must hold in both eras and on both transports is in `_MessageMiddleware`, which wraps every message.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.lowlevel.server import NotificationOptions
from mcp.server.models import InitializationOptions
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

from contextive.errors import CapabilityMissing, ContextiveError, InvalidRequest, ResourceNotFound, ToolNotFound
from contextive.registry import Caller, Context, InputNeeded, Prompt, Resource, Surface
from contextive.registry.paging import page_of
from contextive.server.client import McpClient, remember_log_level
from contextive.server.extensions import extensions_of
from contextive.server.handshake import check_initialize
from contextive.server.instructions import write_instructions
from contextive.server.logs import log_refusal
from contextive.server.notifications import NotificationHub
from contextive.server.profiles import Profile
from contextive.server.request_params import explain_invalid_params, resolve_aliases
from contextive.server.sdk import connection_of, pin_requested_version
from contextive.server.skills import add_skill_methods
from contextive.server.wire import (
    body_to_wire,
    failure_to_wire,
    fields_to_top,
    input_needed_to_wire,
    message_to_wire,
    prompt_to_wire,
    protocol_error,
    resources_to_wire,
    result_to_wire,
    template_to_wire,
    tool_to_wire,
)

if TYPE_CHECKING:
    from contextive.server.host import Host

logger = logging.getLogger(__name__)

RequestContext = ServerRequestContext[Any, Any]

CALLER_KEY = "contextive.caller"
"""Where `RequestGuard` puts the authenticated caller in the ASGI scope."""
REQUEST_ID_KEY = "contextive.request_id"
LOGGED_KEY = "contextive.logged"
"""Set in the ASGI scope once this request was logged."""

_LIST_TTL_MS = 60_000
_MAX_COMPLETIONS = 100


##= docs/spec/host.md#protocol-versions
##% The server MUST pass the scored scenarios of the official conformance suite for 2025-11-25 and 2026-07-28.
class ProfileServer(Server[Any]):
    """The SDK server of one profile, which declares `listChanged` on every transport."""

    ##= docs/spec/host.md#capabilities
    ##% The server MUST declare `listChanged` for tools, resources and prompts.
    ##= docs/spec/spexus.md#capabilities
    ##% The property `listChanged` MUST be true for prompts, resources and tools.
    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        everything = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
        return super().create_initialization_options(everything, experimental_capabilities, extensions)


class McpHandlers:
    """The MCP handlers of one profile. Stateless except for the notification hub, so all transports share them."""

    def __init__(self, host: Host, profile: Profile) -> None:
        self.host = host
        self.profile = profile
        self.hub = NotificationHub()
        self.list_version: int | None = None
        """The version of the list of resources that clients know; None before one has asked for the list."""
        self.server = self._build()
        add_skill_methods(self)

    def surface(self, caller: Caller) -> Surface:
        return self.host.surface_for(self.profile, caller)

    ##= docs/spec/spexus.md#instructions
    ##% The instructions MUST change when the server changes what it offers.
    def instructions(self, caller: Caller) -> str:
        surface = self.host.listed_surface(self.profile, caller)
        return write_instructions(self.profile, surface, self.host.guide_for(self.profile, surface))

    ##= docs/spec/host.md#discovery
    ##% Every enabled pack MUST be registered with the MCP server.
    ##= docs/spec/host.md#protocol-versions
    ##% The server MUST implement MCP 2025-11-25 over stdio and over HTTP.
    def _build(self) -> ProfileServer:
        ##= docs/spec/host.md#capabilities
        ##% Every declared capability MUST be served.
        ##= docs/spec/host.md#malformed-messages
        ##% An unknown method MUST be answered with -32601.
        server = ProfileServer(
            self.profile.server_name,
            version=self.profile.version,
            title=self.profile.title,
            cache_hints={
                "tools/list": CacheHint(_LIST_TTL_MS, "private"),
                "prompts/list": CacheHint(_LIST_TTL_MS, "private"),
                "resources/templates/list": CacheHint(_LIST_TTL_MS, "private"),
                # Files may change at any moment, so these must not be cached.
                "resources/list": CacheHint(0, "private"),
                "resources/read": CacheHint(0, "private"),
            },
            get_tool_input_schema=self._input_schema,
            ##= docs/spec/host.md#capabilities
            ##% The server MUST declare the capabilities tools, resources and prompts.
            ##= docs/spec/spexus.md#capabilities
            ##% The result MUST have a `capabilities` object with the sections prompts, resources and tools.
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            ##= docs/spec/spexus.md#capabilities
            ##% The declared capabilities MUST be those that the profile actually serves.
            ##= docs/spec/spexus.md#capabilities
            ##% Every feature that the profile offers MUST be declared.
            on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_templates,
            on_read_resource=self.read_resource,
            on_subscribe_resource=self.subscribe,
            on_unsubscribe_resource=self.unsubscribe,
            on_subscriptions_listen=self.listen,
            on_list_prompts=self.list_prompts,
            on_get_prompt=self.get_prompt,
            on_completion=self.complete,
        )
        server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, self.set_level)
        tracing = server.middleware if self.host.config.server.tracing.enabled else []
        server.middleware = [
            *tracing,
            _MessageMiddleware(self),
            RequestStateBoundary(RequestStateSecurity(keys=[self.host.state_key]), default_audience=self.profile.name),
        ]
        return server

    def _input_schema(self, name: str) -> Mapping[str, Any] | None:
        """For the `Mcp-Param-*` header check, which runs before the caller is known: covers tools of all scopes."""
        tool = self.host.widest_surface(self.profile).tools.get(name)
        return tool.input_schema if tool else None

    # -- lists ---------------------------------------------------------------------------------------------------------

    async def list_tools(
        self, ctx: RequestContext, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        tools = list((await self._listed(ctx)).tools.values())
        page = page_of("tools", tools, _cursor(params), self.host.limits.page_size)
        return types.ListToolsResult(tools=[tool_to_wire(tool) for tool in page.items], next_cursor=page.next_cursor)

    async def list_resources(
        self, ctx: RequestContext, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        call, dispatcher = self._context(ctx), self.host.dispatcher
        below = (ctx.params or {}).get("uri")
        await self.host.watch_list(self)
        if below is None:
            page = await dispatcher.list_resources(await self._listed(ctx), _cursor(params), call)
        elif isinstance(below, str):
            page = await dispatcher.list_below(self._surface_of(ctx), below, _cursor(params), call)
        else:
            raise InvalidRequest("params.uri must be a string.", hint="Give the URI or path of a resource, or none.")
        return resources_to_wire(page, with_fields=below is not None)

    ##= docs/spec/host.md#resources-and-prompts
    ##% The server MUST list resource templates and suggest values for their parameters.
    async def list_templates(
        self, ctx: RequestContext, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        templates = [resource for resource in (await self._listed(ctx)).resources if resource.is_template]
        page = page_of("templates", templates, _cursor(params), self.host.limits.page_size)
        return types.ListResourceTemplatesResult(
            resource_templates=[template_to_wire(resource) for resource in page.items], next_cursor=page.next_cursor
        )

    async def list_prompts(
        self, ctx: RequestContext, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        prompts = list((await self._listed(ctx)).prompts.values())
        page = page_of("prompts", prompts, _cursor(params), self.host.limits.page_size)
        return types.ListPromptsResult(
            prompts=[prompt_to_wire(prompt) for prompt in page.items], next_cursor=page.next_cursor
        )

    # -- calls ---------------------------------------------------------------------------------------------------------

    ##= docs/spec/host.md#tool-calls
    ##% A call to a tool that does not exist MUST be a protocol error.
    async def call_tool(self, ctx: RequestContext, params: types.CallToolRequestParams) -> Any:
        call = self._context(ctx, McpClient(ctx, params.input_responses, params.request_state))
        surface = self.surface(call.caller)
        _mark_logged(ctx)  # the dispatcher logs every call, even a failed one
        try:
            result = await self.host.dispatcher.call(surface, params.name, params.arguments or {}, call)
        except InputNeeded as needed:
            return input_needed_to_wire(needed)
        except ToolNotFound:
            raise
        except CapabilityMissing as error:
            if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
                raise
            return failure_to_wire(error)
        except ContextiveError as error:
            return failure_to_wire(error)
        return result_to_wire(result)

    async def read_resource(self, ctx: RequestContext, params: types.ReadResourceRequestParams) -> Any:
        call = self._context(ctx, McpClient(ctx, params.input_responses, params.request_state))
        try:
            bodies = await self.host.dispatcher.read(self._surface_of(ctx), params.uri, call)
        except InputNeeded as needed:
            return input_needed_to_wire(needed)
        except ContextiveError as error:
            raise protocol_error(error, ctx.protocol_version, uri=params.uri) from None
        return types.ReadResourceResult(contents=[body_to_wire(body) for body in bodies])

    ##= docs/spec/host.md#resources-and-prompts
    ##% The server MUST offer prompt templates as MCP prompts.
    async def get_prompt(self, ctx: RequestContext, params: types.GetPromptRequestParams) -> Any:
        call = self._context(ctx, McpClient(ctx, params.input_responses, params.request_state))
        try:
            prompt, messages = await self.host.dispatcher.render(
                self._surface_of(ctx), params.name, params.arguments or {}, call
            )
        except InputNeeded as needed:
            return input_needed_to_wire(needed)
        return types.GetPromptResult(
            description=prompt.description, messages=[message_to_wire(message) for message in messages]
        )

    async def complete(self, ctx: RequestContext, params: types.CompleteRequestParams) -> types.CompleteResult:
        surface = self._surface_of(ctx)
        name = params.argument.name
        others = (params.context.arguments if params.context else None) or {}
        target: Prompt | Resource
        if isinstance(params.ref, types.PromptReference):
            target = surface.prompt(params.ref.name)
            if all(argument.name != name for argument in target.arguments):
                raise InvalidRequest(f"The prompt {params.ref.name} has no argument with that name.")
        else:
            target = surface.find_template(params.ref.uri)
        handler = target.code.complete.get(name)
        values = (
            await self.host.dispatcher.complete(target.pack, handler, params.argument.value, others, self._context(ctx))
            if handler
            else []
        )
        return types.CompleteResult(
            completion=types.Completion(
                values=list(values[:_MAX_COMPLETIONS]), total=len(values), has_more=len(values) > _MAX_COMPLETIONS
            )
        )

    # -- handshake-era subscriptions and logging -----------------------------------------------------------------------

    ##= docs/spec/spexus.md#capabilities
    ##% The resources section MAY declare `subscribe`, in which case its value is true.
    async def subscribe(self, ctx: RequestContext, params: types.SubscribeRequestParams) -> types.EmptyResult:
        surface = self._surface_of(ctx)
        _, uri, _ = surface.find_resource(params.uri)
        try:
            await self.host.dispatcher.read(surface, uri, self._context(ctx))
        except ResourceNotFound:
            raise  # there would never be a notification
        except ContextiveError as error:
            logger.debug("%s is subscribed to and cannot be read now: %s", uri, error)
        await self.host.prepare_subscription([uri])
        self.hub.subscribe(connection_of(ctx), uri, params.uri)
        return types.EmptyResult()

    async def listen(
        self, ctx: RequestContext, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        await self.host.prepare_subscription(params.notifications.resource_subscriptions or ())
        return await self.hub.listen(ctx, params)

    async def unsubscribe(self, ctx: RequestContext, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        _, uri, _ = self._surface_of(ctx).find_resource(params.uri)
        self.hub.unsubscribe(connection_of(ctx), uri)
        return types.EmptyResult()

    async def set_level(self, ctx: RequestContext, params: types.SetLevelRequestParams) -> types.EmptyResult:
        remember_log_level(ctx, params.level)
        return types.EmptyResult()

    # -- caller and context --------------------------------------------------------------------------------------------

    def caller_of(self, ctx: RequestContext) -> Caller:
        """The caller that `RequestGuard` authenticated, or the owner over stdio."""
        scope = getattr(ctx.request, "scope", None)
        if isinstance(scope, dict):
            caller = scope.get(CALLER_KEY)
            assert isinstance(caller, Caller), "RequestGuard sets the caller of every request"
            return caller
        return self.host.owner

    def _surface_of(self, ctx: RequestContext) -> Surface:
        return self.surface(self.caller_of(ctx))

    async def refresh_presence(self) -> None:
        if not self.profile.lists_everything and not self.host.presence.is_complete:
            await asyncio.to_thread(self.host.presence.refresh)

    async def _listed(self, ctx: RequestContext) -> Surface:
        """What lists show to this caller."""
        await self.refresh_presence()
        return self.host.listed_surface(self.profile, self.caller_of(ctx))

    def _context(self, ctx: RequestContext, client: McpClient | None = None) -> Context:
        scope = getattr(ctx.request, "scope", None)
        over_http = isinstance(scope, dict)
        request_id = scope.get(REQUEST_ID_KEY) if isinstance(scope, dict) else None
        return self.host.context(
            self.caller_of(ctx),
            door="mcp-http" if over_http else "mcp-stdio",
            profile=self.profile,
            request_id=request_id or uuid.uuid4().hex,
            client=client or McpClient(ctx),
        )


class _MessageMiddleware:
    """Wraps every message: resolves aliases, checks the handshake, adds instructions, hides internal errors."""

    def __init__(self, handlers: McpHandlers) -> None:
        self._handlers = handlers

    ##= docs/spec/host.md#errors
    ##% An error MUST NOT show a stack trace, a secret, the text of an unexpected exception, or a path outside the
    ##% project.
    async def __call__(self, ctx: RequestContext, call_next: CallNext) -> HandlerResult:
        requested = ctx.method
        method, params = resolve_aliases(requested, ctx.params)
        if method is not requested or params is not ctx.params:
            ctx = replace(ctx, method=method, params=params)
        if ctx.request_id is None and not ctx.method.startswith("notifications/"):
            return None  # a request without an id gets no response, so do nothing
        try:
            if ctx.method == "initialize" and ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
                self._check_handshake(ctx)
            result = await call_next(ctx)
        except (MCPError, ValidationError) as error:
            explained = self._explain_sdk_error(ctx, error, requested)
            _log_refusal(ctx, explained)
            raise explained from None
        except ContextiveError as error:
            if ctx.method != "tools/call":
                _log_refusal(ctx, error)
            raise protocol_error(error, ctx.protocol_version) from None
        except Exception:
            # The outermost exception handler. In the handshake era the SDK would send the exception's text.
            logger.exception("%s failed", ctx.method)
            raise MCPError(types.INTERNAL_ERROR, "Internal error", {"code": "internal_error"}) from None
        if ctx.method in ("initialize", "server/discover"):
            await self._handlers.refresh_presence()
            return self._with_offer(ctx, result)
        if ctx.method == "resources/list" and isinstance(result, dict):
            return fields_to_top(result)
        if ctx.method == "notifications/initialized":
            self._handlers.hub.join(connection_of(ctx))
        return result

    ##= docs/spec/host.md#protocol-versions
    ##% A client that requests a supported handshake version MUST get that version.
    ##= docs/spec/host.md#protocol-versions
    ##% A client that requests any other version in `initialize` MUST be offered 2025-11-25.
    def _check_handshake(self, ctx: RequestContext) -> None:
        pinned = self._handlers.profile.pinned_version
        check_initialize(ctx.params, pinned)
        ##= docs/spec/spexus.md#protocol-version
        ##% The result MUST have the `protocolVersion` 2025-03-26, regardless of the requested version.
        if pinned is not None:
            pin_requested_version(ctx, pinned)

    ##= docs/spec/spexus.md#response-envelope
    ##% An `initialize` request MUST be answered with a JSON-RPC 2.0 response that has all required fields.
    ##= docs/spec/spexus.md#response-envelope
    ##% The response to `initialize` MUST hold all its data in the object `result`.
    def _with_offer(self, ctx: RequestContext, result: HandlerResult) -> HandlerResult:
        body = (
            result.model_dump(by_alias=True, mode="json", exclude_none=True)
            if isinstance(result, BaseModel)
            else result
        )
        assert isinstance(body, dict)
        ##= docs/spec/spexus.md#instructions
        ##% The result MUST have the field `instructions`, which is a string.
        ##= docs/spec/host.md#capabilities
        ##% The instructions MUST be generated from what the caller is offered at that moment.
        caller = self._handlers.caller_of(ctx)
        body["instructions"] = self._handlers.instructions(caller)
        if extensions := extensions_of(self._handlers.surface(caller)):
            # Here, because the SDK removes extensions from the answer to `initialize`.
            body["capabilities"]["extensions"] = body["capabilities"].get("extensions", {}) | extensions
        return body

    ##= docs/spec/host.md#malformed-messages
    ##% A request before `initialize` MUST be refused with a message that says what to send first.
    def _explain_sdk_error(self, ctx: RequestContext, error: MCPError | ValidationError, method: str) -> Exception:
        """Replace the two SDK errors without explanation by one that says what is wrong."""
        unexplained = isinstance(error, ValidationError) or (error.code == types.INVALID_PARAMS and error.data == "")
        if not unexplained:
            return error
        handshake_missing = (
            ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS
            and ctx.method != "initialize"
            and not connection_of(ctx).initialize_accepted
        )
        if handshake_missing:
            return MCPError(types.INVALID_REQUEST, "Send initialize first.", {"code": "invalid_request"})
        message, hint = explain_invalid_params(
            ctx.method, method, error if isinstance(error, ValidationError) else None
        )
        return MCPError(types.INVALID_PARAMS, message, {"code": "invalid_request", **({"hint": hint} if hint else {})})


def _mark_logged(ctx: RequestContext) -> None:
    scope = getattr(ctx.request, "scope", None)
    if isinstance(scope, dict):
        scope[LOGGED_KEY] = True


def _log_refusal(ctx: RequestContext, error: Exception) -> None:
    """Log a failed message that was not a tool call."""
    scope = getattr(ctx.request, "scope", None)
    request_id = scope.get(REQUEST_ID_KEY) if isinstance(scope, dict) else None
    status = str(getattr(error, "code", "invalid_request"))
    log_refusal(status, requestId=request_id, method=ctx.method if ctx.method.isprintable() else None)
    _mark_logged(ctx)


def _cursor(params: types.PaginatedRequestParams | None) -> str | None:
    return params.cursor if params is not None else None
