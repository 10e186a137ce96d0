"""Calls the tools of a gateway over HTTP, for remote mode."""

from __future__ import annotations

import json
import logging
import re
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from contextive.errors import (
    ConfigError,
    ContextiveError,
    Forbidden,
    RateLimited,
    TimedOut,
    ToolNotFound,
    Unauthorized,
    UpstreamError,
    all_error_types,
)
from contextive.registry import Reply, Scope, Tool
from contextive.registry.event_stream import AnswerEvent, EventStreamReader, ProgressEvent
from contextive.retry import Failure, Retries, with_retries

if TYPE_CHECKING:
    import httpx

logger = logging.getLogger(__name__)

_ATTEMPTS = 3
_FIRST_PAUSE_SECONDS = 0.2
_RETRY_STATUSES = frozenset({502, 503, 504})
_MAX_MESSAGE_LENGTH = 500
_REQUEST_ID = re.compile(r"^[A-Za-z0-9._-]{1,64}\Z")
# Errors that the caller can fix are forwarded with their message; all others become an upstream error.
##= docs/spec/gateway.md#remote-mode
##% An error that the caller can fix MUST be returned with the gateway's message.
_FORWARDED_CODES = frozenset(
    {
        "invalid_request", "invalid_identifier", "invalid_cursor", "not_found", "conflict", "too_large", "timeout",
        "unsupported_operation", "tool_failed", "assert_failed", "unavailable", "schema_invalid", "recipe_not_found",
        "no_model",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """Address and tokens of the gateway, and limits of a call."""

    url: str
    reader_token: str | None = field(default=None, repr=False)
    admin_token: str | None = field(default=None, repr=False)
    timeout_seconds: float = 30.0
    verify_ssl: bool = True
    max_bytes: int = 2_000_000
    ca_file: str | None = None
    """File with additional CA certificates to trust."""

    ##= docs/spec/gateway.md#remote-mode
    ##% The server MUST warn if tokens would be sent to another machine without TLS.
    @property
    def sends_tokens_unencrypted(self) -> bool:
        """Whether a token would be sent to another machine without TLS."""
        parts = urlsplit(self.url)
        local = parts.hostname in ("localhost", "127.0.0.1", "::1")
        return parts.scheme == "http" and not local and bool(self.reader_token or self.admin_token)


class GatewayClient:
    """A client of one gateway. Thread-safe."""

    def __init__(self, settings: GatewaySettings, sleep: Callable[[float], None] = time.sleep) -> None:
        self.settings = settings
        self._sleep = sleep
        self._verify = _verification(settings)
        self._lock = threading.Lock()
        self._client: httpx.Client | None = None

    def close(self) -> None:
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    ##= docs/spec/gateway.md#remote-mode
    ##% A call that changes something MUST NOT be sent twice.
    ##= docs/spec/gateway.md#remote-mode
    ##% A read-only call SHOULD be retried if a retry may help.
    def call(
        self,
        tool: Tool,
        arguments: Mapping[str, Any],
        request_id: str,
        on_progress: Callable[[ProgressEvent], None] = lambda _event: None,
        stop: threading.Event | None = None,
    ) -> Reply:
        """The answer of the gateway's tool of the same name. Long calls report to `on_progress`; `stop` ends a call."""
        token = self._token(tool)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if tool.timeout_seconds is not None:  # only long-running tools report progress
            headers["Accept"] = "application/json, text/event-stream"
        listener = _ProgressListener(on_progress, stop or threading.Event())
        if _REQUEST_ID.match(request_id):
            headers["X-Request-ID"] = request_id
        seconds = self.seconds_for(tool)
        deadline = time.monotonic() + seconds
        may_repeat = tool.annotations.read_only and tool.annotations.idempotent

        def attempt() -> Reply | Failure:
            outcome = self._attempt(tool, arguments, headers, deadline, seconds, listener)
            if isinstance(outcome, Reply):
                return outcome
            return Failure(outcome.error, outcome.was_not_sent or (may_repeat and outcome.is_temporary))

        return with_retries(attempt, Retries(_ATTEMPTS, _FIRST_PAUSE_SECONDS, deadline=deadline), self._sleep)

    ##= docs/spec/gateway.md#remote-mode
    ##% A call MUST end within its time limit, including all retries.
    def seconds_for(self, tool: Tool) -> float:
        """Time limit of one call, including all attempts."""
        return max(self.settings.timeout_seconds, tool.timeout_seconds or 0.0)

    ##= docs/spec/gateway.md#remote-mode
    ##% A call MUST send the token for its scope as a bearer token.
    ##= docs/spec/gateway.md#remote-mode
    ##% Without a maintainer token, a maintainer tool MUST fail before anything is sent.
    def _token(self, tool: Tool) -> str | None:
        if tool.scope is not Scope.READER:
            if self.settings.admin_token is None:
                raise Forbidden(f"{tool.name} needs the gateway's maintainer token.", hint="Set KM_ADMIN_TOKEN.")
            return self.settings.admin_token
        return self.settings.reader_token or self.settings.admin_token

    def _attempt(
        self,
        tool: Tool,
        arguments: Mapping[str, Any],
        headers: Mapping[str, str],
        deadline: float,
        seconds: float,
        listener: _ProgressListener,
    ) -> Reply | _CallFailure:
        import httpx

        url = f"{self.settings.url.rstrip('/')}/api/v1/tools/{tool.name}"
        remaining = max(0.05, deadline - time.monotonic())
        timeout = httpx.Timeout(remaining, connect=min(remaining, 10.0))
        try:
            with self._open().stream(
                "POST", url, json=dict(arguments), headers=dict(headers), timeout=timeout
            ) as response:
                status, retry_after = response.status_code, response.headers.get("retry-after", "")
                if response.headers.get("content-type", "").startswith("text/event-stream"):
                    status, body = self._read_stream(response, deadline, listener)
                else:
                    body = self._read(response, deadline)
        except (httpx.ConnectError, httpx.ConnectTimeout) as failure:
            logger.warning("gateway: %s", type(failure).__name__)  # only the class: the message can contain the URL
            if _is_certificate_error(failure):
                return _CallFailure(
                    UpstreamError(
                        "The gateway's certificate is not trusted.",
                        hint="Set KM_MCP_CA_FILE to the file of its CA, and compare its host name with KM_GATEWAY_URL.",
                    )
                )
            return _CallFailure(
                UpstreamError(
                    "The gateway cannot be reached.",
                    hint="Check KM_GATEWAY_URL, the certificate, and that the gateway is running.",
                ),
                was_not_sent=True,
            )
        except httpx.TimeoutException:
            return _CallFailure(
                TimedOut(
                    f"The gateway did not answer within {seconds:g} seconds.",
                    hint="Try again, or raise knowledge.gatewayTimeoutSeconds.",
                )
            )
        except (httpx.HTTPError, httpx.InvalidURL) as failure:
            logger.warning("gateway: %s", type(failure).__name__)
            error = UpstreamError("The connection to the gateway was lost.", hint="Try again.")
            return _CallFailure(error, is_temporary=isinstance(failure, httpx.TransportError))
        if body is None:
            return _CallFailure(UpstreamError(f"The gateway's answer is over {self.settings.max_bytes} bytes."))
        return _reply(body) if status == 200 else _failure(tool, status, body, retry_after)

    ##= docs/spec/gateway.md#remote-mode
    ##% A redirect from the gateway MUST NOT be followed.
    ##= docs/spec/gateway.md#remote-mode
    ##% Proxy environment variables MUST NOT change where a call is sent.
    def _open(self) -> httpx.Client:
        import httpx

        with self._lock:
            if self._client is None:
                # No redirects and no proxy settings from the environment: either could send the token elsewhere.
                self._client = httpx.Client(verify=self._verify, follow_redirects=False, trust_env=False)
            return self._client

    def _read(self, response: httpx.Response, deadline: float) -> bytes | None:
        """The body, or None if it is over the limit. A slow body must also arrive before the deadline."""
        import httpx

        data = bytearray()
        for piece in response.iter_bytes(65536):
            data += piece
            if len(data) > self.settings.max_bytes:
                return None
            if time.monotonic() > deadline:
                raise httpx.ReadTimeout("the body took too long")
        return bytes(data)

    def _read_stream(
        self, response: httpx.Response, deadline: float, listener: _ProgressListener
    ) -> tuple[int, bytes | None]:
        """Status and body of the answer at the end of a stream; the body is None if it is over the limit."""
        import httpx

        reader = EventStreamReader()
        for piece in response.iter_bytes():
            for event in reader.feed(piece):
                match event:
                    case AnswerEvent():
                        return event.status, None if len(event.body) > self.settings.max_bytes else event.body
                    case ProgressEvent():
                        listener.on_progress(event)
            if reader.size > self.settings.max_bytes:
                return response.status_code, None
            if time.monotonic() > deadline:
                raise httpx.ReadTimeout("the stream took too long")
            if listener.stop.is_set():
                break  # the gateway notices that the connection is closed
        raise httpx.RemoteProtocolError("the stream ended without an answer")


@dataclass(frozen=True, slots=True)
class _ProgressListener:
    on_progress: Callable[[ProgressEvent], None]
    stop: threading.Event


def _verification(settings: GatewaySettings) -> ssl.SSLContext | bool:
    """How the gateway's certificate is checked."""
    if not settings.verify_ssl or settings.ca_file is None:
        return settings.verify_ssl
    import httpx

    context = httpx.create_ssl_context(trust_env=False)
    try:
        context.load_verify_locations(cafile=str(Path(settings.ca_file).expanduser()))
    except (OSError, ssl.SSLError):
        raise ConfigError(
            "knowledge.gatewayCaFile cannot be read as certificates.", hint="It must be the path of a PEM file."
        ) from None
    return context


def _is_certificate_error(failure: BaseException) -> bool:
    """Whether the connection failed because of a certificate."""
    cause: BaseException | None = failure
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


@dataclass(frozen=True, slots=True)
class _CallFailure:
    error: ContextiveError
    is_temporary: bool = False
    was_not_sent: bool = False


def _reply(body: bytes) -> Reply | _CallFailure:
    answer = _json_object(body)
    if answer is None or "result" not in answer:
        return _CallFailure(
            UpstreamError("The gateway sent an answer that cannot be read.", hint="Check KM_GATEWAY_URL.")
        )
    return Reply(data=answer["result"], is_error=answer.get("status") == "error")


##= docs/spec/gateway.md#remote-mode
##% Every other failure MUST be reported without the token, and without the address and the message of the gateway.
def _failure(tool: Tool, status: int, body: bytes, retry_after: str) -> _CallFailure:
    received = (_json_object(body) or {}).get("error")
    received = received if isinstance(received, dict) else {}
    code = str(received.get("code", ""))
    logger.warning("gateway answered with status %d %s", status, code[:40] if code.isascii() else "")
    variable = "KM_READER_TOKEN" if tool.scope is Scope.READER else "KM_ADMIN_TOKEN"
    match status:
        case 401:
            return _CallFailure(Unauthorized("The gateway does not accept this token.", hint=f"Check {variable}."))
        case 403:
            return _CallFailure(Forbidden(f"The gateway does not allow {tool.name}.", hint=f"Check {variable}."))
        case 429:
            wait = int(retry_after) if retry_after.isascii() and retry_after.isdigit() and len(retry_after) < 6 else 1
            message = "The gateway received too many requests."
            return _CallFailure(RateLimited(message, retry_after_seconds=wait, hint=f"Wait {wait} seconds."))
        case 404 if code in ("", ToolNotFound.code):
            message = f"The gateway does not offer {tool.name}."
            return _CallFailure(UpstreamError(message, hint="Check KM_GATEWAY_URL and the gateway's version."))
    kinds = {kind.code: kind for kind in reversed(list(all_error_types()))}
    if code in _FORWARDED_CODES and (kind := kinds.get(code)) is not None:
        error = kind(
            printable(received.get("message")) or "The gateway refused the call.",
            hint=printable(received.get("hint")) or None,
        )
        if isinstance(received.get("details"), dict):
            error.details = received["details"]
        return _CallFailure(error, is_temporary=status in _RETRY_STATUSES)
    return _CallFailure(
        UpstreamError(f"The gateway answered with status {status}.", hint="See the log of the gateway."),
        is_temporary=status in _RETRY_STATUSES,
    )


def _json_object(body: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def printable(value: Any) -> str:
    """A text from the gateway, shortened and on one line; empty if it is not a string."""
    return "".join(c if c.isprintable() else " " for c in value[:_MAX_MESSAGE_LENGTH]) if isinstance(value, str) else ""
