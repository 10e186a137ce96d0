"""`init`, `trust` and `doctor`: the care of one project."""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Desk

ON_PATH = {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])}


##= docs/spec/care.md#init
##% The command `init` MUST write a configuration that `check` accepts, from what it finds in the project.
def test_init_writes_a_file_that_check_accepts_and_says_how_to_attach_clients(desk: Desk) -> None:
    text = desk.run("init").stdout
    assert text.startswith("Wrote contextive.config.yaml.")
    for client in ("claude-code", "claude-desktop", "cursor", "vscode", "codex"):
        assert f" install {client} --write" in text
    report = json.loads(desk.run("check", "--json").stdout)
    assert report["config"] == "contextive.config.yaml"
    assert report["ignored"] == []


##= docs/spec/care.md#init
##% The command `init` MUST NOT replace a file unless it is told to.
def test_init_never_replaces_a_file_unless_it_is_told_to(desk: Desk) -> None:
    file = desk.write("contextive.config.yaml", "# mine\n")
    assert "already has contextive.config.yaml" in desk.complaint("init", code=1)
    assert file.read_text(encoding="utf-8") == "# mine\n"
    desk.run("init", "--force")
    assert "# mine" not in file.read_text(encoding="utf-8")


@pytest.mark.parametrize("flags", [[], ["--force"]])
def test_init_leaves_a_file_of_another_form_alone(desk: Desk, flags: list[str]) -> None:
    desk.write("contextive.config.toml", "")
    assert "already has contextive.config.toml" in desk.complaint("init", *flags, code=1)
    assert not (desk.folder / "contextive.config.yaml").exists()


def test_init_in_a_place_that_cannot_be_written_is_one_sentence(desk: Desk) -> None:
    (desk.folder / "contextive.config.yaml").symlink_to("missing/target")
    assert desk.complaint("init", code=1).startswith("contextive.config.yaml: No such file or directory.")


##= docs/spec/care.md#trust
##% The command `trust` MUST let the configuration file of the project decide what it otherwise may not, as long as its
##% content stays.
def test_trust_lets_a_file_decide_what_it_otherwise_may_not(desk: Desk) -> None:
    file = desk.write("contextive.config.json", json.dumps({"providers": {"openai": {"apiKey": "k" * 20}}}))

    def trusted() -> bool:
        return bool(json.loads(desk.run("check", "--json").stdout)["trusted"])

    assert not trusted()
    assert desk.run("trust", "--list").stdout == ""
    assert "is trusted as it is now" in desk.run("trust").stdout
    assert trusted()
    assert desk.run("trust", "--list").stdout == f"{file.resolve()}\n"
    desk.write("contextive.config.json", json.dumps({"providers": {"openai": {"apiKey": "z" * 20}}}))
    assert not trusted(), "a file that changed is trusted no longer"
    desk.run("trust")
    assert "no longer trusted" in desk.run("trust", "--revoke").stdout
    assert not trusted()
    assert desk.run("trust", "--list").stdout == ""


def test_trust_needs_one_file(desk: Desk) -> None:
    assert "no configuration file" in desk.complaint("trust", code=2)
    desk.write("contextive.config.json", "{}")
    desk.write("contextive.config.toml", "")
    assert "There must be one" in desk.complaint("trust", code=2)


def test_a_healthy_project_has_no_findings(desk: Desk) -> None:
    done = desk.run("doctor", env=ON_PATH)
    assert "WRONG" not in done.stdout
    for subject in ("python", "command", "configuration", "state", "packs", "protocol"):
        assert f"ok     {subject}" in done.stdout


##= docs/spec/care.md#doctor
##% The command `doctor` MUST say of each trouble what is wrong and how to mend it, and end with 1 where there is one.
def test_an_unhealthy_project_is_told_what_to_do(desk: Desk) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        config = {
            "server": {"mode": "http", "port": taken.getsockname()[1]},
            "toolPacks": {"absent": {}},
            "store": {"statePath": "file/below"},
        }
        desk.write("file", "")
        given = desk.write("given.json", json.dumps(config))
        done = desk.run("doctor", "--json", "--config", str(given), code=1, env=ON_PATH)
    findings = {finding["subject"]: finding for finding in json.loads(done.stdout)}
    wrong = {subject for subject, finding in findings.items() if not finding["ok"]}
    assert wrong == {"port", "plugin", "state"}
    assert all(findings[subject]["remedy"] for subject in wrong)
    assert "Cannot listen" in findings["port"]["detail"]
    assert "absent is not installed" in findings["plugin"]["detail"]


##= docs/spec/care.md#doctor
##% A broken configuration MUST NOT keep the doctor from its other findings.
def test_a_doctor_reads_a_broken_configuration_without_failing_itself(desk: Desk) -> None:
    desk.write("contextive.config.json", "{")
    done = desk.run("doctor", code=1, env={"PATH": "/nowhere"})
    assert "WRONG  configuration" in done.stdout
    assert "WRONG  command" in done.stdout
    assert "→" in done.stdout


def test_a_doctor_notices_settings_that_were_ignored(desk: Desk) -> None:
    desk.write("contextive.config.json", json.dumps({"auth": {"readerToken": "r" * 10 + "0123456789"}}))
    done = desk.run("doctor", code=1, env=ON_PATH)
    assert "WRONG  trust" in done.stdout
    assert "contextive-mcp trust" in done.stdout
    assert "rrrrr" not in done.stdout
