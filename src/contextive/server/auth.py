"""Bearer tokens: which caller stands behind a credential."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass

from contextive.config import Config
from contextive.errors import ConfigError, Unauthorized
from contextive.registry import Caller, Scope

_ANONYMOUS = Caller("anonymous", Scope.READER)


@dataclass(frozen=True, slots=True)
class Credential:
    """A token's fingerprint and the caller it stands for. The token itself is not kept."""

    caller: Caller
    digest: bytes


class TokenBook:
    """All credentials of a server. An empty book lets everybody read: only a loopback bind may have one."""

    def __init__(self, credentials: Sequence[Credential]) -> None:
        self._credentials = tuple(credentials)

    @classmethod
    def of(cls, config: Config) -> TokenBook:
        auth = config.auth
        credentials = [
            Credential(Caller(f"token:{token.name}", Scope(token.scope)), bytes.fromhex(token.sha256))
            for token in auth.tokens
        ]
        if auth.reader_token:
            credentials.append(Credential(Caller("reader", Scope.READER), fingerprint(auth.reader_token)))
        if auth.admin_token:
            credentials.append(Credential(Caller("maintainer", Scope.MAINTAINER), fingerprint(auth.admin_token)))
        return cls(credentials)

    def __bool__(self) -> bool:
        return bool(self._credentials)

    def caller_for(self, authorization: str | None) -> Caller:
        """The caller behind an `Authorization` header. Raises `Unauthorized` where one is needed and none fits."""
        if not self._credentials:
            return _ANONYMOUS
        if authorization is None:
            raise Unauthorized("Missing credentials.", hint="Send Authorization: Bearer with a token of this server.")
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not token or token != token.strip():
            raise InvalidToken("The Authorization header is not a bearer token.", hint="Send: Bearer <token>.")
        digest = fingerprint(token)
        found: Caller | None = None
        for credential in self._credentials:  # every one is compared, whichever fits: the time tells nothing
            if hmac.compare_digest(credential.digest, digest):
                found = credential.caller
        if found is None:
            raise InvalidToken("The token is not known here.", hint="Ask a maintainer of this server for one.")
        return found


class InvalidToken(Unauthorized):
    """A credential was sent, and it is not one of ours."""


def fingerprint(token: str) -> bytes:
    """The only form in which a token is kept and compared. Tokens are long and random, so a plain hash is enough."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def is_loopback(host: str) -> bool:
    """Whether a bind address can be reached from this machine only."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def refuse_open_bind(host: str, book: TokenBook) -> None:
    """Never serve other machines without tokens."""
    if not is_loopback(host) and not book:
        raise ConfigError(
            f"Refusing to listen on {host} without tokens: everybody who can reach this machine could read the project.",
            hint="Set KM_READER_TOKEN and KM_ADMIN_TOKEN, or listen on 127.0.0.1.",
        )
