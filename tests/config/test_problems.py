from __future__ import annotations

from typing import Any

import pytest

from .conftest import Project

TOKEN = "q7f0-Zx81-mmA2-pp"
OTHER_TOKEN = "w3k9-Lr55-ttB8-vv"


##= docs/spec/host.md#validation
##% A configuration error SHOULD name the line of the file.
##= docs/spec/host.md#validation
##% All errors in a configuration SHOULD be reported together.
def test_all_problems_are_reported_in_the_order_of_their_lines(project: Project) -> None:
    text = "\n".join(
        [
            "server:",
            "  mode: stdo",
            "  port: abc",
            "  prot: 4",
            "limits:",
            "  pageSize: 0",
            "workflows:",
            "  audit: {}",
            "notes: null",
            "",
        ]
    )
    assert project.error_of("contextive.config.yaml", text).splitlines() == [
        'contextive.config.yaml:2: server.mode: found "stdo" (string), allowed: stdio, http',
        'contextive.config.yaml:3: server.port: found "abc" (string), allowed: integer from 1 to 65535',
        'contextive.config.yaml:4: server.prot: unknown key; did you mean "port"?',
        "contextive.config.yaml:6: limits.pageSize: found 0 (integer), allowed: integer from 1 to 1000",
        "contextive.config.yaml:8: workflows.audit.steps: required key is missing",
        "contextive.config.yaml:9: notes: found null, allowed: object",
    ]


def test_at_most_ten_problems_are_reported(project: Project) -> None:
    lines = project.error_of("a.json", {f"key{number}": 1 for number in range(15)}).splitlines()
    assert len(lines) == 11
    assert lines[-1] == "and 5 more"


##= docs/spec/host.md#validation
##% A value of the wrong type MUST be an error, even if it could be converted.
##= docs/spec/host.md#validation
##% A configuration error MUST name the key, what was found, and what is allowed.
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"nothingLikeIt": 1}, "nothingLikeIt: unknown key"),
        ({"server": {"log_level": "info"}}, 'server.log_level: unknown key; did you mean "logLevel"?'),
        ({"server": {"reload": 1}}, "server.reload: found 1 (integer), allowed: true or false"),
        ({"server": {"port": True}}, "server.port: found true (boolean), allowed: integer from 1 to 65535"),
        ({"server": {"port": 1.5}}, "server.port: found 1.5 (number), allowed: integer from 1 to 65535"),
        ({"server": {"port": []}}, "server.port: found an empty list, allowed: integer from 1 to 65535"),
        ({"server": {"maxSessions": {}}}, "server.maxSessions: found an object, allowed: integer of at least 1"),
        ({"server": {"host": ""}}, 'server.host: found "" (string), allowed: non-empty string'),
        (
            {"server": {"shutdownSeconds": 61}},
            "server.shutdownSeconds: found 61 (integer), allowed: number from 0 to 60",
        ),
        (
            {"limits": {"toolTimeoutSeconds": 0}},
            "limits.toolTimeoutSeconds: found 0 (integer), allowed: number above 0, at most 31536000",
        ),
        (
            {"server": {"allowedOrigins": ["*"]}},
            'found "*" (string), allowed: origin such as https://example.org (no path, no wildcard)',
        ),
        (
            {"server": {"publicHosts": ["a/b"]}},
            'server.publicHosts[0]: found "a/b" (string), allowed: host name or host name:port',
        ),
        ({"server": {"publicHosts": [""]}}, 'found "" (string), allowed: host name or host name:port'),
        ({"knowledge": {"gatewayUrl": "ftp://a"}}, 'found "ftp://a" (string), allowed: http or https URL'),
        ({"notes": {"paths": "notes"}}, "notes.paths: found (hidden), allowed: list of non-empty strings"),
        ({"providers": {"a b": {}}}, 'providers."a b": the key is not allowed here, allowed: name of 1 to 64'),
        ({"routing": {"": {"model": "m"}}}, 'routing."": the key is not allowed here, allowed: non-empty string'),
        ({"routing": {"x": {}}}, "routing.x.model: required key is missing"),
        ({"workflows": {"w": {"steps": []}}}, "workflows.w.steps: found an empty list, allowed: non-empty list of"),
        (
            {"workflows": {"w": {"steps": [{"tool": "t", "model": "m"}]}}},
            "workflows.w.steps[0]: exactly one of tool, model and wait must be given",
        ),
        (
            {"workflows": {"w": {"steps": [{}]}}},
            "workflows.w.steps[0]: exactly one of tool, model and wait must be given",
        ),
        (
            {"workflows": {"w": {"steps": [{"model": "m"}]}}},
            "workflows.w.steps[0]: a step with a model needs a prompt",
        ),
        (
            {"workflows": {"w": {"steps": [{"tool": "t", "fallback": [{"tool": "u", "fallback": []}]}]}}},
            "workflows.w.steps[0].fallback[0].fallback: unknown key",
        ),
        ({"server": {"maxSessions": -(10**90)}}, "server.maxSessions: found a very large integer, allowed: integer of"),
        ({"server": {"mode": "x" * 500}}, 'server.mode: found "' + "x" * 64 + '…" (string), allowed:'),
        ({"server": {"mode": "a\x1b[2J"}}, 'server.mode: found "a\\u001b[2J" (string), allowed:'),
        ({"a\nb": 1}, '"a\\nb": unknown key'),
    ],
)
def test_a_problem_says_what_was_found_and_what_is_allowed(
    project: Project, values: dict[str, Any], expected: str
) -> None:
    message = project.error_of("a.json", values)
    assert expected in message
    assert len(message.splitlines()) == 1


##= docs/spec/host.md#validation
##% A configuration error MUST NOT show a secret or the value of a variable.
@pytest.mark.parametrize(
    "values",
    [
        {"providers": {"openai": "hunter2"}},
        {"providers": {"openai": {"apiKey": ["hunter2"]}}},
        {"providers": {"openai": {"baseUrl": "hunter2"}}},
        {"providers": {"openai": {"kind": "hunter2"}}},
        {"providers": "hunter2"},
        {"auth": {"readerToken": "hunter2"}},
        {"auth": {"adminToken": "hunter2"}},
        {"auth": {"tokens": [{"name": "a", "sha256": "hunter2", "scope": "reader"}]}},
        {"auth": {"tokens": ["hunter2"]}},
        {"store": "hunter2"},
        {"toolPacks": {"fs": {"settings": "hunter2"}}},
        {"knowledge": {"gatewayUrl": "//user:hunter2@host"}},
        {"knowledge": {"embeddingKey": "hunter2"}},
    ],
)
def test_a_secret_is_never_shown_even_in_the_wrong_place(project: Project, values: dict[str, Any]) -> None:
    message = project.error_of("a.json", values)
    assert "hunter2" not in message
    assert "(hidden)" in message or "a list" in message


def test_a_number_where_a_secret_belongs_is_not_shown(project: Project) -> None:
    assert "12345" not in project.error_of("a.json", {"providers": {"openai": {"apiKey": 12345}}})


def test_problems_in_file_and_environment_are_reported_together(project: Project) -> None:
    message = project.error_of("a.json", {"server": {"mode": "x"}}, {"CONTEXTIVE_SERVER__PORT": "y"})
    assert [line.partition(": ")[0] for line in message.splitlines()] == ["a.json:3", "CONTEXTIVE_SERVER__PORT"]


def test_reader_and_admin_token_must_differ(project: Project) -> None:
    message = project.error_of("a.json", {"auth": {"readerToken": TOKEN, "adminToken": TOKEN}})
    assert message == "a.json:4: auth.adminToken: must differ from auth.readerToken"


def test_a_token_from_the_environment_must_differ_too(project: Project) -> None:
    message = project.error_with({"KM_READER_TOKEN": TOKEN, "KM_ADMIN_TOKEN": TOKEN})
    assert message == "KM_ADMIN_TOKEN: auth.adminToken: must differ from auth.readerToken"


@pytest.mark.parametrize(
    "token", ["changeme-changeme", "Change-Me-please-now", "your-token-goes-here", "a" * 32, "passwordpassword1"]
)
def test_a_token_that_is_easy_to_guess_is_refused(project: Project, token: str) -> None:
    message = project.error_of("a.json", {"auth": {"readerToken": token}})
    assert message == "a.json:3: auth.readerToken: found (hidden), which is easy to guess; use a random value"


@pytest.mark.parametrize("token", ["short", "sixteen chars ok?", "äääääääääääääääääää"])
def test_a_token_must_have_sixteen_characters_that_are_valid_in_a_header(project: Project, token: str) -> None:
    assert "at least 16 visible ASCII characters" in project.error_of("a.json", {"auth": {"adminToken": token}})


def test_issued_tokens_must_have_unique_names_and_hashes(project: Project) -> None:
    one = {"name": "ci", "sha256": "a" * 64, "scope": "reader"}
    message = project.error_of("a.json", {"auth": {"tokens": [one, {**one, "sha256": "A" * 64}]}})
    assert "auth.tokens[1].name: another token has this name" in message
    assert "auth.tokens[1].sha256: another token has this hash" in message


def test_good_tokens_are_accepted(project: Project) -> None:
    loaded = project.load_json({"auth": {"readerToken": TOKEN, "adminToken": OTHER_TOKEN}})
    assert (loaded.config.auth.reader_token, loaded.config.auth.admin_token) == (TOKEN, OTHER_TOKEN)


##= docs/spec/host.md#sections
##% The section `providers` MUST hold the credentials and options of model providers.
def test_a_provider_needs_only_a_key(project: Project) -> None:
    provider = project.load_json({"providers": {"openai": {"apiKey": "sk-1"}}}).config.providers["openai"]
    assert (provider.api_key, provider.enabled, provider.timeout_seconds) == ("sk-1", True, 60)


def test_the_schema_key_is_accepted_and_ignored(project: Project) -> None:
    loaded = project.load_json({"$schema": "https://example.org/config.schema.json"})
    assert loaded.config.server.port == 8787


##= docs/spec/host.md#client-addresses
##% A trusted proxy MUST be an address or a network that does not cover all addresses.
@pytest.mark.parametrize(
    "proxy", ["proxy.example.org", "10.0.0.1/8", "10.0.0.0/33", "10.0.0.*", "[::1]", "10.0.0.1:80"]
)
def test_a_trusted_proxy_that_is_not_an_address_is_refused(project: Project, proxy: str) -> None:
    message = project.error_of("a.json", {"server": {"trustedProxies": ["127.0.0.1", "2001:db8::/32", proxy]}})
    assert "server.trustedProxies[2]: found (hidden), allowed: an address such as 10.0.0.1, or a network" in message


@pytest.mark.parametrize("proxy", ["0.0.0.0/0", "::/0"])
def test_a_network_of_all_addresses_is_refused_as_a_trusted_proxy(project: Project, proxy: str) -> None:
    message = project.error_of("a.json", {"server": {"trustedProxies": [proxy]}})
    assert "server.trustedProxies[0]: this would trust every caller; list only the addresses of your proxies" in message
