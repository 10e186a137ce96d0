"""Download a specification: only when the user asks for it, and only from public addresses.

A host is resolved once, all its addresses are checked, and the connection uses one of these addresses, so a name that
resolves differently a moment later (DNS rebinding) gains nothing. This is why the module uses its own socket: HTTP
clients resolve names themselves. Proxy variables are ignored for the same reason.
"""

from __future__ import annotations

import http.client
import io
import ipaddress
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TypeAlias
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from contextive import __version__
from contextive.errors import InvalidRequest, TimedOut, TooLarge, Unavailable, UpstreamError
from contextive.file_writing import make_folders, write_file

Resolver: TypeAlias = Callable[[str, int], Sequence[str]]
"""Takes host and port, returns the addresses of the host. Raises OSError if it has none."""
_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

_MAX_URL = 2048
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TEXT_TYPES = frozenset({"text/plain", "text/markdown", "text/x-markdown"})
_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_TEXT_ENDINGS = (".md", ".markdown", ".txt")
_HOST = re.compile(
    r"(?=.{1,253}\Z)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
)
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*")
_HTML = re.compile(r"\s*+(?:<!--(?>.*?-->)\s*+)*+<(?:!doctype\s++html|html|head|body)\b", re.IGNORECASE | re.DOTALL)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_RELAYS = ipaddress.IPv4Network("192.88.99.0/24")
_PLAIN_TEXT_HINT = "Use the URL of its plain text or Markdown, such as https://www.rfc-editor.org/rfc/rfc2324.txt."


def resolve_host(host: str, port: int) -> list[str]:
    """The addresses of a host from the system's resolver."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


@dataclass(frozen=True, slots=True)
class FetchPolicy:
    """What a download may do. The defaults are safe for untrusted URLs."""

    allow_http: bool = False
    allow_private: bool = False
    """Whether addresses of this machine and the local network are allowed."""
    ports: frozenset[int] | None = frozenset({80, 443})
    """The allowed ports; None allows all."""
    timeout_seconds: float = 30.0
    """The limit for the whole download, including name resolution and redirects."""
    max_bytes: int = 16 * 1024 * 1024
    max_redirects: int = 5
    resolve: Resolver = resolve_host
    tls: ssl.SSLContext | None = field(default=None, compare=False)
    """The TLS settings; None trusts the certificates of the system."""


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """The parts of an allowed URL."""

    url: str
    secure: bool
    host: str
    port: int
    target: str
    path: str

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.secure else 80) else f"{host}:{self.port}"


##= docs/spec/trace.md#network
##% A download MUST use https and connect only to public addresses, also after each redirect.
def fetch_specification(url: str, destination: Path, *, policy: FetchPolicy, within: Path | None = None) -> None:
    """Download the text of a URL to `destination`, completely or not at all.

    The destination must be inside `within`, with links in its path followed.
    """
    deadline = _Deadline(policy.timeout_seconds)
    endpoint = _parse_endpoint(url, policy)
    outcome = _get(endpoint, policy, deadline)
    visited = {endpoint.url}
    while isinstance(outcome, _Redirect):
        if len(visited) > policy.max_redirects:
            raise UpstreamError(f"The server redirects more than {policy.max_redirects} times.")
        try:
            endpoint = _redirect_endpoint(endpoint, outcome, policy)
            if endpoint.url in visited:
                raise UpstreamError("The server redirects in a loop.")
            visited.add(endpoint.url)
            outcome = _get(endpoint, policy, deadline)
        except InvalidRequest as refusal:
            raise UpstreamError(f"The server redirects to a URL that is not allowed. {refusal.message}") from None
    _store(outcome, destination, within)


# -- allowed addresses -------------------------------------------------------------------------------------------------


def _parse_endpoint(url: str, policy: FetchPolicy) -> _Endpoint:
    """The parts of a URL. Raises `InvalidRequest` if it is not allowed, regardless of the address of its host."""
    parts = _split(url)
    if parts.scheme == "http" and not policy.allow_http:
        raise InvalidRequest("Specifications are fetched over https only.", hint="Write https:// instead of http://.")
    if parts.scheme not in ("https", "http"):
        raise InvalidRequest("Specifications are fetched over https only.", hint="Use an https:// URL.")
    if "@" in parts.netloc:
        raise InvalidRequest("The URL contains a user name or a password.", hint="Remove them.")
    secure = parts.scheme == "https"
    port = _port(parts)
    if port is None:
        port = 443 if secure else 80
    elif policy.ports is not None and port not in policy.ports:
        allowed = ", ".join(map(str, sorted(policy.ports)))
        raise InvalidRequest(f"Port {port} is not allowed.", hint=f"Allowed: {allowed}.")
    host = _host(parts)
    path = parts.path or "/"
    target = f"{path}?{parts.query}" if parts.query else path
    endpoint = _Endpoint("", secure, host, port, target, path)
    return _Endpoint(f"{parts.scheme}://{endpoint.authority}{target}", secure, host, port, target, path)


def _split(url: str) -> SplitResult:
    if len(url) > _MAX_URL or any(c <= " " or c == "\\" or c == "\x7f" for c in url):
        raise InvalidRequest("The URL is too long, or contains white space, control characters or backslashes.")
    try:
        encoded = quote(url, safe="".join(map(chr, range(0x21, 0x7F))))
        parts = urlsplit(encoded)
        if not url.isascii() and urlsplit(url).netloc != parts.netloc:
            raise InvalidRequest("The host name is not ASCII.", hint="Write it in its xn-- form.")
    except (ValueError, UnicodeError):
        raise InvalidRequest("That is not a URL.") from None
    return parts


def _port(parts: SplitResult) -> int | None:
    try:
        return parts.port
    except ValueError:
        raise InvalidRequest("The port in the URL is not a number from 0 to 65535.") from None


def _host(parts: SplitResult) -> str:
    """The host as a name or an address in its usual form. Other notations of addresses are refused."""
    host = (parts.hostname or "").removesuffix(".")
    if (address := _as_address(host)) is not None and ("[" in parts.netloc) == (address.version == 6):
        return str(address)
    if _HOST.fullmatch(host) is None or _NUMBER.fullmatch(host.rpartition(".")[2]):
        raise InvalidRequest("The host in the URL is neither a name nor an address in its usual form.")
    return host


def _as_address(text: str) -> _Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def is_public(address: _Address) -> bool:
    """Whether an address, and any IPv4 address embedded in it, is on the public Internet."""
    if isinstance(address, ipaddress.IPv6Address):
        if address in _NAT64:
            return is_public(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        if address.ipv4_mapped is not None or address.is_site_local or address.scope_id is not None:
            return False
        if address.sixtofour is not None and not is_public(address.sixtofour):
            return False
    elif address in _RELAYS:
        return False
    return address.is_global and not (
        address.is_private
        or address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_reserved
        or address.is_unspecified
    )


def _addresses(endpoint: _Endpoint, policy: FetchPolicy, deadline: _Deadline) -> list[_Address]:
    """All addresses of the host. If one of them is not allowed, the host is refused."""
    literal = _as_address(endpoint.host)
    names = [endpoint.host] if literal is not None else _resolve(endpoint, policy, deadline)
    found = [address for name in names if (address := _as_address(name)) is not None]
    if not found or len(found) != len(names):
        raise UpstreamError("The host name cannot be resolved.")
    if not policy.allow_private and not all(map(is_public, found)):
        raise InvalidRequest("The host in the URL is not on the public Internet.", hint="Download the file by hand.")
    return found


def _resolve(endpoint: _Endpoint, policy: FetchPolicy, deadline: _Deadline) -> Sequence[str]:
    """The addresses of the host. It runs in a thread, because the system's resolver has no time limit."""
    answers: SimpleQueue[Sequence[str]] = SimpleQueue()

    def resolve() -> None:
        addresses: Sequence[str] = ()
        with suppress(OSError, UnicodeError):
            addresses = policy.resolve(endpoint.host, endpoint.port)
        answers.put(addresses)

    threading.Thread(target=resolve, name="resolve", daemon=True).start()
    try:
        return answers.get(timeout=deadline.remaining())
    except Empty:
        raise deadline.timeout_error() from None


# -- one request -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Redirect:
    location: str


class _Deadline:
    """The time limit for a whole download."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    def remaining(self) -> float:
        left = self._end - time.monotonic()
        if left <= 0:
            raise self.timeout_error()
        return left

    def timeout_error(self) -> TimedOut:
        return TimedOut(f"The specification did not arrive within {self._seconds:g} seconds.")


class _DeadlineReader(io.RawIOBase):
    """Reads from a socket, with the deadline applied to every read."""

    def __init__(self, connection: socket.socket, deadline: _Deadline) -> None:
        self._connection = connection
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        self._connection.settimeout(self._deadline.remaining())
        return self._connection.recv_into(buffer)


class _DeadlineSocket:
    """A connected socket for `http.client`. The code that opened the socket closes it."""

    def __init__(self, connection: socket.socket, deadline: _Deadline) -> None:
        self._connection = connection
        self._deadline = deadline

    def sendall(self, data: bytes) -> None:
        self._connection.settimeout(self._deadline.remaining())
        self._connection.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_DeadlineReader(self._connection, self._deadline))

    def close(self) -> None:
        return


def _get(endpoint: _Endpoint, policy: FetchPolicy, deadline: _Deadline) -> bytes | _Redirect:
    addresses = _addresses(endpoint, policy, deadline)
    try:
        with _connected(endpoint, addresses, policy, deadline) as connection:
            return _send_request(endpoint, _DeadlineSocket(connection, deadline), policy)
    except TimeoutError:
        raise deadline.timeout_error() from None
    except ssl.SSLCertVerificationError:
        raise UpstreamError("The certificate of the server cannot be verified for this host.") from None
    except http.client.IncompleteRead:
        raise _truncated_error() from None
    except http.client.HTTPException:
        raise UpstreamError("The server did not answer with HTTP.") from None
    except ssl.SSLEOFError:
        raise _truncated_error() from None
    except OSError:
        raise UpstreamError("The connection to the server failed.") from None


@contextmanager
def _connected(
    endpoint: _Endpoint, addresses: Sequence[_Address], policy: FetchPolicy, deadline: _Deadline
) -> Iterator[socket.socket]:
    """A connection to one of the checked addresses. With TLS, the certificate must match the host."""
    connection = _connect_to_any(addresses, endpoint.port, deadline)
    try:
        if endpoint.secure:
            context = policy.tls or _default_tls_context()
            connection.settimeout(deadline.remaining())
            # A stream that ends without a TLS close message was cut off.
            connection = context.wrap_socket(connection, server_hostname=endpoint.host, suppress_ragged_eofs=False)
        yield connection
    finally:
        connection.close()


def _connect_to_any(addresses: Sequence[_Address], port: int, deadline: _Deadline) -> socket.socket:
    """A connection to the first address that answers. Each gets an equal share of the remaining time."""
    for index, address in enumerate(addresses):
        family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
        connection = socket.socket(family, socket.SOCK_STREAM)
        try:
            connection.settimeout(deadline.remaining() / (len(addresses) - index))
            connection.connect((str(address), port))
        except OSError:
            connection.close()
            continue
        except BaseException:
            connection.close()
            raise
        return connection
    deadline.remaining()
    raise UpstreamError("The server cannot be reached.")


def _default_tls_context() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def _send_request(endpoint: _Endpoint, deadline_socket: _DeadlineSocket, policy: FetchPolicy) -> bytes | _Redirect:
    request = http.client.HTTPConnection(endpoint.host, endpoint.port)
    request.sock = deadline_socket
    request.putrequest("GET", endpoint.target, skip_host=True, skip_accept_encoding=True)
    for name, value in (
        ("Host", endpoint.authority),
        ("User-Agent", f"contextive-mcp/{__version__}"),
        ("Accept", "text/plain, text/markdown;q=0.9, */*;q=0.1"),
        ("Accept-Encoding", "identity"),
        ("Connection", "close"),
    ):
        request.putheader(name, value)
    request.endheaders()
    with request.getresponse() as response:
        if response.status in _REDIRECTS:
            return _Redirect(response.headers.get("Location", ""))
        if response.status != 200:
            raise UpstreamError(f"The server answered with status {response.status}.")
        _check_headers(response, endpoint)
        body = _body(response, policy.max_bytes)
    _check_text(body)
    return body


def _redirect_endpoint(endpoint: _Endpoint, redirect: _Redirect, policy: FetchPolicy) -> _Endpoint:
    """The target of a redirect, if it is allowed."""
    # Header bytes above ASCII arrive as Latin-1; in a URL they are percent-encoded bytes.
    location = quote(redirect.location.encode("latin-1", "replace"), safe="".join(map(chr, range(0x21, 0x7F))))
    if not location:
        raise UpstreamError("The server redirects without naming a URL.")
    try:
        joined = urljoin(endpoint.url, location)
    except ValueError:
        raise InvalidRequest("That is not a URL.") from None
    target = _parse_endpoint(joined, policy)
    if endpoint.secure and not target.secure:
        raise UpstreamError("The server redirects from https to http, which is not allowed.")
    return target


# -- checks of the response --------------------------------------------------------------------------------------------


def _check_headers(response: http.client.HTTPResponse, endpoint: _Endpoint) -> None:
    headers = response.headers
    encoding = headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("", "identity") or headers.get("Transfer-Encoding", "chunked").strip().lower() != "chunked":
        raise UpstreamError("The server compressed the specification, although the request did not allow it.")
    kind = headers.get_content_type() if "Content-Type" in headers else ""
    if kind in _HTML_TYPES:
        raise UpstreamError("The server sent a web page, not a specification's text.", hint=_PLAIN_TEXT_HINT)
    if kind in _TEXT_TYPES:
        return
    if kind not in ("", "application/octet-stream") or not endpoint.path.lower().endswith(_TEXT_ENDINGS):
        raise UpstreamError("The server sent something that is not plain text or Markdown.", hint=_PLAIN_TEXT_HINT)


def _body(response: http.client.HTTPResponse, max_bytes: int) -> bytes:
    too_large = TooLarge(f"The specification is larger than {max_bytes} bytes.")
    expected = response.length
    if expected is not None and expected > max_bytes:
        raise too_large
    body = bytearray()
    while piece := response.read(min(65536, max_bytes + 1 - len(body))):
        body += piece
        if len(body) > max_bytes:
            raise too_large
    if expected is not None and len(body) < expected:
        raise _truncated_error()
    return bytes(body)


def _truncated_error() -> UpstreamError:
    return UpstreamError("The connection ended before the specification did.", hint="Try again.")


def _check_text(body: bytes) -> None:
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UpstreamError("The server sent text that is not UTF-8.") from None
    if not text.strip() or "\0" in text:
        raise UpstreamError("The server sent an empty text, or one with NUL characters.")
    if _HTML.match(text[:4096]):
        raise UpstreamError("The server sent a web page, not a specification's text.", hint=_PLAIN_TEXT_HINT)


def _store(body: bytes, destination: Path, within: Path | None) -> None:
    """Write a file completely or not at all. An existing link is replaced, not followed."""
    try:
        folder = destination.parent
        if within is not None and not folder.resolve().is_relative_to(within.resolve()):
            raise InvalidRequest("The directory for downloaded specifications is outside the project.")
        make_folders(folder)
        write_file(destination, body)
    except (OSError, ValueError, RuntimeError):  # RuntimeError is raised for circular links
        raise Unavailable("The specification was downloaded but cannot be stored.") from None


__all__ = ["FetchPolicy", "Resolver", "fetch_specification", "is_public", "resolve_host"]
