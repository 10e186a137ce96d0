"""Remote mode: the tools of the knowledge pack, answered by a team's gateway in place of a local index.

Every tool keeps its declaration, so names, schemas, scopes and checks are the same; only the handler is another one. `km-help`
needs no index and stays.
"""

from __future__ import annotations

import json
import logging
import random
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import BaseModel

from contextive.errors import (
    ContextiveError,
    Forbidden,
    RateLimited,
    TimedOut,
    ToolNotFound,
    Unauthorized,
    UpstreamError,
    all_error_types,
)
from contextive.registry import Context, Pack, Reply, Scope, Tool

if TYPE_CHECKING:
    import httpx

logger = logging.getLogger(__name__)

LOCAL_TOOLS = frozenset({"km-help"})
_ATTEMPTS = 3
_FIRST_PAUSE_SECONDS = 0.2
_TRY_AGAIN = frozenset({502, 503, 504})
_MARGIN_SECONDS = 5.0
_LONGEST_WORDS = 500
_REQUEST_ID = re.compile(r"^[A-Za-z0-9._-]{1,64}\Z")
# What the caller can mend is told in the gateway's own words; everything else is an error of the other side.
_PASSED_ON = frozenset(
    {
        "invalid_request", "invalid_identifier", "invalid_cursor", "not_found", "conflict", "too_large", "timeout",
        "unsupported_operation", "tool_failed", "assert_failed", "unavailable", "schema_invalid", "recipe_not_found",
        "no_model",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """Where the gateway is and how it knows us."""

    url: str
    reader_token: str | None = field(default=None, repr=False)
    admin_token: str | None = field(default=None, repr=False)
    timeout_seconds: float = 30.0
    verify_ssl: bool = True
    max_bytes: int = 2_000_000

    @property
    def sends_tokens_openly(self) -> bool:
        """Whether a token would travel to another machine without TLS."""
        parts = urlsplit(self.url)
        local = parts.hostname in ("localhost", "127.0.0.1", "::1")
        return parts.scheme == "http" and not local and bool(self.reader_token or self.admin_token)


class Gateway:
    """Calls of one gateway. Safe to use from many threads."""

    def __init__(self, settings: GatewaySettings, sleep: Callable[[float], None] = time.sleep) -> None:
        self.settings = settings
        self._sleep = sleep
        self._lock = threading.Lock()
        self._client: httpx.Client | None = None

    def close(self) -> None:
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def call(self, tool: Tool, arguments: Mapping[str, Any], request_id: str) -> Reply:
        """What the gateway's tool of the same name answers."""
        token = self._token(tool)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if _REQUEST_ID.match(request_id):
            headers["X-Request-ID"] = request_id
        seconds = self.seconds_for(tool)
        ends = time.monotonic() + seconds
        may_repeat = tool.annotations.read_only and tool.annotations.idempotent
        for attempt in range(1, _ATTEMPTS + 1):
            outcome = self._attempt(tool, arguments, headers, ends, seconds)
            if isinstance(outcome, Reply):
                return outcome
            pause = _FIRST_PAUSE_SECONDS * 2.0 ** (attempt - 1) * random.uniform(0.5, 1.0)  # noqa: S311
            repeatable = outcome.was_not_sent or (may_repeat and outcome.may_pass)
            if attempt == _ATTEMPTS or not repeatable or time.monotonic() + pause >= ends:
                raise outcome.error
            self._sleep(pause)
        raise AssertionError("the last attempt either returns or raises")

    def seconds_for(self, tool: Tool) -> float:
        """The time that one call may take with all its attempts."""
        return max(self.settings.timeout_seconds, tool.timeout_seconds or 0.0)

    def _token(self, tool: Tool) -> str | None:
        if tool.scope is Scope.MAINTAINER:
            if self.settings.admin_token is None:
                raise Forbidden(f"{tool.name} needs the gateway's maintainer token.", hint="Set KM_ADMIN_TOKEN.")
            return self.settings.admin_token
        return self.settings.reader_token or self.settings.admin_token

    def _attempt(
        self, tool: Tool, arguments: Mapping[str, Any], headers: Mapping[str, str], ends: float, seconds: float
    ) -> Reply | _Failure:
        import httpx

        url = f"{self.settings.url.rstrip('/')}/api/v1/tools/{tool.name}"
        left = max(0.05, ends - time.monotonic())
        timeout = httpx.Timeout(left, connect=min(left, 10.0))
        try:
            with self._open().stream(
                "POST", url, json=dict(arguments), headers=dict(headers), timeout=timeout
            ) as response:
                body = self._read(response, ends)
                status, retry_after = response.status_code, response.headers.get("retry-after", "")
        except (httpx.ConnectError, httpx.ConnectTimeout) as failure:
            logger.warning("gateway: %s", type(failure).__name__)  # the class only: the text of some holds the URL
            return _Failure(
                UpstreamError(
                    "The gateway cannot be reached.", hint="Check KM_GATEWAY_URL, the certificate, and that it runs."
                ),
                was_not_sent=True,
            )
        except httpx.TimeoutException:
            return _Failure(
                TimedOut(
                    f"The gateway did not answer within {seconds:g} seconds.",
                    hint="Try again, or raise knowledge.gatewayTimeoutSeconds.",
                )
            )
        except (httpx.HTTPError, httpx.InvalidURL) as failure:
            logger.warning("gateway: %s", type(failure).__name__)
            error = UpstreamError("The connection to the gateway broke.", hint="Try again.")
            return _Failure(error, may_pass=isinstance(failure, httpx.TransportError))
        if body is None:
            return _Failure(UpstreamError(f"The gateway's answer is over {self.settings.max_bytes} bytes."))
        return _reply(body) if status == 200 else _failure(tool, status, body, retry_after)

    def _open(self) -> httpx.Client:
        import httpx

        with self._lock:
            if self._client is None:
                # No redirect is followed and the environment stays out: the token would travel with either.
                self._client = httpx.Client(verify=self.settings.verify_ssl, follow_redirects=False, trust_env=False)
            return self._client

    def _read(self, response: httpx.Response, ends: float) -> bytes | None:
        """The body; None for one that is over the limit. A body that trickles has to be there in time, too."""
        import httpx

        data = bytearray()
        for piece in response.iter_bytes(65536):
            data += piece
            if len(data) > self.settings.max_bytes:
                return None
            if time.monotonic() > ends:
                raise httpx.ReadTimeout("the body took too long")
        return bytes(data)


def remote_pack(pack: Pack, gateway: Gateway) -> Pack:
    """The pack with handlers that ask the gateway. It declares the same tools in the same order."""
    forwarding = Pack(pack.name, title=pack.title, description=pack.description)
    forwarding.tools = [tool if tool.name in LOCAL_TOOLS else _forwarded(tool, gateway) for tool in pack.tools]
    return forwarding


def _forwarded(tool: Tool, gateway: Gateway) -> Tool:
    def forward(given: BaseModel, ctx: Context) -> Reply:
        return gateway.call(tool, given.model_dump(mode="json", exclude_unset=True, by_alias=True), ctx.request_id)

    return replace(
        tool,
        handler=forward,
        timeout_seconds=gateway.seconds_for(tool) + _MARGIN_SECONDS,
        annotations=replace(tool.annotations, open_world=True),
    )


@dataclass(frozen=True, slots=True)
class _Failure:
    error: ContextiveError
    may_pass: bool = False
    was_not_sent: bool = False


def _reply(body: bytes) -> Reply | _Failure:
    answer = _json_object(body)
    if answer is None or "result" not in answer:
        return _Failure(UpstreamError("The gateway sent an answer that cannot be read.", hint="Check KM_GATEWAY_URL."))
    return Reply(data=answer["result"], is_error=answer.get("status") == "error")


def _failure(tool: Tool, status: int, body: bytes, retry_after: str) -> _Failure:
    said = (_json_object(body) or {}).get("error")
    said = said if isinstance(said, dict) else {}
    code = str(said.get("code", ""))
    logger.warning("gateway answered with status %d %s", status, code[:40] if code.isascii() else "")
    variable = "KM_ADMIN_TOKEN" if tool.scope is Scope.MAINTAINER else "KM_READER_TOKEN"
    match status:
        case 401:
            return _Failure(Unauthorized("The gateway does not know this token.", hint=f"Check {variable}."))
        case 403:
            return _Failure(Forbidden(f"The gateway does not allow {tool.name}.", hint=f"Check {variable}."))
        case 429:
            wait = int(retry_after) if retry_after.isascii() and retry_after.isdigit() and len(retry_after) < 6 else 1
            words = "The gateway has had too many requests."
            return _Failure(RateLimited(words, retry_after_seconds=wait, hint=f"Wait {wait} seconds."))
        case 404 if code in ("", ToolNotFound.code):
            error_text = f"The gateway does not offer {tool.name}."
            return _Failure(UpstreamError(error_text, hint="Check KM_GATEWAY_URL and the gateway's version."))
    kinds = {kind.code: kind for kind in reversed(list(all_error_types()))}
    if code in _PASSED_ON and (kind := kinds.get(code)) is not None:
        error = kind(_words(said.get("message")) or "The gateway refused.", hint=_words(said.get("hint")) or None)
        if isinstance(said.get("details"), dict):
            error.details = said["details"]
        return _Failure(error, may_pass=status in _TRY_AGAIN)
    return _Failure(
        UpstreamError(f"The gateway answered with status {status}.", hint="Look at the gateway's log."),
        may_pass=status in _TRY_AGAIN,
    )


def _json_object(body: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _words(value: Any) -> str:
    """The gateway's own words, cut and on one line."""
    return "".join(c if c.isprintable() else " " for c in value[:_LONGEST_WORDS]) if isinstance(value, str) else ""
