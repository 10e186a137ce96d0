"""Sessions of people who signed in to the site with a token. They are in memory: a restart ends them."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie

from contextive.errors import Unauthorized
from contextive.registry import Caller
from contextive.server.auth import Authenticator, fingerprint

SESSION_SECONDS = 12 * 3_600
_MAX_SESSIONS = 1_000
_NAME = "contextive-session"


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """A session, without its id and without its token."""

    token_digest: bytes
    ends_at: float


class BrowserSessions:
    """The sessions of one server, by the hash of their ids."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._sessions: OrderedDict[bytes, BrowserSession] = OrderedDict()
        self._form_key = secrets.token_bytes(32)

    ##= docs/spec/site.md#signing-in
    ##% Signing in MUST exchange a valid token for a random session id of 256 bits, which is stored only as a hash and ends
    ##% after 12 hours, by signing out, or when the token stops working.
    def begin(self, token: str) -> str:
        """A new session for a token that was accepted; returns its id."""
        session_id = secrets.token_urlsafe(32)
        with self._lock:
            self._sessions[fingerprint(session_id)] = BrowserSession(
                fingerprint(token), self._clock() + SESSION_SECONDS
            )
            if len(self._sessions) > _MAX_SESSIONS:
                self._sessions.popitem(last=False)
        return session_id

    def end(self, session_id: str) -> None:
        with self._lock:
            self._sessions.pop(fingerprint(session_id), None)

    def caller_of(self, session_id: str, authenticator: Authenticator) -> Caller | None:
        """Who signed in; None if the session has ended or its token does not work any more."""
        key = fingerprint(session_id)
        session = self._sessions.get(key)
        if session is None:
            return None
        try:
            if self._clock() < session.ends_at:
                return authenticator.caller_of_digest(session.token_digest)
        except Unauthorized:
            pass
        with self._lock:
            self._sessions.pop(key, None)
        return None

    def form_token(self, session_id: str) -> str:
        """What a form of this session must contain. Another site cannot know it."""
        return hmac.new(self._form_key, session_id.encode("utf-8", "surrogateescape"), hashlib.sha256).hexdigest()

    def is_form_token(self, session_id: str, given: str) -> bool:
        return hmac.compare_digest(self.form_token(session_id).encode(), given.encode("utf-8", "surrogatepass"))


##= docs/spec/site.md#signing-in
##% The name of the session cookie MUST contain the port, because all ports of a host share their cookies.
def cookie_name(host: str, *, is_secure: bool) -> str:
    """The name of the session cookie for a Host header."""
    _, colon, port = host.rpartition(":")
    number = port if colon and port.isdigit() else "443" if is_secure else "80"
    return f"__Host-{_NAME}-{number}" if is_secure else f"{_NAME}-{number}"


def session_id_of(cookies: str | None, host: str) -> str | None:
    """The session id in a Cookie header."""
    if not cookies:
        return None
    try:
        parsed = SimpleCookie(cookies)
    except CookieError:
        return None
    for is_secure in (True, False):
        found = parsed.get(cookie_name(host, is_secure=is_secure))
        if found is not None:
            return str(found.value)
    return None
