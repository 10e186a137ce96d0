"""A web server on loopback with responses defined by the test, and certificates for it."""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from contextive.errors import ContextiveError
from contextive.workspace.http_fetch import FetchPolicy, fetch_specification

Answer: TypeAlias = bytes | Callable[[socket.socket], None]
"""The whole response, or a function that handles the connection."""
WAIT_SECONDS = 10.0
LOOSE = FetchPolicy(allow_http=True, allow_private=True, ports=None, timeout_seconds=5.0)
TEXT = b"# Title\n\nA pot MUST brew.\n"


def refusal(url: str, destination: Path, policy: FetchPolicy = LOOSE) -> ContextiveError:
    """The error of a download that must fail. Also checks that it leaves no files behind."""
    before = _files(destination)
    with pytest.raises(ContextiveError) as caught:
        fetch_specification(url, destination, policy=policy)
    assert _files(destination) == before
    assert str(destination.parent) not in caught.value.full_message()
    return caught.value


def _files(destination: Path) -> dict[str, bytes]:
    root = destination.parents[2]
    return {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def response(
    body: bytes = TEXT,
    content_type: str | None = "text/plain; charset=utf-8",
    *,
    status: str = "200 OK",
    length: int | None = None,
    **headers: str,
) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body) if length is None else length}"]
    if content_type is not None:
        lines.append(f"Content-Type: {content_type}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def redirect(location: str, status: str = "302 Found") -> bytes:
    return response(b"", None, status=status, Location=location)


@dataclass
class Site:
    """The pages of the server by path, and the requests it received."""

    port: int
    pages: dict[str, Answer]
    requests: list[str] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    def url(self, path: str = "/spec.md", *, scheme: str = "http", host: str = "127.0.0.1") -> str:
        return f"{scheme}://{host}:{self.port}{path}"

    @property
    def paths(self) -> list[str]:
        return [request.split(" ", 2)[1] for request in self.requests]


@contextlib.contextmanager
def serving(
    pages: Mapping[str, Answer] | None = None, *, tls: ssl.SSLContext | None = None, address: str = "127.0.0.1"
) -> Iterator[Site]:
    with socket.create_server((address, 0)) as listener:
        site = Site(listener.getsockname()[1], dict(pages or {}))
        listener.settimeout(0.05)
        threads: list[threading.Thread] = []

        def accept() -> None:
            while not site.closing.is_set():
                try:
                    connection, _ = listener.accept()
                except TimeoutError:
                    continue
                threads.append(threading.Thread(target=_serve, args=(site, connection, tls), daemon=True))
                threads[-1].start()

        acceptor = threading.Thread(target=accept, daemon=True)
        acceptor.start()
        try:
            yield site
        finally:
            site.closing.set()
            for thread in (acceptor, *threads):
                thread.join(WAIT_SECONDS)


def _serve(site: Site, connection: socket.socket, tls: ssl.SSLContext | None) -> None:
    connection.settimeout(WAIT_SECONDS)
    try:
        if tls is not None:
            connection = tls.wrap_socket(connection, server_side=True)
        head = b""
        while b"\r\n\r\n" not in head:
            piece = connection.recv(65536)
            if not piece:
                return
            head += piece
        site.requests.append(head.decode("latin-1"))
        answer = site.pages.get(site.paths[-1], response(b"not here", status="404 Not Found"))
        if isinstance(answer, bytes):
            connection.sendall(answer)
            if tls is not None:
                connection = connection.unwrap()  # type: ignore[attr-defined]
        else:
            answer(connection)
    except OSError:
        pass  # some tests close the connection early
    finally:
        connection.close()


@dataclass(frozen=True)
class Authority:
    """A certificate authority for tests."""

    folder: Path
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @staticmethod
    def make(folder: Path) -> Authority:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tests")])
        certificate = (
            _builder(name, name, key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(key, hashes.SHA256())
        )
        return Authority(folder, key, certificate)

    def trusted(self) -> ssl.SSLContext:
        """The TLS context of a client that trusts only this authority."""
        pem = self.certificate.public_bytes(serialization.Encoding.PEM).decode()
        return ssl.create_default_context(cadata=pem)

    def server(self, *names: str, expired: bool = False) -> ssl.SSLContext:
        """The TLS context of a server with these names or addresses."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
        certificate = (
            _builder(subject, self.certificate.subject, key, expired=expired)
            .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False)
            .sign(self.key, hashes.SHA256())
        )
        file = self.folder / f"{certificate.serial_number}.pem"
        file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, *, expired: bool = False
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    end = now - datetime.timedelta(days=1) if expired else now + datetime.timedelta(days=2)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=3))
        .not_valid_after(end)
    )
