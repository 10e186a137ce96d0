"""ASGI middleware that checks every HTTP request before it reaches a route.

It is plain ASGI, so it also covers mounted applications and error pages.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
import logging
import re
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from contextive.errors import ContextiveError, InternalError, InvalidRequest, RateLimited, TooLarge, Unauthorized
from contextive.registry import Caller
from contextive.server.auth import ANONYMOUS, Authenticator, InvalidToken, is_loopback
from contextive.server.connections import BODY_ARRIVED_KEY
from contextive.server.headers import RequestHeaders
from contextive.server.logs import FIELDS, log_refusal
from contextive.server.protocol import CALLER_KEY, LOGGED_KEY, REQUEST_ID_KEY
from contextive.server.rate_limits import CallerLimits, RateLimiter
from contextive.server.site_requests import (
    FORM_TYPE,
    SECURITY_HEADERS,
    SiteAccess,
    is_open_path,
    is_page_path,
    is_site_path,
    sign_in_address,
    wants_page,
)

logger = logging.getLogger(__name__)

_REQUEST_ID = re.compile(r"^[A-Za-z0-9._-]{1,64}\Z")
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
BODY_KEY = "contextive.body"
"""Where the ASGI scope has the body, which the guard has already read."""
LIMIT_KEY = "contextive.limit_key"
"""Where the ASGI scope has the key by which this caller's requests are counted: the token, or else the address."""
##= docs/spec/host.md#endpoints
##% The paths `/healthz` and `/readyz` MUST answer without a token.
_OPEN_PATHS = frozenset({"/healthz", "/readyz"})
_MONITORING_PATHS = _OPEN_PATHS | {"/metrics"}
_NEXUS_PATH = "/api/mcp"
# Another port of the same host is another origin but the same site.
_FOREIGN_SITES = frozenset({"cross-site", "same-site"})
_SINGLE_HEADERS = (b"authorization", b"content-length")
_BODY_SECONDS = 30.0
_DISCARD_SECONDS = 5.0
_READ_SECONDS = 0.5
_MAX_DISCARDED = 16 * 1024 * 1024
_TOKEN_PARAMETERS = frozenset({"token", "access_token", "api_key", "apikey", "authorization"})


@dataclass(frozen=True, slots=True)
class RequestPolicy:
    """Which Host, Origin and site headers are accepted, and how large a body may be."""

    bind_host: str
    public_hosts: frozenset[str]
    allowed_origins: frozenset[str]
    max_body_bytes: int

    ##= docs/spec/host.md#requests
    ##% A request whose Host header does not belong to the server MUST be refused with 421.
    def accepts_host(self, header: str) -> bool:
        """Whether the Host header names this server. After DNS rebinding, a browser still sends the attacker's name."""
        host = header.lower()
        name = _without_port(host)
        if name in _LOOPBACK_NAMES or host in self.public_hosts or name in self.public_hosts:
            return True
        # DNS rebinding cannot fake an IP address, so addresses are fine if the server is reachable by address anyway.
        return not is_loopback(self.bind_host) and _is_address(name)

    ##= docs/spec/host.md#requests
    ##% A request whose Origin is not allowed MUST be refused with 403.
    def accepts_origin(self, header: str) -> bool:
        origin = header.lower()
        if origin in self.allowed_origins:
            return True
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        if parts.scheme not in ("http", "https") or parts.path or parts.query or parts.fragment or "@" in parts.netloc:
            return False
        return _without_port(parts.netloc) in _LOOPBACK_NAMES

    ##= docs/spec/host.md#requests
    ##% A browser request from a page of another origin MUST be refused with 403 before it is counted, unless its
    ##% Origin is in `server.allowedOrigins`.
    ##= docs/spec/host.md#requests
    ##% A link from another site MUST be able to open a web page of the server, and nothing else.
    def accepts_site(self, headers: RequestHeaders, method: str, path: str) -> bool:
        """Whether `Sec-Fetch-Site` allows the request. Only browsers send it, and pages cannot change it."""
        if not any(site.strip().lower() in _FOREIGN_SITES for site in headers.get_all(b"sec-fetch-site")):
            return True
        origins = headers.get_all(b"origin")
        if origins and all(origin.lower() in self.allowed_origins for origin in origins):
            return True
        is_navigation = headers.get_all(b"sec-fetch-mode") == ["navigate"]
        is_top_level = headers.get_all(b"sec-fetch-dest") == ["document"]
        return method == "GET" and is_page_path(path) and is_navigation and is_top_level


class RequestGuard:
    """Checks every request: Host, Origin, site, other headers, credentials, rate limits and body, in this order."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        policy: RequestPolicy,
        authenticator: Callable[[], Authenticator],
        limits: Callable[[], CallerLimits],
        site: SiteAccess,
    ) -> None:
        self._app = app
        self._policy = policy
        self._authenticator = authenticator
        self._limits = limits
        self._site = site

    ##= docs/spec/host.md#requests
    ##% The rules for requests MUST apply to every path.
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = RequestHeaders(scope)
        sent_id = headers.get(b"x-request-id")
        request_id = sent_id if sent_id and _REQUEST_ID.match(sent_id) else secrets.token_hex(16)
        scope[REQUEST_ID_KEY] = request_id
        response = _GuardedResponse(send, request_id, scope)
        try:
            refusal = self._refuse_headers(headers, scope)
            if refusal is not None:
                await response.refuse(*refusal)
                return
            caller = self._authenticate(headers, scope)
            scope[CALLER_KEY] = caller
            if caller is not ANONYMOUS:
                scope["user"] = _sdk_user(caller)
            if scope["path"] not in _OPEN_PATHS:
                response.still_allowed = lambda: self._still_valid(headers, scope["path"])
            replayed = await self._read_body(scope, headers, receive)
            if replayed is not None:
                await self._app(scope, replayed, response.send)
        except Unauthorized as error:
            if is_site_path(scope["path"]) and wants_page(scope):
                await response.redirect(sign_in_address(scope))
            else:
                await response.refuse(error.http_status, error)
        except ContextiveError as error:
            await response.refuse(error.http_status, error)
        except Exception:
            # The outermost exception handler for HTTP.
            fields = {FIELDS: {"requestId": request_id}}
            logger.exception("%s %s failed", scope["method"], scope["path"], extra=fields)
            await response.refuse(
                500, InternalError("Internal error.", hint="The log has the details under this request id.")
            )

    ##= docs/spec/host.md#requests
    ##% A request with a body that is not `application/json` MUST be refused with 415, except for the forms of the
    ##% site.
    ##= docs/spec/host.md#tokens
    ##% A token in a URL MUST be refused.
    def _refuse_headers(self, headers: RequestHeaders, scope: Scope) -> tuple[int, ContextiveError] | None:
        hosts = headers.get_all(b"host")
        if len(hosts) != 1 or not self._policy.accepts_host(hosts[0]):
            return 421, InvalidRequest("The Host header does not name this server.", hint="See server.publicHosts.")
        if not all(self._policy.accepts_origin(origin) for origin in headers.get_all(b"origin")):
            return 403, InvalidRequest("The Origin is not allowed.", hint="See server.allowedOrigins.")
        if not self._policy.accepts_site(headers, scope["method"], scope["path"]):
            return 403, InvalidRequest(
                "A browser sent this for a page of another origin.", hint="See server.allowedOrigins."
            )
        if (name := _repeated_header(headers)) is not None:
            return 400, InvalidRequest(f"The request has more than one {name} header.", hint="Send one.")
        if b"transfer-encoding" in headers and b"content-length" in headers:
            # The two may disagree about where the request ends, and a proxy in front may have used the other one.
            return 400, InvalidRequest("Content-Length and Transfer-Encoding exclude each other.", hint="Send one.")
        if scope["method"] in ("POST", "PUT", "PATCH"):
            kind = (headers.get(b"content-type") or "").split(";")[0].strip().lower()
            if kind != "application/json" and not (kind == FORM_TYPE and is_site_path(scope["path"])):
                return 415, InvalidRequest("The body must be application/json.", hint="Set Content-Type.")
        query = scope.get("query_string", b"").decode("latin-1")
        if query and any(name.lower() in _TOKEN_PARAMETERS for name, _ in parse_qsl(query, keep_blank_values=True)):
            return 400, InvalidRequest(
                "Credentials do not belong in a URL.", hint="Send Authorization: Bearer, and change that token."
            )
        return None

    ##= docs/spec/host.md#tokens
    ##% A request with a valid token MUST be served, regardless of other requests from its address.
    ##= docs/spec/host.md#limits
    ##% Requests MUST be counted per token, and per address only for callers without a token.
    def _authenticate(self, headers: RequestHeaders, scope: Scope) -> Caller:
        """Count the request and return its caller. The credential decides what is counted, so it is checked first."""
        caller, refusal = self._caller(headers, scope["path"])
        limits = self._limits()
        if caller is not ANONYMOUS:
            self._count(scope, limits.tokens, f"token:{caller.name}")
            return caller
        peer = (scope.get("client") or ("unknown",))[0]
        address = limits.proxies.limit_key(peer, headers)
        self._count(scope, limits.addresses, f"address:{address}")
        if refusal is not None:
            count_failure(limits.failures, address, refusal)
            raise refusal
        return caller

    ##= docs/spec/host.md#endpoints
    ##% The path `/metrics` MUST require a token when tokens are set.
    def _caller(self, headers: RequestHeaders, path: str) -> tuple[Caller, Unauthorized | None]:
        """The caller for the credential; anonymous with the error if it is wrong or missing."""
        if path in _OPEN_PATHS or (is_site_path(path) and is_open_path(path)):
            return ANONYMOUS, None  # tokens are ignored here, so these paths cannot be used to guess tokens
        if b"authorization" not in headers and (caller := self._site.caller_of(headers, path)) is not None:
            return caller, None
        try:
            return self._authenticator().caller_for(headers.get(b"authorization")), None
        except Unauthorized as refusal:
            return ANONYMOUS, refusal

    ##= docs/spec/host.md#limits
    ##% Requests to `/healthz`, `/readyz` and `/metrics` MUST be counted separately from all others.
    def _count(self, scope: Scope, limiter: RateLimiter, key: str) -> None:
        scope[LIMIT_KEY] = key
        (self._limits().monitoring if scope["path"] in _MONITORING_PATHS else limiter).count(key)

    ##= docs/spec/gateway.md#issued-tokens
    ##% A session and its streams MUST end when the token that opened them stops working.
    def _still_valid(self, headers: RequestHeaders, path: str) -> bool:
        return self._caller(headers, path)[1] is None

    ##= docs/spec/host.md#requests
    ##% A body over `limits.maxBodyBytes` MUST be refused with 413.
    ##= docs/spec/host.md#requests
    ##% A body that does not arrive in time MUST be refused.
    async def _read_body(self, scope: Scope, headers: RequestHeaders, receive: Receive) -> Receive | None:
        """Read the whole body within the size and time limits; return a `receive` that replays it.

        Returns None if the client disconnected before the end.
        """
        limit = self._policy.max_body_bytes
        declared = headers.get(b"content-length") or ""
        if declared.isdigit() and int(declared) > limit:
            if int(declared) <= limit + _MAX_DISCARDED and b"expect" not in headers:
                await _discard_body(receive)
            raise _too_large(limit)
        if BODY_ARRIVED_KEY in scope:  # nothing to wait for
            body = await _whole_body(receive, limit)
        else:
            try:
                async with asyncio.timeout(_BODY_SECONDS):
                    body = await _whole_body(receive, limit)
            except TimeoutError:
                raise InvalidRequest("The body did not arrive in time.", hint="Send it again, faster.") from None
        if body is None:
            return None
        scope[BODY_KEY] = body
        return replay_body(body, receive)


##= docs/spec/host.md#requests
##% A request with two `Authorization` or two `Content-Length` headers MUST be refused with 400.
def _repeated_header(headers: RequestHeaders) -> str | None:
    """The name of a header that must not be repeated but is: a proxy in front may have used the other one."""
    return next((name.decode().title() for name in _SINGLE_HEADERS if len(headers.get_all(name)) > 1), None)


##= docs/spec/host.md#tokens
##% An address that sends too many wrong tokens MUST be refused with 429 until it sends a valid one or the window
##% ends.
def count_failure(failures: RateLimiter, address: str, refusal: Unauthorized) -> None:
    """Count a wrong credential. A missing one is not counted: clients probe without one to see if it is required."""
    if isinstance(refusal, InvalidToken):
        failures.count(address)
    else:
        failures.check(address)


async def _whole_body(receive: Receive, limit: int) -> bytes | None:
    """The complete body, or None if the client disconnected. Raises `TooLarge` if it is over the limit."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > limit:
            if more:
                await _discard_body(receive)
            raise _too_large(limit)
        if not more:
            return bytes(body)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"The body is over {limit} bytes.", hint="Send less; see limits.maxBodyBytes.")


async def _discard_body(receive: Receive) -> None:
    """Read and drop the body for a while: a client that is cut off while sending would not see the error."""
    discarded = 0
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_DISCARD_SECONDS):
            while discarded <= _MAX_DISCARDED:
                message = await asyncio.wait_for(receive(), _READ_SECONDS)
                discarded += len(message.get("body", b""))
                if not message.get("more_body", False):
                    return


class _GuardedResponse:
    """The response to a request: adds the request id, and can become an error until something was sent."""

    def __init__(self, send: Send, request_id: str, scope: Scope) -> None:
        self._send = send
        self._request_id = request_id
        self._scope = scope
        self._started = False
        self._is_ended = False
        self.still_allowed: Callable[[], bool] = lambda: True

    ##= docs/spec/host.md#requests
    ##% Every response MUST include a request id.
    async def send(self, message: Message) -> None:
        if self._is_ended:
            return
        if message["type"] == "http.response.body" and message.get("more_body") and not self.still_allowed():
            # The token that opened this stream is no longer valid: end it before sending the next message.
            self._is_ended = True
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
            return
        if message["type"] == "http.response.start":
            self._started = True
            if message["status"] >= 400 and not self._scope.get(LOGGED_KEY):
                log_refusal("refused", requestId=self._request_id, http=message["status"])
            # A new list, because the application may have passed a shared constant.
            message["headers"] = [*message["headers"], (b"x-request-id", self._request_id.encode("latin-1"))]
        await self._send(message)

    async def redirect(self, address: str) -> None:
        """Send the browser to another page of the site."""
        self._scope[LOGGED_KEY] = True
        headers = [(b"location", address.encode("latin-1")), (b"content-length", b"0"), (b"cache-control", b"no-store")]
        headers += [(name.lower().encode(), value.encode()) for name, value in SECURITY_HEADERS.items()]
        await self.send({"type": "http.response.start", "status": 303, "headers": headers})
        await self.send({"type": "http.response.body", "body": b""})

    async def refuse(self, status: int, error: ContextiveError) -> None:
        if self._started:
            return
        self._scope[LOGGED_KEY] = True
        log_refusal(error.code, requestId=self._request_id, http=status)
        is_nexus = self._scope["path"] == _NEXUS_PATH
        payload = {"error": error.full_message()} if is_nexus else error_body(error, self._request_id)
        body = json.dumps(payload).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        headers += [(name.lower().encode(), value.encode()) for name, value in error_headers(error)]
        if status in (400, 413):  # the rest of the body must not be parsed as a request
            headers.append((b"connection", b"close"))
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})


##= docs/spec/host.md#errors
##% An error over plain HTTP MUST have the same shape on every path, except on `/api/mcp`, whose dialect defines a
##% different one.
def error_body(error: ContextiveError, request_id: str) -> dict[str, Any]:
    """The body of every HTTP error. `detail` is for clients of the older gateway, whose messages had no full stop."""
    detail = error.message.removesuffix(".")
    return {"status": "error", "error": error.as_dict(), "detail": detail, "request_id": request_id}


def error_headers(error: ContextiveError) -> Iterable[tuple[str, str]]:
    """The response headers that RFC 6750 and RFC 9110 require for an error."""
    match error:
        case InvalidToken():
            yield "WWW-Authenticate", 'Bearer realm="contextive", error="invalid_token"'
        case Unauthorized():
            yield "WWW-Authenticate", 'Bearer realm="contextive"'
        case RateLimited():
            yield "Retry-After", str(error.retry_after_seconds)
        case _ if error.code == "forbidden":
            yield "WWW-Authenticate", 'Bearer realm="contextive", error="insufficient_scope", scope="maintainer"'


def replay_body(body: bytes, receive: Receive) -> Receive:
    """A `receive` that returns a body which was already read, and then continues with the real one."""
    is_sent = False

    async def replayed() -> Message:
        nonlocal is_sent
        if is_sent:
            return await receive()
        is_sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed


##= docs/spec/host.md#tokens
##% A session MUST be usable only with the credential that opened it.
@lru_cache(maxsize=256)
def _sdk_user(caller: Caller) -> object:
    """The caller as an SDK user. The SDK binds a session to the user that opened it."""
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
    from mcp.server.auth.provider import AccessToken

    return AuthenticatedUser(AccessToken(token="", client_id=caller.name, scopes=[caller.scope.value]))


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and (not port or (port.isascii() and port.isdigit())) else host


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
