"""Settings from environment variables, which override the file.

`CONTEXTIVE_SERVER__LOG_LEVEL` sets `server.logLevel`: two underscores separate the keys, and case and single underscores
are ignored. The KM_* names of the Duskmantle gateway are aliases for single settings; a CONTEXTIVE_* name overrides them.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from contextive.config.coercion import coerce_override
from contextive.config.keypath import KeyPath, dotted, value_at
from contextive.config.schema import shared_json_schema
from contextive.config.settings import child_rule, entry_rule, list_settings, resolve_rule

PREFIX: Final = "CONTEXTIVE_"
PUBLIC_PREFIX: Final = "CONTEXTIVE_PUBLIC_"
CONFIG_VARIABLE: Final = "CONTEXTIVE_CONFIG"
_SEPARATOR: Final = "__"

##= docs/spec/gateway.md#tool-scopes
##% It MUST be possible to set tokens in the environment, also under the variable names of the older gateway.
_ALIASES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "KM_API_HOST": "server.host",
        "KM_API_PORT": "server.port",
        "KM_MCP_TRANSPORT": "server.mode",
        "KM_TRACING_ENABLED": "server.tracing.enabled",
        "KM_TRACING_ENDPOINT": "server.tracing.endpoint",
        "KM_TRACING_SERVICE_NAME": "server.tracing.serviceName",
        "KM_TRACING_SAMPLE_RATIO": "server.tracing.sampleRatio",
        "KM_TRACING_CONSOLE_EXPORT": "server.tracing.consoleExport",
        "KM_CONTENT_ROOT": "knowledge.contentRoot",
        "KM_CONTENT_DOCS_SUBDIR": "knowledge.docsSubdir",
        "KM_UPLOAD_ROOTS": "knowledge.uploadRoots",
        "KM_UPLOAD_DEFAULT_OVERWRITE": "knowledge.uploadDefaultOverwrite",
        "KM_UPLOAD_DEFAULT_INGEST": "knowledge.uploadDefaultIngest",
        "KM_MCP_DEFAULT_INGEST_PROFILE": "knowledge.defaultProfile",
        "KM_INGEST_WINDOW": "knowledge.windowCharacters",
        "KM_INGEST_OVERLAP": "knowledge.windowOverlap",
        "KM_SYMBOLS_ENABLED": "knowledge.symbols",
        "KM_EMBEDDING_MODEL": "knowledge.embeddingModel",
        "KM_TEXT_EMBEDDING_MODEL": "knowledge.embeddingModel",
        "KM_COVERAGE_HISTORY_LIMIT": "knowledge.coverageHistory",
        "KM_LIFECYCLE_HISTORY_LIMIT": "knowledge.lifecycleHistory",
        "KM_LIFECYCLE_STALE_DAYS": "knowledge.staleDays",
        "KM_SEARCH_WEIGHT_PROFILE": "search.weightProfile",
        "KM_SEARCH_W_SUBSYSTEM": "search.weightSubsystem",
        "KM_SEARCH_W_RELATIONSHIP": "search.weightRelationship",
        "KM_SEARCH_W_SUPPORT": "search.weightSupport",
        "KM_SEARCH_W_COVERAGE_PENALTY": "search.weightCoveragePenalty",
        "KM_SEARCH_W_CRITICALITY": "search.weightCriticality",
        "KM_SEARCH_VECTOR_WEIGHT": "search.vectorWeight",
        "KM_SEARCH_LEXICAL_WEIGHT": "search.lexicalWeight",
        "KM_SEARCH_SORT_BY_VECTOR": "search.sortByVector",
        "KM_SEARCH_GRAPH_MAX_RESULTS": "search.graphMaxResults",
        "KM_SEARCH_GRAPH_TIME_BUDGET_MS": "search.graphTimeBudgetMs",
        "KM_EDITOR_URI_TEMPLATE": "knowledge.editorUriTemplate",
        "KM_GATEWAY_URL": "knowledge.gatewayUrl",
        "KM_MCP_TIMEOUT_SECONDS": "knowledge.gatewayTimeoutSeconds",
        "KM_MCP_VERIFY_SSL": "knowledge.gatewayVerifySsl",
        "KM_MCP_CA_FILE": "knowledge.gatewayCaFile",
        "KM_SCHEDULER_ENABLED": "knowledge.schedule.ingest.enabled",
        "KM_SCHEDULER_INTERVAL_MINUTES": "knowledge.schedule.ingest.intervalMinutes",
        "KM_SCHEDULER_CRON": "knowledge.schedule.ingest.cron",
        "KM_BACKUP_ENABLED": "knowledge.schedule.backup.enabled",
        "KM_BACKUP_INTERVAL_MINUTES": "knowledge.schedule.backup.intervalMinutes",
        "KM_BACKUP_CRON": "knowledge.schedule.backup.cron",
        "KM_STATE_PATH": "store.statePath",
        "KM_STORE_DSN": "store.dsn",
        "KM_BACKUP_DEST_PATH": "backup.destination",
        "KM_BACKUP_RETENTION_LIMIT": "backup.retention",
        "KM_READER_TOKEN": "auth.readerToken",
        "KM_ADMIN_TOKEN": "auth.adminToken",
        "KM_RATE_LIMIT_REQUESTS": "limits.rateRequests",
        "KM_RATE_LIMIT_WINDOW": "limits.rateWindowSeconds",
        "KM_AUDIT_HISTORY_MAX_LIMIT": "limits.auditHistory",
    }
)
_SCORING: Final = "KM_SEARCH_SCORING_MODE"
"""The older gateway had a second mode, a model trained on votes. It is not supported, so asking for it is an error."""
_TRANSPORT_MODES: Final[Mapping[str, str]] = {"streamable-http": "http"}


@dataclass(slots=True)
class EnvironmentOverrides:
    """Which variable set which setting, and which variables are invalid."""

    sources: dict[KeyPath, str] = field(default_factory=dict)
    faults: list[tuple[str, str]] = field(default_factory=list)

    def source_of(self, path: KeyPath) -> tuple[KeyPath, str] | None:
        """The setting at or above this path that a variable set, with the name of the variable."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.sources:
                return path[:length], self.sources[path[:length]]
        return None


def env_aliases() -> Mapping[str, str]:
    """The supported KM_* variables, each with its setting."""
    return _ALIASES


##= docs/spec/host.md#environment
##% It MUST be possible to set every setting with an environment variable that has the prefix `CONTEXTIVE_`.
##= docs/spec/host.md#environment
##% A setting from the environment MUST override the one in the file.
def apply_environment(values: dict[str, Any], environ: Mapping[str, str]) -> EnvironmentOverrides:
    """Write the settings from the environment into the values; returns what was set and what is invalid."""
    result = EnvironmentOverrides()
    for name, key in _ALIASES.items():
        if raw := environ.get(name, "").strip():
            if name == "KM_MCP_TRANSPORT":
                raw = _TRANSPORT_MODES.get(raw, raw)
            _set(values, tuple(key.split(".")), name, raw, result)
    if environ.get(_SCORING, "").strip().lower() not in ("", "heuristic"):
        result.faults.append((_SCORING, "only heuristic scoring is supported; unset it, or set it to heuristic"))
    for name in sorted(filter(_is_override, environ), key=lambda name: (name.count(_SEPARATOR), name)):
        path = _locate(name.removeprefix(PREFIX).split(_SEPARATOR), values)
        if path is None:
            result.faults.append((name, _unknown(name)))
        elif (rival := result.sources.get(path)) and rival.startswith(PREFIX):
            result.faults.append((name, f"sets {dotted(path)}, which {rival} also sets"))
        else:
            _set(values, path, name, environ[name], result)
    return result


def _is_override(name: str) -> bool:
    # CONTEXTIVE_PUBLIC_* variables are not settings: users define them for untrusted files to refer to.
    return name.startswith(PREFIX) and _SEPARATOR in name and not name.startswith(PUBLIC_PREFIX)


def _set(values: dict[str, Any], path: KeyPath, name: str, raw: str, result: EnvironmentOverrides) -> None:
    parent: Any = values
    for part in path[:-1]:
        if not isinstance(parent, dict):
            return  # the file has another value in place of a section, which validation reports
        parent = parent.setdefault(part, {})
    if isinstance(parent, dict):
        parent[path[-1]] = coerce_override(raw, path)
        result.sources[path] = name


def _locate(parts: list[str], values: Mapping[str, Any]) -> KeyPath | None:
    """The path of the setting that a variable's name means; None if there is no such setting."""
    rule: Mapping[str, Any] = shared_json_schema()
    path: KeyPath = ()
    for part in parts:
        rule = resolve_rule(rule)
        key = _fixed_key(part, rule.get("properties", {}))
        if key is None and entry_rule(rule) is not None:
            key = _entry_key(part, _keys_at(values, path))
        if not key:
            return None
        path = (*path, key)
        child = child_rule(rule, key)
        assert child is not None
        rule = child
    return path


def _fixed_key(part: str, properties: Mapping[str, Any]) -> str | None:
    wanted = part.replace("_", "").lower()
    return next((key for key in properties if key.lower() == wanted), None)


def _entry_key(part: str, existing: list[str]) -> str:
    wanted = _entry_form(part)
    return next((key for key in existing if _entry_form(key) == wanted), part.lower())


def _entry_form(name: str) -> str:
    return re.sub(r"[-_ ]", "_", name.lower())


def _keys_at(values: Mapping[str, Any], path: KeyPath) -> list[str]:
    try:
        found = value_at(values, path)
    except LookupError:
        return []
    return list(found) if isinstance(found, dict) else []


##= docs/spec/host.md#environment
##% An environment variable that looks like a setting but is not one MUST be an error.
def _unknown(name: str) -> str:
    parts = name.removeprefix(PREFIX)
    close = difflib.get_close_matches(parts, _known_parts(parts), n=1)
    return "is not a known setting" + (f"; did you mean {PREFIX}{close[0]}?" if close else "")


def _known_parts(parts: str) -> Iterator[str]:
    """All variable names without their prefix; names of entries are taken from the variable that is checked."""
    entry = parts.split(_SEPARATOR)[1]
    for setting in list_settings():
        if "." in setting.key and "[]" not in setting.key:
            yield _SEPARATOR.join(entry if key == "<name>" else _upper_snake(key) for key in setting.key.split("."))


def _upper_snake(key: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).upper()
