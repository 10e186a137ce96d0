"""Drops the settings that a project's configuration file may not set unless the user trusts it.

Someone else may have written that file. It may choose what is indexed and offered inside the project, but not where
secrets are sent, who may connect, which plugins are loaded, or what is read outside the project. A dropped setting keeps
its default and is reported.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from contextive.config.environment import PUBLIC_PREFIX
from contextive.config.expansion import references
from contextive.config.keypath import KeyPath, dotted, value_at

##= docs/spec/host.md#trust
##% An untrusted file MUST NOT set providers, tokens, addresses of other machines, or the allowed hosts and origins.
_RESTRICTED_KEYS: Final[Mapping[KeyPath, str]] = {
    ("providers",): "it names services and their keys",
    ("auth",): "it decides who may call",
    ("store", "dsn"): "it names another machine",
    ("store", "project"): "it chooses the rows of a shared index",
    ("store", "passwordFile"): "it names a file with a secret",
    ("store", "insecure"): "it decides how another machine is checked",
    ("store", "connections"): "it decides how another machine is used",
    ("store", "migrate"): "it changes another machine",
    ("knowledge", "gatewayUrl"): "it names another machine",
    ("knowledge", "gatewayVerifySsl"): "it decides how another machine is checked",
    ("knowledge", "gatewayCaFile"): "it decides how another machine is checked",
    ("knowledge", "embeddingUrl"): "it names another machine",
    ("knowledge", "embeddingKey"): "it names another machine",
    ("knowledge", "uploadRoots"): "it opens directories outside the project",
    ("server", "tracing", "endpoint"): "it names another machine",
    ("server", "publicHosts"): "it decides who may call",
    ("server", "allowedOrigins"): "it decides who may call",
    ##= docs/spec/host.md#trust
    ##% An untrusted file MUST NOT allow writes.
    ("server", "allowWrites"): "it lets callers change files",
    ("server", "trustedProxies"): "it decides which proxies are trusted",
    ("limits", "authFailures"): "it decides how often a token can be guessed",
    ("limits", "rateRequests"): "it decides how often anyone may call",
    ("limits", "rateWindowSeconds"): "it decides how often anyone may call",
    ("limits", "writeSeconds"): "it decides how long a connection can stay open",
    ("trace", "fetch"): "it makes the server call URLs from the file",
}
_PATH_SETTINGS: Final[tuple[KeyPath, ...]] = (
    ("notes", "paths"),
    ("evidence", "paths"),
    ("trace", "specifications"),
    ("trace", "sources"),
    ("knowledge", "include"),
    ("knowledge", "exclude"),
    ("knowledge", "contentRoot"),
    ("knowledge", "docsSubdir"),
    ("store", "statePath"),
    ("backup", "destination"),
)
_HOST: Final[KeyPath] = ("server", "host")
_EMBEDDING: Final[KeyPath] = ("knowledge", "embeddingModel")
_EMBEDDED_MODELS: Final = ("minilm", "dummy", "none")
# Part of an entry can allow more than none: without its `enabled: $X` a pack would be on. So whole entries are dropped.
_ENTRY_SECTIONS: Final = frozenset({"toolPacks", "workflows", "routing"})
_UNTRUSTED: Final = "the file is not trusted, and "


@dataclass(frozen=True, slots=True)
class IgnoredSetting:
    """A setting of an untrusted file that was ignored, and why."""

    key: str
    reason: str


##= docs/spec/host.md#trust
##% An untrusted file MUST NOT enable a plugin.
def drop_restricted_keys(values: dict[str, Any], builtin_packs: frozenset[str]) -> Iterator[IgnoredSetting]:
    """Drop, before expansion, the settings that the file may not set, and those that read the environment."""
    for path, reason in _RESTRICTED_KEYS.items():
        yield from _drop(values, path, reason)
    packs = values.get("toolPacks")
    for name in list(packs) if isinstance(packs, dict) else ():
        if name not in builtin_packs:
            yield from _drop(values, ("toolPacks", name), "the pack is not built in")
    for path in list(dict.fromkeys(_settings_reading_environment(values, ()))):
        yield from _drop(
            values, path, f"it reads an environment variable whose name does not start with {PUBLIC_PREFIX}"
        )


##= docs/spec/host.md#trust
##% An untrusted file MUST NOT make the server listen on a non-loopback address.
def drop_restricted_values(values: dict[str, Any]) -> Iterator[IgnoredSetting]:
    """Drop, after expansion, addresses that are not loopback, and paths outside the project."""
    yield from _drop(values, _HOST, "the address is not loopback", unless=_is_loopback)
    yield from _drop(values, _EMBEDDING, "the model is not built in", unless=_EMBEDDED_MODELS.__contains__)
    for path in _PATH_SETTINGS:
        yield from _drop(values, path, "a path leads outside the project", unless=_stays_inside)


##= docs/spec/host.md#trust
##% A setting that an untrusted file is not allowed to set MUST keep its default and be reported.
##= docs/spec/host.md#trust
##% The settings that an untrusted file is allowed to set MUST be used.
def _drop(
    values: dict[str, Any], path: KeyPath, reason: str, unless: Callable[[Any], bool] = lambda _value: False
) -> Iterator[IgnoredSetting]:
    try:
        parent = value_at(values, path[:-1])
        found = value_at(parent, path[-1:])
    except LookupError:
        return
    if not unless(found):
        del parent[path[-1]]
        yield IgnoredSetting(dotted(path), _UNTRUSTED + reason)


##= docs/spec/host.md#trust
##% An untrusted file MUST NOT read an environment variable whose name does not start with `CONTEXTIVE_PUBLIC_`.
def _settings_reading_environment(value: Any, path: KeyPath) -> Iterator[KeyPath]:
    match value:
        case dict():
            for key, child in value.items():
                yield from _settings_reading_environment(child, (*path, key))
        case list():
            for child in value:
                yield from _settings_reading_environment(child, path)
        case str() if any(not name.startswith(PUBLIC_PREFIX) for name in references(value)):
            yield path[:2] if path[0] in _ENTRY_SECTIONS else path


def _is_loopback(host: Any) -> bool:
    if not isinstance(host, str) or host.lower() == "localhost":
        return True  # validation reports a value that is not a string
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _stays_inside(value: Any) -> bool:
    match value:
        case list():
            return all(_stays_inside(item) for item in value)
        case str():
            return not _leads_outside(value)
        case _:
            return True


##= docs/spec/host.md#trust
##% An untrusted file MUST NOT name a path outside the project.
def _leads_outside(path: str) -> bool:
    if re.match(r"https?://", path, re.IGNORECASE):
        return False
    bare = path.lstrip("! ")
    # Braces and commas separate the alternatives of a glob, each of which could contain `..`.
    steps = re.split(r"[/\\{},]", bare)
    return bare.startswith(("/", "\\", "~")) or bool(re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", bare)) or ".." in steps
