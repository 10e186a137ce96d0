from __future__ import annotations

from typing import Any

import pytest

from .conftest import Project

ENVIRON = {"HOST": "10.0.0.1", "EMPTY": "", "TRAP": "$HOST", "_x1": "under"}


##= docs/spec/host.md#environment
##% A reference to an environment variable in a string value MUST be replaced by the value of the variable.
##= docs/spec/host.md#environment
##% The value of a variable MUST NOT be expanded again.
@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("$HOST", "10.0.0.1"),
        ("${HOST}", "10.0.0.1"),
        ("a-$HOST-b", "a-10.0.0.1-b"),
        ("${HOST}${_x1}", "10.0.0.1under"),
        ("${NOPE:-fallback}", "fallback"),
        ("${EMPTY:-fallback}", "fallback"),
        ("${HOST:-fallback}", "10.0.0.1"),
        ("${NOPE:-$HOST}", "$HOST"),
        ("$$HOST", "$HOST"),
        ("$$$HOST", "$10.0.0.1"),
        ("$TRAP", "$HOST"),
        ("$5 ${} ${a.b} ${HOST-x} ${HOST $", "$5 ${} ${a.b} ${HOST-x} ${HOST $"),
    ],
)
def test_a_reference_is_replaced(project: Project, written: str, read: str) -> None:
    loaded = project.load_json({"server": {"host": written}}, ENVIRON)
    assert loaded.config.server.host == read


def test_keys_are_not_expanded(project: Project) -> None:
    loaded = project.load_json({"toolPacks": {"fs": {"settings": {"$HOST": "$HOST"}}}}, ENVIRON)
    assert loaded.config.tool_packs["fs"].settings == {"$HOST": "10.0.0.1"}


def test_references_are_replaced_in_lists_and_free_objects(project: Project) -> None:
    values = {"notes": {"paths": ["a", "$HOST"]}, "toolPacks": {"fs": {"settings": {"deep": [{"x": "$HOST"}]}}}}
    config = project.load_json(values, ENVIRON).config
    assert config.notes.paths == ("a", "10.0.0.1")
    assert config.tool_packs["fs"].settings == {"deep": [{"x": "10.0.0.1"}]}


@pytest.mark.parametrize(
    ("section", "key", "text", "value"),
    [
        ("server", "port", "4000", 4000),
        ("server", "reload", "false", False),
        ("server", "reload", "Off", False),
        ("server", "jsonResponse", "1", True),
        ("server", "shutdownSeconds", "2.5", 2.5),
        ("limits", "toolTimeoutSeconds", " 7 ", 7.0),
    ],
)
def test_a_value_that_is_only_a_reference_can_be_a_number_or_boolean(
    project: Project, section: str, key: str, text: str, value: object
) -> None:
    config = project.load_json({section: {key: "${VALUE}"}}, {"VALUE": text}).config
    assert config.model_dump(by_alias=True)[section][key] == value


def test_a_default_can_be_a_number(project: Project) -> None:
    assert project.load_json({"server": {"port": "${PORT:-4000}"}}).config.server.port == 4000


@pytest.mark.parametrize("written", ["4000", "4${ZEROS}"])
def test_a_string_with_more_than_a_reference_is_not_a_number(project: Project, written: str) -> None:
    message = project.error_of("a.json", {"server": {"port": written}}, {"ZEROS": "000"})
    assert "server.port" in message
    assert "allowed: integer from 1 to 65535" in message


def test_a_number_in_a_variable_stays_a_string_for_a_string_setting(project: Project) -> None:
    loaded = project.load_json({"server": {"host": "$VALUE"}}, {"VALUE": "5"})
    assert loaded.config.server.host == "5"


def test_an_empty_variable_leaves_an_optional_setting_unset(project: Project) -> None:
    values = {"providers": {"openai": {"apiKey": "${OPENAI_API_KEY:-}"}}}
    assert project.load_json(values).config.providers["openai"].api_key is None


##= docs/spec/host.md#environment
##% A reference to a variable that is not set and has no default MUST be an error.
def test_an_undefined_variable_is_an_error_that_names_key_and_variable(project: Project) -> None:
    message = project.error_of("a.yaml", "notes:\n  paths:\n    - a\n    - $NOPE\n")
    assert message == "a.yaml:4: notes.paths[1]: refers to the environment variable NOPE, which is not set"


def test_an_undefined_variable_is_allowed_if_the_environment_overrides_the_setting(project: Project) -> None:
    values: dict[str, Any] = {"server": {"host": "$NOPE"}}
    assert project.load_json(values, {"CONTEXTIVE_SERVER__HOST": "::1"}).config.server.host == "::1"


##= docs/spec/host.md#validation
##% A configuration error MUST NOT show a secret or the value of a variable.
@pytest.mark.parametrize("key", ["port", "mode", "reload", "publicHosts", "tracing"])
def test_an_error_never_shows_the_value_of_a_variable(project: Project, key: str) -> None:
    message = project.error_of("a.json", {"server": {key: "x$SECRET", "nope": 1}}, {"SECRET": "hunter2!"})
    assert "hunter2" not in message
    assert f"server.{key}: found (hidden)" in message
