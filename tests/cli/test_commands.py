"""The output and the exit codes of commands."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from contextive import __version__
from contextive.cli import run
from contextive.cli.parser import COMMANDS
from tests.cli.conftest import CliProcess, InProcessCli
from tests.processes import clean_environment
from tests.raw_clients import PROGRAM, StdioClient

LIGHT = [["--help"], ["--version"], ["serve", "--help"], ["check", "--help"]]


##= docs/spec/host.md#commands
##% A command with an invalid command line MUST exit with code 2.
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "Unknown command 'nonsense'."),
        (["sreve"], "Did you mean serve?"),
        (["--bogus"], "--bogus"),
        (["check", "--bogus"], "--bogus"),
        (["check", "extra"], "extra"),
        (["serve", "--port", "x"], "port"),
        (["serve", "--port", "65536"], "65535"),
        (["--port", "99999", "serve"], "--port must come after the command. Write: contextive-mcp serve --port …"),
        (["serve", "--stdio", "--http"], "not allowed with"),
        (["check", "--profile", "nope"], "nope"),
        (["check", "--project", "no/such/dir"], "does not exist"),
        (["call"], "TOOL"),
        (["serve", "--config"], "--config"),
        (["-x"], "-x"),
    ],
    ids=" ".join,
)
def test_an_invalid_command_line_gives_a_one_line_message_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert run(arguments) == 2
    output, errors = capsys.readouterr()
    assert output == ""
    (line,) = errors.splitlines()
    assert line.startswith("contextive-mcp: ")
    assert message in line


##= docs/spec/host.md#commands
##% A failed command MUST exit with code 1 and give the reason in one sentence on standard error.
def test_exit_codes_reach_the_shell(cli_process: CliProcess) -> None:
    assert "Unknown command" in cli_process.error_message("nonsense", code=2)
    assert "Unknown tool" in cli_process.error_message("call", "nonsense", code=1)


##= docs/spec/host.md#startup
##% At every start, the server MUST validate the whole configuration before it serves anything.
##= docs/spec/host.md#startup
##% An invalid configuration MUST prevent the server from starting.
##= docs/spec/host.md#validation
##% An unknown key MUST be an error.
@pytest.mark.parametrize(
    ("command", "name", "text", "message"),
    [
        ("check", "contextive.config.json", "{", "contextive.config.json"),
        ("check", "contextive.config.yaml", "server: {logLevel: loud}", "logLevel"),
        ("tools", "contextive.config.toml", "nonsense = 1", "nonsense"),
        ("serve", "contextive.config.json", '{"server": {"port": 0}}', "port"),
        ("call", "contextive.config.json", "[]", "contextive.config.json"),
    ],
)
def test_an_invalid_configuration_is_reported_with_exit_code_1(
    in_process_cli: InProcessCli, command: str, name: str, text: str, message: str
) -> None:
    in_process_cli.write(name, text)
    arguments = [command, "contextive_health"] if command == "call" else [command]
    done = in_process_cli.run(*arguments, code=1)
    assert done.stdout == ""
    assert done.stderr.startswith("contextive-mcp: ")
    assert message in done.stderr


def test_a_missing_configuration_file_is_reported(in_process_cli: InProcessCli) -> None:
    assert "does not exist" in in_process_cli.error_message("check", "--config", "nowhere.yaml", code=1)
    assert "CONTEXTIVE_CONFIG" in in_process_cli.error_message(
        "check", code=1, env={"CONTEXTIVE_CONFIG": "nowhere.yaml"}
    )


def test_two_configuration_files_are_an_error(in_process_cli: InProcessCli) -> None:
    in_process_cli.write("contextive.config.json", "{}")
    in_process_cli.write("contextive.config.toml", "")
    message = in_process_cli.error_message("check", code=1)
    assert "contextive.config.json, contextive.config.toml" in message
    assert "Keep one" in message


##= docs/spec/host.md#commands
##% Without a command, `contextive-mcp` MUST print its help on a terminal and serve stdio on a pipe.
def test_no_command_with_a_pipe_serves_stdio(tmp_path: Path) -> None:
    with StdioClient(cwd=tmp_path) as pipe:
        assert pipe.initialize()["serverInfo"]["name"] == "contextive-mcp"


def test_no_command_without_input_prints_the_help(tmp_path: Path) -> None:
    done = subprocess.run(
        PROGRAM,
        cwd=tmp_path,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert (done.returncode, done.stdout.startswith("usage: contextive-mcp")) == (0, True)


def test_no_command_on_a_terminal_prints_the_help(tmp_path: Path) -> None:
    leader, follower = pty.openpty()
    try:
        done = subprocess.run(
            PROGRAM, cwd=tmp_path, env=clean_environment(), stdin=follower, capture_output=True, text=True, timeout=30
        )
    finally:
        os.close(leader)
        os.close(follower)
    assert done.returncode == 0
    assert done.stdout.startswith("usage: contextive-mcp")
    assert done.stderr == ""


def test_the_help_names_every_command(in_process_cli: InProcessCli) -> None:
    with pytest.raises(SystemExit):
        in_process_cli.run("--help")
    text = in_process_cli.capsys.readouterr().out
    for name, (_, summary) in COMMANDS.items():
        assert name in text
        assert summary.split()[0] in text


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_its_own_help(capsys: pytest.CaptureFixture[str], command: str) -> None:
    with pytest.raises(SystemExit) as caught:
        run([command, "--help"])
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: contextive-mcp {command}")


@pytest.mark.parametrize("flag", ["--version", "-v"])
def test_the_version_is_printed(cli_process: CliProcess, flag: str) -> None:
    assert cli_process.run(flag).stdout == f"contextive-mcp {__version__}\n"


def imported_by(arguments: list[str], folder: Path, env: dict[str, str] | None = None) -> set[str]:
    """The top-level packages that a command imports."""
    code = (
        "import sys\nfrom contextive.cli import run\n"
        "try:\n    run(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "print('\\n'.join({name.split('.')[0] for name in sys.modules}), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        env=clean_environment(env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    return set(done.stderr.split())


@pytest.mark.parametrize("arguments", LIGHT, ids=" ".join)
def test_help_and_version_import_nothing_heavy(tmp_path: Path, arguments: list[str]) -> None:
    loaded = imported_by(arguments, tmp_path)
    assert "contextive" in loaded
    heavy = {"mcp", "mcp_types", "numpy", "structlog", "yaml", "starlette", "uvicorn", "prometheus_client", "rich"}
    if arguments[0].startswith("--"):
        heavy.add("pydantic")
    assert not loaded & heavy


@pytest.mark.parametrize("arguments", [["call", "contextive_health"], ["tools"], ["check"], ["describe"]], ids=" ".join)
def test_commands_that_do_not_serve_do_not_import_the_sdk(tmp_path: Path, arguments: list[str]) -> None:
    loaded = imported_by(arguments, tmp_path)
    assert "pydantic" in loaded
    assert not loaded & {"mcp", "mcp_types", "starlette", "uvicorn", "structlog", "prometheus_client", "rich"}


def test_check_shows_what_a_server_would_offer(in_process_cli: InProcessCli) -> None:
    in_process_cli.write(
        "contextive.config.yaml", "server:\n  logLevel: debug\nproviders:\n  openai:\n    apiKey: $SECRET\n"
    )
    text = in_process_cli.run("check").stdout
    assert "contextive.config.yaml (project)" in text
    assert "ignored        providers" in text
    assert "contextive_health" in text
    assert text.endswith("The configuration is valid.\n")
    report = json.loads(in_process_cli.run("check", "--json", env={"CONTEXTIVE_SERVER__LOG_LEVEL": "warn"}).stdout)
    assert report["overrides"] == ["CONTEXTIVE_SERVER__LOG_LEVEL"]
    assert report["trusted"] is False
    assert report["scope"] == "reader"


##= docs/spec/host.md#startup
##% The server MUST be able to start without any configuration file.
def test_check_without_a_file_shows_the_defaults(in_process_cli: InProcessCli) -> None:
    assert "built-in defaults" in in_process_cli.run("check").stdout


def test_describe_prints_the_whole_server_as_json(in_process_cli: InProcessCli) -> None:
    described = json.loads(in_process_cli.run("describe").stdout)
    assert described["name"] == "contextive-mcp"
    assert described["initializeAnswers"] == "negotiated"
    assert described["capabilities"]["tools"] == {"listChanged": True}
    for tool in described["tools"]:
        jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])
        if tool["outputSchema"] is not None:
            jsonschema.Draft202012Validator.check_schema(tool["outputSchema"])
    spexus = json.loads(in_process_cli.run("describe", "--profile", "spexus").stdout)
    assert spexus["initializeAnswers"] == "2025-03-26"
    assert spexus["name"] == "spexus mcp"


def test_tools_lists_the_tools_of_the_owner_and_with_all_every_tool(cli_process_with_odd_pack: CliProcess) -> None:
    as_reader = cli_process_with_odd_pack.run("tools").stdout
    assert "odd_echo" in as_reader
    assert "odd_maintain" not in as_reader
    everything = json.loads(cli_process_with_odd_pack.run("tools", "--all", "--json").stdout)
    assert {"odd_maintain", "odd_destroy"} <= {tool["name"] for tool in everything}
    as_admin = cli_process_with_odd_pack.run("tools", env={"KM_ADMIN_TOKEN": "admin-token-0123456789"}).stdout
    assert "odd_maintain" in as_admin


def test_the_schema_is_printed_and_written(in_process_cli: InProcessCli) -> None:
    printed = in_process_cli.run("schema").stdout
    jsonschema.Draft202012Validator.check_schema(json.loads(printed))
    assert in_process_cli.run("schema", "--output", "schema.json").stdout == ""
    assert (in_process_cli.folder / "schema.json").read_text(encoding="utf-8") == printed
    assert "schema.json: No such file or directory." in in_process_cli.error_message(
        "schema", "--output", "no/schema.json", code=1
    )


def test_a_closed_output_pipe_ends_the_command_without_a_traceback(cli_process: CliProcess) -> None:
    process = subprocess.Popen(
        [*PROGRAM, "schema"],
        cwd=cli_process.folder,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    _, errors = process.communicate(timeout=30)
    assert b"Traceback" not in errors
    assert process.returncode in (0, 1)
