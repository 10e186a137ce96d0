"""Issued tokens: stored as hashes, sealed with the user's key, and revoked with immediate effect."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from contextive.cli.tokens import parse_expiry
from contextive.errors import Conflict, NotFound, Unavailable, UsageError
from contextive.registry import Scope
from contextive.server.auth import Authenticator, InvalidToken, fingerprint
from contextive.server.tokens import TokenFile
from tests.processes import clean_environment
from tests.raw_clients import wait_until
from tests.server.conftest import ADMIN
from tests.server.gateways import ExampleProject


@pytest.fixture
def tokens(tmp_path: Path) -> TokenFile:
    return TokenFile(tmp_path / "state", tmp_path / "user" / "token.key")


def reopened(tokens: TokenFile, tmp_path: Path) -> TokenFile:
    """The same file, as another process sees it."""
    return TokenFile(tmp_path / "state", tmp_path / "user" / "token.key")


def test_a_token_identifies_its_caller(tokens: TokenFile) -> None:
    token = tokens.issue("ci", Scope.MAINTAINER, tools=["km-search"])
    caller = tokens.caller_of(fingerprint(token))
    assert caller is not None
    assert (caller.name, caller.scope, caller.tools) == ("token:ci", Scope.MAINTAINER, frozenset({"km-search"}))


def test_an_unknown_token_is_none_and_a_revoked_one_raises(tokens: TokenFile) -> None:
    token = tokens.issue("ci", Scope.READER)
    assert tokens.caller_of(fingerprint("somebody-elses-token")) is None
    tokens.revoke("ci")
    with pytest.raises(InvalidToken, match="revoked"):
        tokens.caller_of(fingerprint(token))


##= docs/spec/gateway.md#issued-tokens
##% A token MAY have an expiry time and a list of tools.
def test_a_token_expires_at_its_time(tmp_path: Path) -> None:
    now = [1000.0]
    tokens = TokenFile(tmp_path / "state", tmp_path / "key", clock=lambda: now[0])
    token = tokens.issue("brief", Scope.READER, expires_at=1010.0)
    assert tokens.caller_of(fingerprint(token)) is not None
    now[0] = 1010.0
    with pytest.raises(InvalidToken, match="expired"):
        tokens.caller_of(fingerprint(token))


##= docs/spec/host.md#tokens
##% A token MUST be stored only as a fingerprint.
def test_the_file_contains_hashes_and_only_its_owner_may_read_it(tokens: TokenFile, tmp_path: Path) -> None:
    token = tokens.issue("ci", Scope.READER)
    file = tmp_path / "state" / "tokens.json"
    assert token not in file.read_text(encoding="utf-8")
    for path in (file, tmp_path / "user" / "token.key"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_another_process_sees_a_change_immediately(tokens: TokenFile, tmp_path: Path) -> None:
    other = reopened(tokens, tmp_path)
    assert not other
    token = tokens.issue("ci", Scope.READER)
    assert other.caller_of(fingerprint(token)) is not None
    tokens.revoke("ci")
    with pytest.raises(InvalidToken):
        other.caller_of(fingerprint(token))


##= docs/spec/gateway.md#issued-tokens
##% Removing the last token MUST NOT open the server to callers without a token.
def test_removing_the_last_token_does_not_give_everyone_access(tokens: TokenFile, tmp_path: Path) -> None:
    tokens.issue("ci", Scope.READER)
    tokens.revoke("ci")
    assert Authenticator([tokens])
    (tmp_path / "state" / "tokens.json").unlink()
    assert Authenticator([tokens])


##= docs/spec/gateway.md#issued-tokens
##% A token file that was not sealed with the user's key MUST grant no access.
def test_a_token_file_from_another_user_grants_no_access(tokens: TokenFile, tmp_path: Path) -> None:
    theirs = TokenFile(tmp_path / "state", tmp_path / "their" / "token.key")
    token = theirs.issue("friend", Scope.MAINTAINER)
    assert tokens.caller_of(fingerprint(token)) is None
    assert tokens
    with pytest.raises(Unavailable, match="not written by this user"):
        tokens.issue("ci", Scope.READER)


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"tokens": [{}], "seal": "x"}', '{"tokens": 5, "seal": 5}', "[" * 9999]
)
def test_a_damaged_token_file_grants_no_access(tokens: TokenFile, tmp_path: Path, text: str) -> None:
    token = tokens.issue("ci", Scope.READER)
    (tmp_path / "state" / "tokens.json").write_text(text, encoding="utf-8")
    assert tokens.caller_of(fingerprint(token)) is None
    assert tokens


def test_a_tampered_token_file_grants_no_access(tokens: TokenFile, tmp_path: Path) -> None:
    token = tokens.issue("ci", Scope.READER)
    file = tmp_path / "state" / "tokens.json"
    file.write_text(file.read_text(encoding="utf-8").replace("reader", "maintainer"), encoding="utf-8")
    assert tokens.caller_of(fingerprint(token)) is None


def test_a_name_is_taken_until_it_is_revoked(tokens: TokenFile) -> None:
    tokens.issue("ci", Scope.READER)
    with pytest.raises(Conflict):
        tokens.issue("ci", Scope.READER)
    with pytest.raises(Conflict):
        tokens.issue("other", Scope.READER, taken=["other"])
    tokens.revoke("ci")
    with pytest.raises(NotFound):
        tokens.revoke("ci")
    assert tokens.issue("ci", Scope.READER)


def test_concurrent_writers_lose_no_tokens(tmp_path: Path) -> None:
    def work(number: int) -> None:
        TokenFile(tmp_path / "state", tmp_path / "key").issue(f"t{number}", Scope.READER)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    found = TokenFile(tmp_path / "state", tmp_path / "key").tokens()
    assert sorted(token.name for token in found) == sorted(f"t{number}" for number in range(12))


@pytest.mark.parametrize(
    ("text", "moment"), [("30m", 2800.0), ("2h", 8200.0), ("1d", 87400.0), ("1970-01-02", 86400.0)]
)
def test_an_expiry_is_a_time_span_or_a_date(text: str, moment: float) -> None:
    assert parse_expiry(text, now=1000.0) == moment


@pytest.mark.parametrize("text", ["soon", "0d", "-1d", "1969-01-01", "5y", ""])
def test_an_invalid_expiry_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_expiry(text, now=1000.0)


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.fixture
def station(tmp_path: Path) -> ExampleProject:
    root = tmp_path / "project"
    root.mkdir()
    return ExampleProject(root, tmp_path / "user")


##= docs/spec/gateway.md#issued-tokens
##% The command `token create` MUST show a token once and store only its hash.
def test_a_token_is_shown_once(station: ExampleProject) -> None:
    token = station.run("token", "create", "ci", "--scope", "maintainer", "--expires", "30d").splitlines()[0]
    listed = station.run("token", "list")
    assert token.startswith("ctx_")
    assert listed.startswith("ci  maintainer  valid, since ")
    assert token not in listed
    assert "sha256" not in station.run("token", "list", "--json")


def test_the_command_lists_and_revokes(station: ExampleProject) -> None:
    assert "There are no tokens" in station.run("token", "list")
    station.create_token("ci", "--tool", "km-search", "--tool", "km-help")
    [entry] = json.loads(station.run("token", "list", "--json"))
    assert (entry["state"], entry["scope"], entry["tools"]) == ("valid", "reader", ["km-help", "km-search"])
    station.run("token", "revoke", "ci")
    [entry] = json.loads(station.run("token", "list", "--json"))
    assert entry["state"] == "revoked"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["create"], 2, "needs a name"),
        (["create", "a b"], 2, "A name must have"),
        (["create", "x", "--tool", "no-such-tool"], 2, "There is no tool"),
        (["create", "x", "--tool", "km-ingest-trigger"], 2, "needs --scope maintainer"),
        (["create", "x", "--expires", "1970-01-01"], 2, "in the future"),
        (["list", "x"], 2, "takes no name"),
        (["revoke", "x"], 1, "There is no token named x"),
        (["revoke", "x", "--scope", "reader"], 2, "are only for token create"),
    ],
)
def test_the_command_reports_what_is_wrong(
    station: ExampleProject, arguments: list[str], code: int, words: str
) -> None:
    assert words in station.run("token", *arguments, code=code)


##= docs/spec/gateway.md#issued-tokens
##% A new token MUST work immediately, and a revoked or expired token stops working immediately.
def test_a_running_server_applies_changes_of_the_command(station: ExampleProject) -> None:
    with station.serve() as server:
        assert server.web.get("/api/v1/tools").status == 200  # no tokens yet: this machine may read
        token = station.create_token("ci")
        assert server.web.get("/api/v1/tools").status == 401
        assert server.web.as_bearer(token).get("/api/v1/tools").status == 200
        station.run("token", "revoke", "ci")
        answer = server.web.as_bearer(token).get("/api/v1/tools")
        assert (answer.status, answer.json["detail"]) == (401, "The token was revoked")


def test_issued_tokens_are_enough_to_serve_other_machines_and_losing_them_blocks_access(
    station: ExampleProject,
) -> None:
    token = station.create_token("ci")
    with station.serve("--host", "0.0.0.0") as server:
        assert server.web.as_bearer(token).get("/api/v1/tools").status == 200
        (station.root / ".contextive" / "tokens.json").unlink()
        assert server.web.get("/api/v1/tools").status == 401
        assert server.web.as_bearer(token).get("/api/v1/tools").status == 401


def test_issued_tokens_work_together_with_those_of_the_environment(station: ExampleProject) -> None:
    token = station.create_token("ci")
    with station.serve(env={"KM_ADMIN_TOKEN": ADMIN}) as server:
        assert server.web.as_bearer(ADMIN).get("/api/v1/tools").status == 200
        assert server.web.as_bearer(token).get("/api/v1/tools").status == 200


def test_a_token_revoked_while_requests_run_is_refused_soon(station: ExampleProject) -> None:
    token = station.create_token("ci")
    with station.serve() as server:
        web = server.web.as_bearer(token)
        assert web.get("/api/v1/tools").status == 200
        revoking = subprocess.Popen(
            [sys.executable, "-m", "contextive", "token", "revoke", "ci"],
            cwd=station.root,
            env=clean_environment(station.environment()),
            stdout=subprocess.DEVNULL,
        )
        wait_until(lambda: web.get("/api/v1/tools").status == 401, "the revocation", 30.0)
        assert revoking.wait(30) == 0
