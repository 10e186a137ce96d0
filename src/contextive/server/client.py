"""The MCP client as handlers see it: one interface for both protocol eras."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias, get_args

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

from contextive.errors import CapabilityMissing, InvalidRequest, UpstreamError
from contextive.registry import InputNeeded, Question
from contextive.registry.context import LogLevel
from contextive.server.sdk import connection_of

_LEVELS: tuple[str, ...] = get_args(types.LoggingLevel)
_LEVEL_KEY = "contextive.log_level"
_MAX_NAME = 100
_Request: TypeAlias = types.CreateMessageRequest | types.ListRootsRequest | types.ElicitRequest
_MESSAGES: Mapping[str, tuple[type[_Request], type[BaseModel]]] = {
    "sampling/createMessage": (types.CreateMessageRequest, types.CreateMessageResult),
    "roots/list": (types.ListRootsRequest, types.ListRootsResult),
    "elicitation/create": (types.ElicitRequest, types.ElicitResult),
}
"""The request and result types for each method a handler can ask the client for."""


def remember_log_level(ctx: ServerRequestContext[Any, Any], level: str) -> None:
    """Store the level from `logging/setLevel` with the connection."""
    connection_of(ctx).state[_LEVEL_KEY] = level


class McpClient:
    """Talks to the client behind one request.

    A handshake client is asked in the middle of the call. A 2026-07-28 client cannot be asked: the call ends with the
    questions, and the client repeats it with the answers. Earlier answers travel in the sealed request state, so a
    handler that asks twice works the same in both eras.
    """

    def __init__(
        self,
        ctx: ServerRequestContext[Any, Any],
        answers: Mapping[str, BaseModel] | None = None,
        state: str | None = None,
    ) -> None:
        self._ctx = ctx
        self._modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        saved = _unpack(state)
        self.state: str | None = saved.get("state")
        new_answers = {
            key: answer.model_dump(by_alias=True, mode="json", exclude_none=True)
            for key, answer in (answers or {}).items()
        }
        self.answers: Mapping[str, dict[str, Any]] = {**saved.get("answers", {}), **new_answers}

    @property
    def name(self) -> str | None:
        """The name that the client gave in the handshake or in the request."""
        params = self._ctx.session.client_params
        name = params.client_info.name if params is not None else ""
        return "".join(c for c in name[:_MAX_NAME] if c.isprintable()) or None

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        await self._ctx.session.report_progress(done, total, message)

    async def log(self, level: LogLevel, data: Any, logger: str | None = None) -> None:
        if self._modern:
            minimum = (self._ctx.meta or {}).get(types.LOG_LEVEL_META_KEY)
        else:
            minimum = connection_of(self._ctx).state.get(_LEVEL_KEY, "info")
        if minimum not in _LEVELS or _LEVELS.index(level) < _LEVELS.index(str(minimum)):
            return
        await self._ctx.session.send_notification(
            types.LoggingMessageNotification(
                params=types.LoggingMessageNotificationParams(level=level, data=data, logger=logger)
            ),
            related_request_id=self._ctx.request_id,
        )

    def offers(self, capability: str) -> bool:
        capabilities = self._ctx.session.client_capabilities
        return getattr(capabilities, capability, None) is not None

    async def ask(self, questions: Mapping[str, Question], *, state: str | None = None) -> Mapping[str, dict[str, Any]]:
        open_questions = {key: question for key, question in questions.items() if key not in self.answers}
        missing = sorted({q.capability for q in open_questions.values() if not self.offers(q.capability)})
        if missing:
            raise CapabilityMissing(tuple(missing))
        if open_questions and self._modern:
            raise InputNeeded(open_questions, _pack(self.answers, state))
        for key, question in open_questions.items():
            self.answers = {**self.answers, key: await self._ask_now(question)}
        return {key: self.answers[key] for key in questions}

    async def _ask_now(self, question: Question) -> dict[str, Any]:
        request_type, result_type = _MESSAGES[question.method]
        request = request_type.model_validate({"method": question.method, "params": dict(question.params)})
        try:
            result: BaseModel = await self._ctx.session.send_request(
                request,
                result_type,
                metadata=ServerMessageMetadata(related_request_id=self._ctx.request_id),
            )
        except (MCPError, ValidationError):
            raise UpstreamError(
                "The client could not answer.", hint="Try again, or call without the client's help."
            ) from None
        return result.model_dump(by_alias=True, mode="json", exclude_none=True)


def _pack(answers: Mapping[str, dict[str, Any]], state: str | None) -> str:
    return json.dumps({"answers": dict(answers), "state": state}, separators=(",", ":"))


def _unpack(state: str | None) -> dict[str, Any]:
    if state is None:
        return {}
    try:
        saved = json.loads(state)
    except ValueError:
        saved = None
    if not isinstance(saved, dict):
        raise InvalidRequest("The request state was not issued by this server.", hint="Start the call again.")
    return saved
