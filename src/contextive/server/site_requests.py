"""Which requests belong to the site, who sends them, and what every response of the site contains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from urllib.parse import quote, urlencode

from starlette.types import Scope

from contextive.errors import Forbidden, InvalidRequest
from contextive.registry import Caller
from contextive.server.auth import ANONYMOUS, Authenticator
from contextive.server.browser_sessions import BrowserSessions, session_id_of
from contextive.server.headers import RequestHeaders

SIGN_IN_PATH: Final = "/sign-in"
SIGN_OUT_PATH: Final = "/sign-out"
EVENTS_PATH: Final = "/events"
PREFIXES: Final = (
    "specs", "requirements", "matrix", "code", "graph", "notes", "search", "findings", "changes", "status", "assets", "events",
    "instance", "sign-in", "sign-out",
)  # fmt: skip
FORM_TYPE: Final = "application/x-www-form-urlencoded"
_OPEN_PREFIXES: Final = ("sign-in", "assets", "instance")
_NO_PAGES: Final = ("assets", "events", "instance")
_LONGEST_NEXT: Final = 1_000
_SAME_ORIGIN: Final = frozenset({"same-origin", "none"})
##= docs/spec/site.md#security
##% Every response of the site MUST have a content security policy that allows neither inline scripts, inline styles nor
##% other hosts, and forbid framing, referrers, sniffing and use by other origins.
##= docs/spec/site.md#pages
##% A page MUST work without an error, without a request to another host and without a violation of WCAG A or AA that axe-core
##% finds, on a desktop and on a phone, light and dark.
SECURITY_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


##= docs/spec/site.md#pages
##% Text of the project MUST be served only below fixed prefixes of the path.
def is_site_path(path: str) -> bool:
    """Whether a path belongs to the site."""
    return path == "/" or path[1:].partition("/")[0] in PREFIXES


def is_page_path(path: str) -> bool:
    """Whether a path of the site is a page, which other sites may link to."""
    return is_site_path(path) and path[1:].partition("/")[0] not in _NO_PAGES


def is_open_path(path: str) -> bool:
    """Whether a path of the site is served to everybody: the page to sign in, and the files that pages load."""
    return path[1:].partition("/")[0] in _OPEN_PREFIXES


class SiteAccess:
    """Who sends a request to the site: a token, or a session of somebody who signed in with one."""

    def __init__(self, sessions: BrowserSessions, authenticator: Callable[[], Authenticator]) -> None:
        self.sessions = sessions
        self._authenticator = authenticator

    ##= docs/spec/site.md#signing-in
    ##% The session cookie MUST NOT be accepted by `/mcp`, `/api` or `/metrics`.
    def caller_of(self, headers: RequestHeaders, path: str) -> Caller | None:
        """The caller of a session; None if the path is not one of the site or there is no session."""
        if not is_site_path(path):
            return None
        session_id = session_id_of(headers.get(b"cookie"), headers.get(b"host") or "")
        return self.sessions.caller_of(session_id, self._authenticator()) if session_id else None

    def sign_in(self, token: str) -> str:
        """A new session for a token. Raises `Unauthorized` if the token is not valid."""
        caller = self._authenticator().caller_for(f"Bearer {token}")
        if caller is ANONYMOUS:
            raise InvalidRequest("This server needs no token.", hint="Open the first page.")
        if caller.tools is not None:
            raise Forbidden("This token is only for some tools.", hint="Sign in with a token without a list of tools.")
        return self.sessions.begin(token)

    @property
    def needs_sign_in(self) -> bool:
        return bool(self._authenticator())


##= docs/spec/site.md#security
##% JSON and events MUST be refused when `Sec-Fetch-Site` is anything other than `same-origin` or `none`.
def refuse_other_sites(headers: RequestHeaders) -> None:
    """Raise if a browser sent the request for a page of another origin."""
    if not all(site.strip().lower() in _SAME_ORIGIN for site in headers.get_all(b"sec-fetch-site")):
        raise Forbidden("A browser sent this for a page of another origin.", hint="Open the page itself.")


##= docs/spec/site.md#security
##% A change MUST be refused unless it is a POST with the Origin of the site and, after signing in, the token of its form.
def refuse_foreign_origin(headers: RequestHeaders) -> None:
    """Raise if a form was not sent by a page of this very site. Another port is another origin."""
    refuse_other_sites(headers)
    origins, host = headers.get_all(b"origin"), (headers.get(b"host") or "").lower()
    if len(origins) != 1 or origins[0].lower() not in (f"http://{host}", f"https://{host}"):
        raise Forbidden("The form was not sent by a page of this site.", hint="Open the page and send it again.")


def is_secure(headers: RequestHeaders) -> bool:
    """Whether the browser uses https, which a proxy may end before this server."""
    return (headers.get(b"origin") or "").lower().startswith("https://")


def sign_in_address(scope: Scope) -> str:
    """The page to sign in, which then leads back to the requested one."""
    query = scope.get("query_string", b"").decode("latin-1")
    wanted = quote(scope["path"], errors="surrogatepass") + (f"?{query}" if query else "")
    is_first_page = wanted == "/" or scope["method"] != "GET"
    return SIGN_IN_PATH if is_first_page else f"{SIGN_IN_PATH}?{urlencode({'next': wanted[:_LONGEST_NEXT]})}"


def safe_next(address: str) -> str:
    """Where to go after signing in: an address of this site, or else its first page."""
    path = address.partition("?")[0].partition("#")[0]
    is_own = address.isprintable() and address.isascii() and "\\" not in address and not address.startswith("//")
    return address if is_own and address.startswith("/") and is_site_path(path) else "/"


def wants_page(scope: Scope) -> bool:
    """Whether the client is a browser that shows what it gets."""
    accepted = RequestHeaders(scope).get(b"accept") or ""
    return "text/html" in accepted
