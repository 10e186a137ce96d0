"""Issued tokens: shown once, stored as hashes, revocable with immediate effect.

They are in `tokens.json` in the state directory. Every request checks whether that file has changed, so a change by a
command applies to all servers of the project from the next request on. The state directory may be part of a project
from somebody else, and a file that comes with a project must not decide who may call. So the file is sealed: signed
with a key of the user. Tokens without a valid seal are not accepted.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from contextive.errors import Conflict, NotFound, Unavailable
from contextive.file_writing import make_folders, write_file
from contextive.registry import Caller, Scope
from contextive.server.auth import InvalidToken, fingerprint
from contextive.store.sql.locks import FileLock

logger = logging.getLogger(__name__)

PREFIX = "ctx_"
_FILE = "tokens.json"
_LOCK_SECONDS = 10.0
_MAX_BYTES = 4_194_304
_HINT = "Create or revoke a token to rewrite the file with the readable ones; else delete tokens.json and start again."
_OBJECT = re.compile(r"\{[^{}]{1,65536}\}")
_NOT_A_TOKEN = (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError)


##= docs/spec/gateway.md#issued-tokens
##% A token MAY have an expiry time and a list of tools.
@dataclass(frozen=True, slots=True)
class IssuedToken:
    """The stored data of a token. Times are seconds since the epoch."""

    name: str
    scope: Scope
    sha256: str
    created_at: float
    expires_at: float | None = None
    tools: tuple[str, ...] | None = None
    revoked_at: float | None = None

    def state(self, now: float) -> str:
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and now >= self.expires_at else "valid"


class TokenFile:
    """The issued tokens of one project."""

    def __init__(self, state_dir: Path, key_path: Path, clock: Callable[[], float] = time.time) -> None:
        self.folder = state_dir
        self._path = state_dir / _FILE
        self._key_path = key_path
        self._clock = clock
        self._seen: tuple[int, ...] | None = None
        self._tokens: tuple[IssuedToken, ...] = ()
        self._is_broken = False

    # Lookup

    ##= docs/spec/gateway.md#issued-tokens
    ##% Removing the last token MUST NOT open the server to callers without a token.
    def __bool__(self) -> bool:
        """Revoked and expired tokens count: revoking the last one must not give everyone access."""
        self._reload_if_changed()
        return self._is_broken or bool(self._tokens)

    def caller_of(self, digest: bytes) -> Caller | None:
        """The caller for a fingerprint, or None if unknown. Raises `InvalidToken` for a revoked or expired token."""
        self._reload_if_changed()
        found: IssuedToken | None = None
        for token in self._tokens:  # no early exit: the time must not depend on which one matches
            if hmac.compare_digest(bytes.fromhex(token.sha256), digest):
                found = token
        if found is None:
            return None
        match found.state(self._clock()):
            case "revoked":
                raise InvalidToken("The token was revoked.", hint="Ask a maintainer of this server for another one.")
            case "expired":
                raise InvalidToken("The token has expired.", hint="Ask a maintainer of this server for another one.")
            case _:
                tools = None if found.tools is None else frozenset(found.tools)
                return Caller(f"token:{found.name}", found.scope, tools)

    def names(self) -> tuple[str, ...]:
        self._reload_if_changed()
        now = self._clock()
        return tuple(f"{token.name} ({token.scope.value})" for token in self._tokens if token.state(now) == "valid")

    @property
    def has_maintainer(self) -> bool:
        self._reload_if_changed()
        now = self._clock()
        return any(token.scope is Scope.MAINTAINER and token.state(now) == "valid" for token in self._tokens)

    def tokens(self) -> tuple[IssuedToken, ...]:
        """All tokens, oldest first. Raises `Unavailable` if the file is damaged or its seal is not valid."""
        return self._read()

    # Changes

    ##= docs/spec/gateway.md#issued-tokens
    ##% The command `token create` MUST show a token once and store only its hash.
    def issue(
        self,
        name: str,
        scope: Scope,
        *,
        tools: Iterable[str] | None = None,
        expires_at: float | None = None,
        taken: Sequence[str] = (),
    ) -> str:
        """Create a token and return it; it cannot be shown again. `taken` are the names of configured tokens."""
        with self._edit() as tokens:
            now = self._clock()
            if name in taken or any(token.name == name and token.state(now) != "revoked" for token in tokens):
                raise Conflict(
                    f"There is already a token named {name}.", hint="Choose another name, or revoke it first."
                )
            secret = PREFIX + secrets.token_urlsafe(32)
            listed = None if tools is None else tuple(sorted(set(tools)))
            tokens.append(IssuedToken(name, scope, fingerprint(secret).hex(), now, expires_at, listed))
        return secret

    def revoke(self, name: str) -> IssuedToken:
        """Refuse a token from now on."""
        with self._edit() as tokens:
            for position, token in enumerate(tokens):
                if token.name == name and token.revoked_at is None:
                    tokens[position] = replace(token, revoked_at=self._clock())
                    return tokens[position]
            names = ", ".join(token.name for token in tokens if token.revoked_at is None)
            raise NotFound(f"There is no token named {name}.", hint=f"Tokens: {names or 'none'}.")

    @contextmanager
    def _edit(self) -> Iterator[list[IssuedToken]]:
        """The current tokens, under a lock. They are written when the block ends without an exception."""
        lock = FileLock(self._path.with_suffix(".lock"))
        try:
            make_folders(self._path.parent)
            if not lock.acquire(_LOCK_SECONDS):
                raise Unavailable("Another process is writing the tokens.", hint="Try again in a moment.")
            tokens = self._read_or_salvage()
            yield tokens
            self._write(tokens)
        except OSError as failure:
            raise Unavailable(
                f"The tokens cannot be written: {failure.strerror or 'the system refuses'}.",
                hint="Check the state directory and its disk.",
            ) from None
        finally:
            lock.release()

    def _read_or_salvage(self) -> list[IssuedToken]:
        """The current tokens. A damaged file with some readable tokens is renamed, and those tokens are returned."""
        try:
            return list(self._read())
        except Unavailable:
            tokens = list(self._readable_tokens())
            if not tokens:
                raise
            stamp = datetime.fromtimestamp(self._clock(), UTC).strftime("%Y%m%dT%H%M%S")
            self._path.replace(self._path.with_name(f"{_FILE}.damaged-{stamp}"))
            return tokens

    # The file

    ##= docs/spec/gateway.md#issued-tokens
    ##% A new token MUST work immediately, and a revoked or expired token stops working immediately.
    def _reload_if_changed(self) -> None:
        """Read the file again if it has changed."""
        try:
            stat = self._path.stat()
        except OSError:
            # Deleting the file must not give everyone access.
            self._is_broken = self._is_broken or self._seen is not None
            self._tokens = ()
            return
        signature = (stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
        if signature == self._seen:
            return
        try:
            self._tokens, self._is_broken = self._read(), False
        except Unavailable as error:
            self._tokens, self._is_broken = self._readable_tokens(), True
            logger.error(
                "%s %d issued tokens are still readable and accepted.", error.full_message(), len(self._tokens)
            )
        self._seen = signature

    ##= docs/spec/gateway.md#issued-tokens
    ##% A token file that was not sealed with the user's key MUST grant no access.
    def _read(self) -> tuple[IssuedToken, ...]:
        try:
            with self._path.open("rb") as file:
                data = file.read(_MAX_BYTES + 1)
        except FileNotFoundError:
            return ()
        except OSError:
            raise Unavailable("tokens.json cannot be read.", hint="Check who owns it.") from None
        try:
            body = json.loads(data)
            tokens = tuple(_token_from_json(item) for item in body["tokens"])
            seal = str(body["seal"])
        except _NOT_A_TOKEN:
            raise Unavailable("tokens.json is damaged.", hint=_HINT) from None
        key = self._key()
        if key is None or not hmac.compare_digest(seal.encode(), _seal(key, tokens).encode()):
            raise Unavailable("tokens.json was not written by this user on this machine.", hint=_HINT)
        return tokens

    ##= docs/spec/gateway.md#issued-tokens
    ##% Tokens that can still be read from a damaged token file MUST continue to work.
    def _readable_tokens(self) -> tuple[IssuedToken, ...]:
        """The intact tokens of a damaged file. Each token has its own seal, which is checked."""
        key = self._key()
        try:
            with self._path.open("rb") as file:
                text = file.read(_MAX_BYTES).decode("utf-8", "replace")
        except OSError:
            return ()
        found: dict[str, IssuedToken] = {}
        for piece in _OBJECT.findall(text) if key is not None else ():
            with suppress(*_NOT_A_TOKEN):
                item = json.loads(piece)
                token = _token_from_json(item)
                assert key is not None
                if hmac.compare_digest(str(item["seal"]).encode(), _seal(key, [token]).encode()):
                    found[token.sha256] = token
        return tuple(found.values())

    def _write(self, tokens: Sequence[IssuedToken]) -> None:
        key = self._key() or self._make_key()
        rows = [{**_token_to_json(token), "seal": _seal(key, [token])} for token in tokens]
        body = {"tokens": rows, "seal": _seal(key, tokens)}
        write_file(self._path, json.dumps(body, indent=2).encode() + b"\n", mode=0o600)

    def _key(self) -> bytes | None:
        try:
            key = self._key_path.read_bytes()
        except OSError:
            return None
        return key if len(key) == 32 else None

    def _make_key(self) -> bytes:
        """Create the key. If another process was faster, return its key."""
        make_folders(self._key_path.parent, mode=0o700)
        lock = FileLock(self._key_path.with_suffix(".lock"))
        if not lock.acquire(_LOCK_SECONDS):
            raise Unavailable("Another process is writing the key of the tokens.", hint="Try again in a moment.")
        try:
            key = self._key()
            if key is None:
                key = secrets.token_bytes(32)
                write_file(self._key_path, key, mode=0o600)
            return key
        finally:
            lock.release()


def _seal(key: bytes, tokens: Sequence[IssuedToken]) -> str:
    text = json.dumps([_token_to_json(token) for token in tokens], sort_keys=True)
    return hmac.new(key, b"contextive tokens\n" + text.encode(), hashlib.sha256).hexdigest()


def _token_to_json(token: IssuedToken) -> dict[str, Any]:
    return {name: value for name, value in asdict(token).items() if value is not None}


def _token_from_json(item: Mapping[str, Any]) -> IssuedToken:
    digest = str(item["sha256"])
    if len(bytes.fromhex(digest)) != 32:
        raise ValueError("not a SHA-256")
    tools = item.get("tools")
    times = [None if item.get(key) is None else float(item[key]) for key in ("expires_at", "revoked_at")]
    return IssuedToken(
        name=str(item["name"]),
        scope=Scope(item["scope"]),
        sha256=digest,
        created_at=float(item["created_at"]),
        expires_at=times[0],
        tools=None if tools is None else tuple(map(str, tools)),
        revoked_at=times[1],
    )
