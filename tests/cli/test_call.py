"""`call`: arguments as flags of every type and as JSON, and the messages for wrong ones."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from contextive.cli.call import parse_tool_arguments
from contextive.errors import InvalidRequest, UsageError
from contextive.packs import load_builtin
from contextive.registry.dispatch import parse_arguments
from tests.cli.conftest import CliProcess
from tests.plugins.odd_pack import pack
from tests.processes import clean_environment
from tests.raw_clients import PROGRAM

DEFAULTS = {
    "text": "hi",
    "number": 1,
    "ratio": 0.5,
    "flag": False,
    "words": [],
    "counts": [],
    "color": "red",
    "maybe": None,
}


knowledge = load_builtin("knowledge")
ECHO = next(tool for tool in pack.tools if tool.name == "odd_echo")


@pytest.mark.parametrize(
    ("words", "changed"),
    [
        (["--text", "hi"], {}),
        (["--text=hi", "--number=7"], {"number": 7}),
        (["--text", "hi", "--ratio", "2.5", "--number", "7"], {"ratio": 2.5, "number": 7}),
        (["--text", "hi", "--flag"], {"flag": True}),
        (["--flag", "--text", "hi"], {"flag": True}),
        (["--text", "hi", "--flag", "false"], {"flag": False}),
        (["--text", "hi", "--words", "a", "--words", "b c"], {"words": ["a", "b c"]}),
        (["--text", "hi", "--words", '["a", "b"]', "--words", "c"], {"words": ["a", "b", "c"]}),
        (["--text", "hi", "--words", "5"], {"words": ["5"]}),
        (["--text", "hi", "--counts", "1", "--counts", "2"], {"counts": [1, 2]}),
        (["--text", "hi", "--color", "green"], {"color": "green"}),
        (["--text", "hi", "--maybe", "4"], {"maybe": 4}),
        (["--text", "5"], {"text": "5"}),
        (["--text", "true"], {"text": "true"}),
        (["--text", ""], {"text": ""}),
        (["--text", "-x"], {"text": "-x"}),
        (["--json", '{"text": "hi", "number": 3}'], {"number": 3}),
        (["--json", '{"text": "hi"}', "--number", "4"], {"number": 4}),
        (['--json={"text": "ü ☃"}'], {"text": "ü ☃"}),
    ],
)
def test_flags_have_the_types_of_the_schema(words: list[str], changed: dict[str, Any]) -> None:
    parsed = parse_arguments(ECHO, parse_tool_arguments(ECHO, words))
    assert parsed.model_dump() == DEFAULTS | changed


##= docs/spec/knowledge.md#km-search-requests
##% The arguments `symbol`, `kind` and `lang` MUST add to the filters, as one value, several values separated by
##% commas, or a list.
def test_an_argument_that_takes_one_value_or_a_list_may_be_repeated() -> None:
    search = next(tool for tool in knowledge.tools if tool.name == "km-search")
    words = ["--query", "x", "--symbol", "A", "--symbol", "B", "--kind", "class,method"]
    assert parse_tool_arguments(search, words) == {"query": "x", "symbol": ["A", "B"], "kind": "class,method"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--text"], "--text needs a value."),
        (["text"], "Expected --key value, found 'text'."),
        (["--"], "Expected --key value"),
        (["-t", "x"], "Expected --key value, found '-t'."),
        (["--json", "{"], "--json takes one JSON object."),
        (["--json", "[]"], "--json takes one JSON object."),
        (["--json", "[" * 100_000], "--json takes one JSON object."),
        (["--number", "1", "--number=2"], "--number is given more than once, and odd_echo takes one value for it."),
        (["--text", "a", "--config", "x.yaml"], "--config is a flag of the command, not an argument of odd_echo."),
    ],
    ids=lambda value: str(value)[:30],
)
def test_words_that_are_not_flags_are_a_usage_error(words: list[str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_tool_arguments(ECHO, words)
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--text", "a", "--number", "ten"], "'number': input should be a valid integer."),
        (["--text", "a", "--number", "10"], "less than or equal to 9"),
        (["--text", "a", "--ratio", "NaN"], "not finite"),
        (["--text", "a", "--no-such", "1"], "odd_echo has no argument 'no_such'."),
    ],
    ids=lambda value: str(value)[:30],
)
def test_values_of_the_wrong_type_are_refused_by_the_tool(words: list[str], message: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_arguments(ECHO, parse_tool_arguments(ECHO, words))
    assert message in caught.value.message


##= docs/spec/host.md#commands
##% A successful command MUST exit with code 0.
def test_a_call_prints_the_result_as_json(cli_process_with_odd_pack: CliProcess) -> None:
    words = ["--text", "ü ☃", "--words", "a", "--words", "b", "--flag", "--counts", "[1, 2]", "--color=green"]
    answer = json.loads(cli_process_with_odd_pack.run("call", "odd_echo", *words).stdout)
    assert answer | {"maybe": None} == DEFAULTS | {
        "text": "ü ☃",
        "words": ["a", "b"],
        "flag": True,
        "counts": [1, 2],
        "color": "green",
    }


##= docs/spec/host.md#commands
##% A failed command MUST exit with code 1 and give the reason in one sentence on standard error.
@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["odd_ecko"], 1, "Unknown tool: 'odd_ecko'. Did you mean odd_echo?"),
        (["odd_echo"], 1, "odd_echo needs the argument 'text'. Arguments of odd_echo: text: string,"),
        (["odd_echo", "--text"], 2, "--text needs a value."),
        (["odd_maintain"], 1, "odd_maintain needs the maintainer scope."),
        (["odd_ask"], 1, "needs a client that supports elicitation"),
        (["odd_big", "--size", "2000000"], 1, "the limit is 1000000"),
    ],
)
def test_a_failed_call_prints_a_one_line_message(
    cli_process_with_odd_pack: CliProcess, words: list[str], code: int, message: str
) -> None:
    assert message in cli_process_with_odd_pack.error_message("call", *words, code=code)


def test_a_failing_handler_gives_exit_code_1_and_no_details_on_standard_output(
    cli_process_with_odd_pack: CliProcess,
) -> None:
    environment = clean_environment(cli_process_with_odd_pack.environment)
    done = subprocess.run(
        [*PROGRAM, "call", "odd_raise"],
        cwd=cli_process_with_odd_pack.folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1].startswith("contextive-mcp: The tool odd_raise failed with an internal error.")


def test_output_of_a_handler_goes_to_standard_error(cli_process_with_odd_pack: CliProcess) -> None:
    done = cli_process_with_odd_pack.run("call", "odd_print")
    assert json.loads(done.stdout) == {"done": True}
    for text in ("printed by a handler", "written to descriptor 1", "echoed by a child"):
        assert text in done.stderr


##= docs/spec/host.md#permissions
##% The caller on a pipe or a terminal MUST be a reader unless `auth.adminToken` or `server.allowWrites` is set.
def test_with_an_admin_token_maintainer_tools_can_be_called(cli_process_with_odd_pack: CliProcess) -> None:
    done = cli_process_with_odd_pack.run("call", "odd_maintain", env={"KM_ADMIN_TOKEN": "admin-token-0123456789"})
    assert json.loads(done.stdout) == {"done": True}


def test_a_text_result_is_printed_as_text(cli_process_with_odd_pack: CliProcess) -> None:
    assert cli_process_with_odd_pack.run("call", "odd_big", "--size", "5").stdout == "xxxxx\n"


def test_a_tool_without_arguments_needs_none(cli_process: CliProcess) -> None:
    assert json.loads(cli_process.run("call", "contextive_health").stdout)["status"] == "healthy"
    info = json.loads(cli_process.run("call", "--profile", "spexus", "contextive_server_info").stdout)
    assert (info["mode"], info["profile"]) == ("in-process", "spexus")
