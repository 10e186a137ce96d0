"""Bearer tokens: find the caller that a token belongs to."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from contextive.config import Config
from contextive.errors import ConfigError, Unauthorized
from contextive.registry import Caller, Scope

ANONYMOUS = Caller("anonymous", Scope.READER)
"""The caller on a server without tokens."""


class InvalidToken(Unauthorized):
    """A credential was sent, but it is unknown or no longer valid."""


class TokenSource(Protocol):
    """A source of tokens, such as the configuration or the token file."""

    def caller_of(self, digest: bytes) -> Caller | None:
        """The caller for a token's fingerprint, or None if this source does not know it.

        Raises `InvalidToken` for a known token that is no longer valid.
        """
        ...

    def names(self) -> tuple[str, ...]:
        """The names of the currently valid tokens, each with its scope."""
        ...

    @property
    def has_maintainer(self) -> bool:
        """Whether a currently valid token has the maintainer scope."""
        ...

    def __bool__(self) -> bool:
        """Whether this source has, or has had, any tokens. If so, every request needs one."""
        ...


##= docs/spec/gateway.md#issued-tokens
##% The log MUST show the name of a token and never the token itself.
@dataclass(frozen=True, slots=True)
class Credential:
    """A token's fingerprint and its caller. The token itself is not stored."""

    caller: Caller
    digest: bytes


class ConfiguredTokens:
    """The tokens of a configuration: the reader and admin token, and those listed by hash."""

    def __init__(self, credentials: Sequence[Credential]) -> None:
        self._credentials = tuple(credentials)

    ##= docs/spec/gateway.md#tool-scopes
    ##% A reader MUST be able to search, to read the graph and to see coverage with the token in `KM_READER_TOKEN`.
    ##= docs/spec/gateway.md#tool-scopes
    ##% Over HTTP, feedback, backups, documents, recipes and ingest control MUST require the maintainer scope, which the
    ##% token in `KM_ADMIN_TOKEN` has.
    @classmethod
    def of(cls, config: Config) -> ConfiguredTokens:
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

    def names(self) -> tuple[str, ...]:
        return tuple(f"{c.caller.name.removeprefix('token:')} ({c.caller.scope.value})" for c in self._credentials)

    @property
    def has_maintainer(self) -> bool:
        return any(credential.caller.scope is Scope.MAINTAINER for credential in self._credentials)

    ##= docs/spec/host.md#tokens
    ##% Tokens MUST be compared in constant time.
    def caller_of(self, digest: bytes) -> Caller | None:
        found: Caller | None = None
        for credential in self._credentials:  # no early exit: the time must not depend on which one matches
            if hmac.compare_digest(credential.digest, digest):
                found = credential.caller
        return found


class Authenticator:
    """All credentials of a server. Without any, everyone may read, which is allowed only on a loopback address."""

    def __init__(self, sources: Sequence[TokenSource] = (), *, require_token: bool = False) -> None:
        self._sources = tuple(sources)
        self._require_token = require_token

    @classmethod
    def of(cls, config: Config, *others: TokenSource) -> Authenticator:
        return cls((ConfiguredTokens.of(config), *others))

    def requiring_token(self) -> Authenticator:
        """A copy that requires a token even after the last one is removed."""
        return Authenticator(self._sources, require_token=True)

    def __bool__(self) -> bool:
        return self._require_token or any(self._sources)

    def names(self) -> tuple[str, ...]:
        """The names of all currently valid tokens."""
        return tuple(name for source in self._sources for name in source.names())

    @property
    def has_maintainer(self) -> bool:
        return any(source.has_maintainer for source in self._sources)

    ##= docs/spec/host.md#tokens
    ##% When tokens are set, a request without a known token MUST be refused with 401, or be led to the page to sign in
    ##% if a browser asks for a page.
    def caller_for(self, authorization: str | None) -> Caller:
        """The caller for an `Authorization` header. Raises `Unauthorized` if a token is required and not valid."""
        if not self:
            return ANONYMOUS
        if authorization is None:
            raise Unauthorized("Missing credentials.", hint="Send Authorization: Bearer with a token of this server.")
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not token or token != token.strip():
            raise InvalidToken("The Authorization header is not a bearer token.", hint="Send: Bearer <token>.")
        return self.caller_of_digest(fingerprint(token))

    def caller_of_digest(self, digest: bytes) -> Caller:
        """The caller for the fingerprint of a token. Raises `InvalidToken` if no source accepts it."""
        for source in self._sources:
            caller = source.caller_of(digest)
            if caller is not None:
                return caller
        raise InvalidToken("The token is not known here.", hint="Ask a maintainer of this server for one.")


##= docs/spec/host.md#tokens
##% A token MUST be stored only as a fingerprint.
def fingerprint(token: str) -> bytes:
    """The hash by which a token is stored and compared. Tokens are long and random, so a plain hash is enough."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def is_loopback(host: str) -> bool:
    """Whether a bind address is reachable only from this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


##= docs/spec/host.md#startup
##% The server MUST refuse to start on a non-loopback address while there are no tokens.
def refuse_open_bind(host: str, authenticator: Authenticator) -> None:
    """Raise if other machines would be served without tokens."""
    if not is_loopback(host) and not authenticator:
        raise ConfigError(
            f"Refusing to listen on {host} without tokens: anyone who can reach this machine could read the project.",
            hint="Set KM_READER_TOKEN and KM_ADMIN_TOKEN, or listen on 127.0.0.1.",
        )
