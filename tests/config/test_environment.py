from __future__ import annotations

import pytest

from contextive.config import Config, env_aliases, list_settings
from contextive.config.settings import rule_at
from contextive.errors import ConfigError

from .conftest import Project


@pytest.mark.parametrize("name", ["LOG_LEVEL", "LOGLEVEL", "log_level", "logLevel", "L_O_G_LEVEL"])
def test_case_and_underscores_of_a_key_are_ignored(project: Project, name: str) -> None:
    loaded = project.load(environ={f"CONTEXTIVE_SERVER__{name}": "debug"})
    assert loaded.config.server.log_level == "debug"
    assert loaded.overrides == (f"CONTEXTIVE_SERVER__{name}",)


##= docs/spec/host.md#environment
##% A setting from the environment MUST override the one in the file.
def test_the_environment_overrides_the_file(project: Project) -> None:
    loaded = project.load_json({"server": {"port": 1, "host": "::1"}}, {"CONTEXTIVE_SERVER__PORT": "2"})
    assert (loaded.config.server.port, loaded.config.server.host) == (2, "::1")


##= docs/spec/host.md#environment
##% It MUST be possible to set every setting with an environment variable that has the prefix `CONTEXTIVE_`.
def test_values_are_converted_to_the_type_of_their_setting(project: Project) -> None:
    config = project.load(
        environ={
            "CONTEXTIVE_SERVER__HOST": "8080",
            "CONTEXTIVE_SERVER__PORT": "8080",
            "CONTEXTIVE_SERVER__RELOAD": "false",
            "CONTEXTIVE_SERVER__TRACING__SAMPLE_RATIO": "0.5",
            "CONTEXTIVE_NOTES__PATHS": "a, b,",
            "CONTEXTIVE_TRACE__SOURCES": '["a,b"]',
            "CONTEXTIVE_AUTH__TOKENS": '[{"name": "ci", "sha256": "%s", "scope": "reader"}]' % ("AB" * 32),
            "CONTEXTIVE_PROVIDERS__LOCAL": '{"kind": "openai-compatible"}',
            "CONTEXTIVE_PROVIDERS__LOCAL__TIMEOUT_SECONDS": "5",
            "CONTEXTIVE_TOOLPACKS__FS__SETTINGS__DEPTH": "3",
            "CONTEXTIVE_TOOLPACKS__FS__SETTINGS__ROOT": "src",
        }
    ).config
    assert (config.server.host, config.server.port, config.server.reload) == ("8080", 8080, False)
    assert config.server.tracing.sample_ratio == 0.5
    assert (config.notes.paths, config.trace.sources) == (("a", "b"), ("a,b",))
    assert config.auth.tokens[0].sha256 == "ab" * 32
    assert (config.providers["local"].kind, config.providers["local"].timeout_seconds) == ("openai-compatible", 5)
    assert config.tool_packs["fs"].settings == {"depth": 3, "root": "src"}


@pytest.mark.parametrize("entry", ["My-Cloud", "my_cloud", "MY-cloud"])
def test_case_and_dashes_of_an_entry_name_are_ignored(project: Project, entry: str) -> None:
    loaded = project.load_json({"providers": {entry: {}}}, {"CONTEXTIVE_PROVIDERS__MY_CLOUD__API_KEY": "k"})
    assert {name: provider.api_key for name, provider in loaded.config.providers.items()} == {entry: "k"}


def test_a_space_in_the_name_of_a_task_matches_an_underscore(project: Project) -> None:
    values = {"routing": {"Code review": {"model": "a"}}}
    loaded = project.load_json(values, {"CONTEXTIVE_ROUTING__CODE_REVIEW__MODEL": "b"})
    assert loaded.config.routing["Code review"].model == "b"


def test_a_new_entry_gets_a_name_in_lower_case(project: Project) -> None:
    loaded = project.load(environ={"CONTEXTIVE_ROUTING__SUMMARY__MODEL": "m"})
    assert list(loaded.config.routing) == ["summary"]


def test_an_empty_value_unsets_an_optional_setting(project: Project) -> None:
    loaded = project.load_json({"store": {"dsn": "postgresql:///x"}}, {"CONTEXTIVE_STORE__DSN": ""})
    assert loaded.config.store.dsn is None


def test_the_database_of_a_shared_index_can_be_set_by_the_variable_of_the_older_gateway(project: Project) -> None:
    assert project.load_json({}, {"KM_STORE_DSN": "env:DATABASE_URL"}).config.store.dsn == "env:DATABASE_URL"


@pytest.mark.parametrize("name", ["Team", "1a", "a-b", "a" * 42, 'x"; DROP SCHEMA y'])
def test_a_project_of_a_shared_index_must_be_a_plain_schema_name(project: Project, name: str) -> None:
    with pytest.raises(ConfigError):
        project.load_json({"store": {"project": name}})


##= docs/spec/host.md#environment
##% An environment variable that looks like a setting but is not one MUST be an error.
def test_an_unknown_variable_is_an_error_that_suggests_the_nearest(project: Project) -> None:
    message = project.error_with({"CONTEXTIVE_SERVER__PRT": "1", "CONTEXTIVE_PROVIDERS__X__API_KEE": "hunter2"})
    assert message.splitlines() == [
        "CONTEXTIVE_PROVIDERS__X__API_KEE: is not a known setting; did you mean CONTEXTIVE_PROVIDERS__X__API_KEY?",
        "CONTEXTIVE_SERVER__PRT: is not a known setting; did you mean CONTEXTIVE_SERVER__PORT?",
    ]


@pytest.mark.parametrize("name", ["CONTEXTIVE_SERVER____PORT", "CONTEXTIVE_SERVER__", "CONTEXTIVE_SERVER__PORT__X"])
def test_a_variable_with_too_many_or_too_few_parts_is_unknown(project: Project, name: str) -> None:
    assert f"{name}: is not a known setting" in project.error_with({name: "1"})


def test_names_without_two_underscores_and_public_names_are_not_settings(project: Project) -> None:
    environ = {"CONTEXTIVE_SERVER_PORT": "1", "CONTEXTIVE_PUBLIC_A__B": "1", "contextive_server__port": "1"}
    assert project.load(environ=environ).overrides == ()


def test_two_variables_for_one_setting_are_an_error(project: Project) -> None:
    message = project.error_with({"CONTEXTIVE_LIMITS__PAGE_SIZE": "5", "CONTEXTIVE_LIMITS__PAGESIZE": "6"})
    assert message == "CONTEXTIVE_LIMITS__PAGE_SIZE: sets limits.pageSize, which CONTEXTIVE_LIMITS__PAGESIZE also sets"


@pytest.mark.parametrize(
    ("name", "value", "key"),
    [
        ("CONTEXTIVE_SERVER__PORT", "hunter2", "server.port"),
        ("CONTEXTIVE_SERVER__MODE", "hunter2", "server.mode"),
        ("CONTEXTIVE_SERVER__RELOAD", "hunter2", "server.reload"),
        ("CONTEXTIVE_SERVER__PUBLIC_HOSTS", "hunter2/", "server.publicHosts[0]"),
        ("CONTEXTIVE_PROVIDERS__X", "hunter2", "providers.x"),
        ("CONTEXTIVE_PROVIDERS__X", '{"hunter2": 1}', "providers.x"),
        ("CONTEXTIVE_TOOLPACKS__X__SETTINGS", '{"hunter2": NaN}', "toolPacks.x.settings"),
        ("CONTEXTIVE_AUTH__READER_TOKEN", "hunter2", "auth.readerToken"),
        ("KM_API_PORT", "hunter2", "server.port"),
        ("KM_MCP_TRANSPORT", "sse-hunter2", "server.mode"),
        ("KM_READER_TOKEN", "hunter2", "auth.readerToken"),
        ("CONTEXTIVE_AUTH__ADMIN_TOKEN", "changeme-hunter2-hunter2", "auth.adminToken"),
    ],
)
def test_an_invalid_value_is_reported_with_its_variable_and_hidden(
    project: Project, name: str, value: str, key: str
) -> None:
    message = project.error_with({name: value})
    assert message.startswith(f"{name}: {key}: ")
    assert "(hidden)" in message
    assert "hunter2" not in message


def test_a_section_that_is_not_an_object_is_still_reported(project: Project) -> None:
    message = project.error_of("a.json", {"server": 5}, {"CONTEXTIVE_SERVER__PORT": "1"})
    assert message == "a.json:2: server: found (hidden), allowed: object"


@pytest.mark.parametrize("alias", sorted(env_aliases()))
def test_each_alias_means_an_existing_setting(alias: str) -> None:
    assert env_aliases()[alias] in {setting.key for setting in list_settings()}
    assert rule_at(tuple(env_aliases()[alias].split("."))) is not None


##= docs/spec/gateway.md#tool-scopes
##% It MUST be possible to set tokens in the environment, also under the variable names of the older gateway.
def test_every_alias_is_applied(project: Project) -> None:
    environ = {
        "KM_API_HOST": "::1",
        "KM_API_PORT": "8000",
        "KM_MCP_TRANSPORT": "streamable-http",
        "KM_TRACING_ENABLED": "true",
        "KM_TRACING_ENDPOINT": "http://127.0.0.1:4318",
        "KM_TRACING_SERVICE_NAME": "km",
        "KM_TRACING_SAMPLE_RATIO": "0.1",
        "KM_TRACING_CONSOLE_EXPORT": "1",
        "KM_CONTENT_ROOT": "/srv",
        "KM_CONTENT_DOCS_SUBDIR": "d",
        "KM_UPLOAD_ROOTS": "/a,/b",
        "KM_UPLOAD_DEFAULT_OVERWRITE": "True",
        "KM_UPLOAD_DEFAULT_INGEST": "yes",
        "KM_MCP_DEFAULT_INGEST_PROFILE": "nightly",
        "KM_INGEST_WINDOW": "800",
        "KM_INGEST_OVERLAP": "100",
        "KM_SYMBOLS_ENABLED": "false",
        "KM_EMBEDDING_MODEL": "none",
        "KM_TEXT_EMBEDDING_MODEL": "dummy",
        "KM_COVERAGE_HISTORY_LIMIT": "6",
        "KM_LIFECYCLE_HISTORY_LIMIT": "7",
        "KM_LIFECYCLE_STALE_DAYS": "8",
        "KM_SEARCH_WEIGHT_PROFILE": "analysis",
        "KM_SEARCH_W_SUBSYSTEM": "0.1",
        "KM_SEARCH_W_RELATIONSHIP": "0.2",
        "KM_SEARCH_W_SUPPORT": "0.3",
        "KM_SEARCH_W_COVERAGE_PENALTY": "0.4",
        "KM_SEARCH_W_CRITICALITY": "0.5",
        "KM_SEARCH_VECTOR_WEIGHT": "1",
        "KM_SEARCH_LEXICAL_WEIGHT": "0.25",
        "KM_SEARCH_SORT_BY_VECTOR": "true",
        "KM_SEARCH_GRAPH_MAX_RESULTS": "9",
        "KM_SEARCH_GRAPH_TIME_BUDGET_MS": "100",
        "KM_EDITOR_URI_TEMPLATE": "vscode://file/{path}:{line}",
        "KM_GATEWAY_URL": "http://127.0.0.1:8000",
        "KM_MCP_TIMEOUT_SECONDS": "9",
        "KM_MCP_VERIFY_SSL": "false",
        "KM_MCP_CA_FILE": "/etc/team-ca.pem",
        "KM_SCHEDULER_ENABLED": "true",
        "KM_SCHEDULER_INTERVAL_MINUTES": "15",
        "KM_SCHEDULER_CRON": "*/20 6-18 * * mon-fri",
        "KM_BACKUP_ENABLED": "1",
        "KM_BACKUP_INTERVAL_MINUTES": "60",
        "KM_BACKUP_CRON": "@daily",
        "KM_BACKUP_DEST_PATH": "/backups",
        "KM_BACKUP_RETENTION_LIMIT": "3",
        "KM_STATE_PATH": "/var/km",
        "KM_STORE_DSN": "env:DATABASE_URL",
        "KM_READER_TOKEN": "reader-4f1c9a70b2",
        "KM_ADMIN_TOKEN": "keeper-9d20e6c1f7",
        "KM_RATE_LIMIT_REQUESTS": "120",
        "KM_RATE_LIMIT_WINDOW": "30",
        "KM_AUDIT_HISTORY_MAX_LIMIT": "50",
    }
    loaded = project.load(environ=environ)
    assert sorted(environ) == sorted(env_aliases())
    assert set(environ) - set(loaded.overrides) == {"KM_EMBEDDING_MODEL"}  # KM_TEXT_EMBEDDING_MODEL is the finer name
    config, tracing = loaded.config, loaded.config.server.tracing
    assert (config.server.host, config.server.port, config.server.mode) == ("::1", 8000, "http")
    assert (tracing.enabled, tracing.sample_ratio, tracing.console_export) == (True, 0.1, True)
    assert (config.knowledge.upload_roots, config.knowledge.upload_default_overwrite) == (("/a", "/b"), True)
    assert (config.knowledge.gateway_timeout_seconds, config.knowledge.gateway_verify_ssl) == (9, False)
    assert (config.knowledge.embedding_model, config.knowledge.symbols) == ("dummy", False)
    assert (config.search.weight_subsystem, config.search.vector_weight) == (0.1, 1.0)
    assert (config.limits.rate_requests, config.limits.rate_window_seconds) == (120, 30)
    assert config.limits.audit_history == 50
    schedule = config.knowledge.schedule
    assert (schedule.ingest.enabled, schedule.ingest.interval_minutes) == (True, 15)
    assert (schedule.backup.enabled, schedule.backup.cron) == (True, "@daily")
    assert config.auth.admin_token == "keeper-9d20e6c1f7"


def test_an_alias_wins_over_the_file_and_the_full_name_over_the_alias(project: Project) -> None:
    values = {"server": {"port": 1, "host": "localhost"}}
    environ = {"KM_API_PORT": "2", "KM_API_HOST": "::1", "CONTEXTIVE_SERVER__PORT": "3"}
    loaded = project.load_json(values, environ)
    assert (loaded.config.server.port, loaded.config.server.host) == (3, "::1")
    assert loaded.overrides == ("CONTEXTIVE_SERVER__PORT", "KM_API_HOST")


def test_an_empty_alias_counts_as_unset(project: Project) -> None:
    loaded = project.load(environ=dict.fromkeys(env_aliases(), " "))
    assert (loaded.config, loaded.overrides) == (Config(), ())


def test_a_mode_of_scoring_that_is_not_offered_is_an_error_and_not_passed_over(project: Project) -> None:
    with pytest.raises(ConfigError, match=r"KM_SEARCH_SCORING_MODE.*only heuristic"):
        project.load(environ={"KM_SEARCH_SCORING_MODE": "ml"})
    for mode in ("", "heuristic", "Heuristic"):
        assert project.load(environ={"KM_SEARCH_SCORING_MODE": mode}).overrides == ()
