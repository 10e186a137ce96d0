"""The commands `init`, `trust` and `doctor`."""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import InProcessCli

ON_PATH = {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])}


##= docs/spec/commands.md#init
##% The command `init` MUST write a configuration that `check` accepts, from what it finds in the project.
def test_init_writes_a_valid_file_and_shows_how_to_connect_clients(in_process_cli: InProcessCli) -> None:
    text = in_process_cli.run("init").stdout
    assert text.startswith("Wrote contextive.config.yaml.")
    assert " install --write" in text
    report = json.loads(in_process_cli.run("check", "--json").stdout)
    assert report["config"] == "contextive.config.yaml"
    assert report["ignored"] == []


##= docs/spec/commands.md#init
##% The command `init` MUST NOT replace an existing file unless the user asks for it.
def test_init_replaces_a_file_only_with_force(in_process_cli: InProcessCli) -> None:
    file = in_process_cli.write("contextive.config.yaml", "# mine\n")
    assert "already has contextive.config.yaml" in in_process_cli.error_message("init", code=1)
    assert file.read_text(encoding="utf-8") == "# mine\n"
    in_process_cli.run("init", "--force")
    assert "# mine" not in file.read_text(encoding="utf-8")


@pytest.mark.parametrize("flags", [[], ["--force"]])
def test_init_does_not_add_a_second_file_of_another_format(in_process_cli: InProcessCli, flags: list[str]) -> None:
    in_process_cli.write("contextive.config.toml", "")
    assert "already has contextive.config.toml" in in_process_cli.error_message("init", *flags, code=1)
    assert not (in_process_cli.folder / "contextive.config.yaml").exists()


def test_init_reports_a_file_that_cannot_be_written(in_process_cli: InProcessCli) -> None:
    (in_process_cli.folder / "contextive.config.yaml").symlink_to("missing/target")
    assert in_process_cli.error_message("init", code=1).startswith("contextive.config.yaml: No such file or directory.")


##= docs/spec/commands.md#trust
##% The command `trust` MUST let the project's configuration file set what only a trusted file may set, until its
##% content changes.
def test_trust_allows_restricted_settings_until_the_file_changes(in_process_cli: InProcessCli) -> None:
    file = in_process_cli.write("contextive.config.json", json.dumps({"providers": {"openai": {"apiKey": "k" * 20}}}))

    def trusted() -> bool:
        return bool(json.loads(in_process_cli.run("check", "--json").stdout)["trusted"])

    assert not trusted()
    assert in_process_cli.run("trust", "--list").stdout == ""
    assert "is now trusted" in in_process_cli.run("trust").stdout
    assert trusted()
    assert in_process_cli.run("trust", "--list").stdout == f"{file.resolve()}\n"
    in_process_cli.write("contextive.config.json", json.dumps({"providers": {"openai": {"apiKey": "z" * 20}}}))
    assert not trusted(), "a changed file is no longer trusted"
    in_process_cli.run("trust")
    assert "no longer trusted" in in_process_cli.run("trust", "--revoke").stdout
    assert not trusted()
    assert in_process_cli.run("trust", "--list").stdout == ""


def test_trust_needs_exactly_one_file(in_process_cli: InProcessCli) -> None:
    assert "no configuration file" in in_process_cli.error_message("trust", code=2)
    in_process_cli.write("contextive.config.json", "{}")
    in_process_cli.write("contextive.config.toml", "")
    assert "There must be exactly one" in in_process_cli.error_message("trust", code=2)


def test_the_doctor_finds_no_problem_in_a_healthy_project(in_process_cli: InProcessCli) -> None:
    done = in_process_cli.run("doctor", env=ON_PATH)
    assert "ERROR" not in done.stdout
    for subject in ("python", "command", "configuration", "state", "packs", "protocol"):
        assert f"ok     {subject}" in done.stdout


##= docs/spec/commands.md#doctor
##% The command `doctor` MUST report for each problem what is wrong and how to fix it, and exit with 1 if there is a
##% problem.
def test_the_doctor_gives_a_remedy_for_each_problem(in_process_cli: InProcessCli) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        config = {
            "server": {"mode": "http", "port": taken.getsockname()[1]},
            "toolPacks": {"absent": {}},
            "store": {"statePath": "file/below"},
        }
        in_process_cli.write("file", "")
        given = in_process_cli.write("given.json", json.dumps(config))
        done = in_process_cli.run("doctor", "--json", "--config", str(given), code=1, env=ON_PATH)
    findings = {finding["subject"]: finding for finding in json.loads(done.stdout)}
    wrong = {subject for subject, finding in findings.items() if not finding["ok"]}
    assert wrong == {"port", "plugin", "state"}
    assert all(findings[subject]["remedy"] for subject in wrong)
    assert "Cannot listen" in findings["port"]["detail"]
    assert "absent is not installed" in findings["plugin"]["detail"]


##= docs/spec/commands.md#doctor
##% A broken configuration MUST NOT hide the doctor's other findings.
def test_the_doctor_reports_an_invalid_configuration_and_its_other_findings(in_process_cli: InProcessCli) -> None:
    in_process_cli.write("contextive.config.json", "{")
    done = in_process_cli.run("doctor", code=1, env={"PATH": "/nowhere"})
    assert "ERROR  configuration" in done.stdout
    assert "ERROR  command" in done.stdout
    assert "→" in done.stdout
    assert "The checks below use the built-in defaults." in done.stdout
    for subject in ("state", "packs", "index", "requirements", "notes", "clients", "protocol"):
        assert f"ok     {subject} " in done.stdout


def test_the_doctor_names_clients_and_problems_of_a_valid_configuration(in_process_cli: InProcessCli) -> None:
    found = in_process_cli.run("doctor", env=ON_PATH).stdout
    assert "Writing over stdio is off; server.allowWrites or serve --allow-writes turns it on." in found
    in_process_cli.run("install", "claude-code", "--write")
    in_process_cli.write("contextive.config.yaml", "workflows: {a: {steps: [{tool: nope}]}}\n")
    found = in_process_cli.run("doctor", code=1, env=ON_PATH).stdout
    assert "Claude Code (project)" in found
    assert "Claude Code asks for approval first: run claude in the project." in found
    assert "workflows.a: the step step1 cannot run: Unknown tool: 'nope'." in found


def test_the_doctor_reports_ignored_settings(in_process_cli: InProcessCli) -> None:
    in_process_cli.write("contextive.config.json", json.dumps({"auth": {"readerToken": "r" * 10 + "0123456789"}}))
    done = in_process_cli.run("doctor", code=1, env=ON_PATH)
    assert "ERROR  trust" in done.stdout
    assert "contextive-mcp trust" in done.stdout
    assert "rrrrr" not in done.stdout


def test_check_prints_the_problems_and_fails(in_process_cli: InProcessCli) -> None:
    in_process_cli.write("contextive.config.yaml", "workflows: {a: {steps: [{tool: nope}]}}\n")
    printed = in_process_cli.run("check", code=1).stdout
    assert "workflows.a: the step step1 cannot run: Unknown tool: 'nope'." in printed
    assert "The configuration is valid." not in printed
    assert len(json.loads(in_process_cli.run("check", "--json", code=1).stdout)["problems"]) == 1


def test_the_doctor_reports_another_duvet_on_the_path(in_process_cli: InProcessCli) -> None:
    program = in_process_cli.folder / "programs" / "duvet"
    program.parent.mkdir()
    program.write_bytes(b"\x7fELF")
    program.chmod(0o755)
    search_path = os.pathsep.join([str(Path(sys.executable).parent), str(program.parent)])
    printed = in_process_cli.run("doctor", env={"PATH": search_path}).stdout
    assert "Another one comes later in the PATH" in printed
