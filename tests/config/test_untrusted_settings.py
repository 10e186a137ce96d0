from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from contextive.config import Config
from contextive.config.schema import config_json_schema
from contextive.config.untrusted_settings import drop_restricted_keys, drop_restricted_values
from contextive.errors import ConfigError

from .conftest import Project

OUTSIDE = ["/etc", "~/notes", "~other/x", "..", "../x", "a/../../b", "a\\..\\b", "\\\\host\\x", "C:\\x", "file:///etc"]


##= docs/spec/host.md#trust
##% A configuration file found in the project directory MUST be untrusted until the user trusts it.
##= docs/spec/host.md#trust
##% An untrusted file MUST NOT set providers, tokens, addresses of other machines, or the allowed hosts and origins.
##= docs/spec/host.md#trust
##% An untrusted file MUST NOT name a path outside the project.
##= docs/spec/host.md#trust
##% An untrusted file MUST NOT make the server listen on a non-loopback address.
##= docs/spec/host.md#trust
##% A setting that an untrusted file is not allowed to set MUST keep its default and be reported.
@pytest.mark.parametrize(
    ("values", "key"),
    [
        ({"providers": {"openai": {"apiKey": "k"}}}, "providers"),
        ({"auth": {"readerToken": "q7f0-Zx81-mmA2-pp"}}, "auth"),
        ({"store": {"dsn": "postgresql:///x"}}, "store.dsn"),
        ({"knowledge": {"gatewayUrl": "http://a"}}, "knowledge.gatewayUrl"),
        ({"knowledge": {"uploadRoots": ["docs"]}}, "knowledge.uploadRoots"),
        ({"knowledge": {"embeddingUrl": "https://models.example"}}, "knowledge.embeddingUrl"),
        ({"knowledge": {"embeddingKey": "sk-0123456789abcdef"}}, "knowledge.embeddingKey"),
        ({"knowledge": {"embeddingModel": "fastembed:some/model"}}, "knowledge.embeddingModel"),
        ({"server": {"tracing": {"endpoint": "http://a"}}}, "server.tracing.endpoint"),
        ({"server": {"publicHosts": ["a"]}}, "server.publicHosts"),
        ({"server": {"allowedOrigins": ["https://a"]}}, "server.allowedOrigins"),
        ({"server": {"host": "0.0.0.0"}}, "server.host"),
        ({"server": {"host": "::"}}, "server.host"),
        ({"server": {"host": "example.org"}}, "server.host"),
        ({"server": {"trustedProxies": ["127.0.0.1"]}}, "server.trustedProxies"),
        ({"limits": {"authFailures": 1_000_000}}, "limits.authFailures"),
        ({"limits": {"rateRequests": 0}}, "limits.rateRequests"),
        ({"limits": {"rateWindowSeconds": 1}}, "limits.rateWindowSeconds"),
        ({"limits": {"writeSeconds": 31_536_000}}, "limits.writeSeconds"),
        ({"trace": {"fetch": True}}, "trace.fetch"),
        ({"toolPacks": {"evil": {}}}, "toolPacks.evil"),
        *[({"notes": {"paths": ["a", path]}}, "notes.paths") for path in OUTSIDE],
        ({"notes": {"paths": ["{a,..}/*.md"]}}, "notes.paths"),
        ({"notes": {"paths": ["!../a"]}}, "notes.paths"),
        ({"trace": {"specifications": ["/a"]}}, "trace.specifications"),
        ({"evidence": {"paths": ["../junit.xml"]}}, "evidence.paths"),
        ({"trace": {"sources": ["../a"]}}, "trace.sources"),
        ({"knowledge": {"include": ["~"]}}, "knowledge.include"),
        ({"knowledge": {"exclude": ["../a"]}}, "knowledge.exclude"),
        ({"knowledge": {"contentRoot": "/"}}, "knowledge.contentRoot"),
        ({"knowledge": {"docsSubdir": "../docs"}}, "knowledge.docsSubdir"),
        ({"store": {"statePath": "/var/lib"}}, "store.statePath"),
        ({"backup": {"destination": "../elsewhere"}}, "backup.destination"),
    ],
)
def test_a_restricted_setting_of_an_untrusted_file_is_ignored(
    project: Project, values: dict[str, Any], key: str
) -> None:
    loaded = project.load_untrusted(values)
    assert [setting.key for setting in loaded.ignored] == [key]
    assert loaded.ignored[0].reason.startswith("the file is not trusted, and ")
    assert loaded.config == Config()
    assert not loaded.trusted


@pytest.mark.parametrize(
    "values",
    [
        {"server": {"port": 4000, "mode": "http", "tracing": {"enabled": True}}},
        {"server": {"host": "127.8.9.1"}},
        {"server": {"host": "::1"}},
        {"server": {"host": "localhost"}},
        {"toolPacks": {"fs": {"enabled": False}}},
        {"notes": {"paths": ["..notes/*.md", "a..b/*", "./a"]}},
        {"evidence": {"paths": ["build/*.xml"]}},
        {"trace": {"specifications": ["https://example.org/a/../b"]}},
        {"store": {"statePath": "state"}},
        {"workflows": {"w": {"steps": [{"tool": "t"}]}}},
        {"limits": {"pageSize": 5}},
    ],
)
def test_an_untrusted_file_may_set_everything_inside_the_project(project: Project, values: dict[str, Any]) -> None:
    loaded = project.load_untrusted(values)
    assert loaded.ignored == ()
    assert loaded.config == project.load_json(values).config


##= docs/spec/host.md#trust
##% The settings that an untrusted file is allowed to set MUST be used.
def test_settings_other_than_the_ignored_ones_are_used(project: Project) -> None:
    values = {"server": {"host": "0.0.0.0", "port": 4000}, "auth": {}, "limits": {"pageSize": 5}}
    loaded = project.load_untrusted(values)
    assert [setting.key for setting in loaded.ignored] == ["auth", "server.host"]
    assert (loaded.config.server.port, loaded.config.limits.page_size) == (4000, 5)


##= docs/spec/host.md#trust
##% An untrusted file MUST NOT read an environment variable whose name does not start with `CONTEXTIVE_PUBLIC_`.
@pytest.mark.parametrize(
    ("values", "key"),
    [
        ({"server": {"tracing": {"serviceName": "x-$HOME"}}}, "server.tracing.serviceName"),
        ({"server": {"port": "${PORT:-1}"}}, "server.port"),
        ({"notes": {"paths": ["a", "$HOME"]}}, "notes.paths"),
        ({"toolPacks": {"fs": {"settings": {"a": [{"b": "$HOME"}]}}}}, "toolPacks.fs"),
        ({"workflows": {"w": {"steps": [{"tool": "t", "params": {"p": "$HOME"}}]}}}, "workflows.w"),
        ({"routing": {"r": {"model": "$HOME"}}}, "routing.r"),
    ],
)
def test_an_untrusted_file_may_not_read_the_environment(project: Project, values: dict[str, Any], key: str) -> None:
    loaded = project.load_untrusted(values, {"HOME": "hunter2"})
    assert [setting.key for setting in loaded.ignored] == [key]
    assert "CONTEXTIVE_PUBLIC_" in loaded.ignored[0].reason
    assert loaded.config == Config()


def test_an_untrusted_file_may_read_public_variables(project: Project) -> None:
    values = {"server": {"port": "$CONTEXTIVE_PUBLIC_PORT"}, "notes": {"paths": ["$$HOME"]}}
    loaded = project.load_untrusted(values, {"CONTEXTIVE_PUBLIC_PORT": "4000"})
    assert (loaded.config.server.port, loaded.config.notes.paths, loaded.ignored) == (4000, ("$HOME",), ())


def test_a_public_variable_cannot_name_a_path_outside_the_project(project: Project) -> None:
    values = {"server": {"host": "$CONTEXTIVE_PUBLIC_A"}, "notes": {"paths": ["${CONTEXTIVE_PUBLIC_B}/x"]}}
    loaded = project.load_untrusted(values, {"CONTEXTIVE_PUBLIC_A": "0.0.0.0", "CONTEXTIVE_PUBLIC_B": ".."})
    assert [setting.key for setting in loaded.ignored] == ["server.host", "notes.paths"]


def test_an_ignored_value_is_neither_expanded_nor_validated(project: Project) -> None:
    loaded = project.load_untrusted({"providers": {"a": {"apiKey": "$UNDEFINED", "timeoutSeconds": -1}}})
    assert [setting.key for setting in loaded.ignored] == ["providers"]


##= docs/spec/host.md#validation
##% An unknown key MUST be an error.
def test_an_unknown_key_is_an_error_even_in_an_ignored_section(project: Project) -> None:
    with pytest.raises(ConfigError, match=r'providers\.a\.apiKe: unknown key; did you mean "apiKey"'):
        project.load_untrusted({"providers": {"a": {"apiKe": "k"}}})


@pytest.mark.parametrize(
    "values", [{"server": 5}, {"server": {"host": 5}}, {"toolPacks": []}, {"notes": {"paths": 5}}, {"trace": None}]
)
def test_a_wrong_type_in_an_untrusted_file_is_an_error(project: Project, values: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="allowed: "):
        project.load_untrusted(values)


##= docs/spec/host.md#trust
##% Files named by the user and settings from the environment MUST be trusted.
def test_settings_from_the_environment_are_trusted(project: Project) -> None:
    environ = {"CONTEXTIVE_SERVER__HOST": "0.0.0.0", "KM_GATEWAY_URL": "http://a", "KM_STATE_PATH": "/var"}
    loaded = project.load_untrusted({"server": {"host": "10.0.0.1"}}, environ)
    assert (loaded.config.server.host, loaded.config.store.state_path) == ("0.0.0.0", "/var")
    assert loaded.config.knowledge.gateway_url == "http://a"


def test_the_reason_never_shows_the_value(project: Project) -> None:
    values = {"auth": {"readerToken": "hunter2"}, "server": {"host": "hunter2"}, "notes": {"paths": ["/hunter2"]}}
    assert "hunter2" not in repr(project.load_untrusted(values).ignored)


# -- every setting is decided ------------------------------------------------------------------------------------------

ALLOWED = frozenset(
    [
        "$schema",
        "server.mode",
        "server.profile",
        "server.port",
        "server.logLevel",
        "server.jsonResponse",
        "server.sessionIdleSeconds",
        "server.maxSessions",
        "server.shutdownSeconds",
        "server.reload",
        "server.tracing.enabled",
        "server.tracing.serviceName",
        "server.tracing.sampleRatio",
        "server.tracing.consoleExport",
        "toolPacks",
        "workflows",
        "routing",
        "notes.askClientModel",
        "trace.formats",
        "knowledge.autoIngest",
        "knowledge.defaultProfile",
        "knowledge.maxFileBytes",
        "knowledge.windowCharacters",
        "knowledge.windowOverlap",
        "knowledge.symbols",
        "knowledge.coverageHistory",
        "knowledge.lifecycleHistory",
        "knowledge.staleDays",
        "knowledge.uploadDefaultOverwrite",
        "knowledge.uploadDefaultIngest",
        "knowledge.editorUriTemplate",
        "knowledge.gatewayTimeoutSeconds",
        "knowledge.schedule.ingest.enabled",
        "knowledge.schedule.ingest.intervalMinutes",
        "knowledge.schedule.ingest.cron",
        "knowledge.schedule.backup.enabled",
        "knowledge.schedule.backup.intervalMinutes",
        "knowledge.schedule.backup.cron",
        "search.weightProfile",
        "search.weightSubsystem",
        "search.weightRelationship",
        "search.weightSupport",
        "search.weightCoveragePenalty",
        "search.weightCriticality",
        "search.vectorWeight",
        "search.lexicalWeight",
        "search.sortByVector",
        "search.graphMaxResults",
        "search.graphTimeBudgetMs",
        "search.logEvents",
        "backup.retention",
        "limits.auditHistory",
        "limits.maxBodyBytes",
        "limits.maxResultBytes",
        "limits.toolTimeoutSeconds",
        "limits.pageSize",
        "limits.pluginLoadSeconds",
    ]
)
"""The settings that an untrusted file may set. A setting belongs here only if none of its values can name or reveal a secret,
an address, a path outside the project or a plugin, give others access, or write where the user did not ask for it. Entries
of toolPacks, workflows and routing are checked individually; see the tests above."""


def settings_of(schema: dict[str, Any], path: tuple[str, ...] = (), top: dict[str, Any] | None = None) -> Iterator[str]:
    """The keys of all settings, with dots between their parts."""
    top = top or schema
    if "$ref" in schema:
        schema = top["$defs"][schema["$ref"].rpartition("/")[2]]
    for choice in schema.get("anyOf", ()):
        if "$ref" in choice:
            schema = top["$defs"][choice["$ref"].rpartition("/")[2]]
    if "properties" not in schema:
        yield ".".join(path)
        return
    for name, child in schema["properties"].items():
        yield from settings_of(child, (*path, name), top)


def is_dropped(key: str) -> bool:
    """Whether the worst value of a setting, which is both a path and an address outside, is dropped."""
    *above, last = key.split(".")
    values: dict[str, Any] = {}
    inner = values
    for part in above:
        inner = inner.setdefault(part, {})
    inner[last] = "/etc"
    return bool([*drop_restricted_keys(values, frozenset()), *drop_restricted_values(values)])


def test_every_setting_is_explicitly_allowed_or_restricted() -> None:
    """A new setting fails here until it is decided: restrict it in untrusted_settings.py, or add it to ALLOWED."""
    known = set(settings_of(config_json_schema()))
    assert {"server.host", "auth.readerToken", "knowledge.schedule.backup.cron", "providers"} <= known
    dropped = {key for key in known if is_dropped(key)}
    assert {"server.host", "auth.readerToken", "notes.paths", "trace.fetch", "knowledge.embeddingModel"} <= dropped
    assert known - dropped - ALLOWED == set(), "these are not decided"
    assert ALLOWED - known == set(), "these do not exist"
    assert ALLOWED & dropped == set(), "these are decided twice"
