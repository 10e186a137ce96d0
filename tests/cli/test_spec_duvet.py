"""The requirements of docs/spec/trace.md for the command `duvet`."""

from __future__ import annotations

import gc
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from contextive.cli import run
from contextive.errors import ConfigError, UpstreamError
from contextive.ops.duvet_output import write_report
from contextive.trace.duvet_config import parse_duvet_config
from contextive.workspace import http_fetch
from contextive.workspace.generated_files import reason_by_content
from tests.ingest.projects import BOIL, BREW, COFFEE, CONFIG, MILK, WARM, Project, cite, configured
from tests.processes import full_disk
from tests.workspace.web import refusal, response, serving

QUIET = CONFIG + "[report.html]\nenabled = false\n"
SNAPSHOT = QUIET + "[report.snapshot]\nenabled = true\n"
URL = "https://www.rfc-editor.org/rfc/rfc2324"
PLACES = {
    BREW: "specs/coffee.md#brewing",
    WARM: "specs/coffee.md#brewing",
    MILK: "specs/coffee.md#serving",
    BOIL: "specs/tea.md#steeping",
}


@dataclass
class Duvet:
    """The command in a project, run in this process."""

    project: Project
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *arguments: str, code: int = 0) -> str:
        """The output of the command, which must end with that exit code."""
        with self.monkeypatch.context() as patch:
            patch.chdir(self.project.root)
            for name in [name for name in os.environ if name == "CI" or name.startswith(("KM_", "CONTEXTIVE_"))]:
                patch.delenv(name)
            found = run(list(arguments), program="duvet")
        gc.enable()  # `report` disables it, because its process normally ends
        output = "".join(self.capsys.readouterr())
        assert found == code, output
        return output

    def text(self, path: str) -> str:
        return (self.project.root / path).read_text(encoding="utf-8")

    def exists(self, path: str) -> bool:
        return (self.project.root / path).exists()


@pytest.fixture
def duvet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Duvet:
    project = configured(tmp_path / "project")
    project.write(".duvet/config.toml", QUIET)
    return Duvet(project, monkeypatch, capsys)


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Duvet:
    (tmp_path / "empty").mkdir()
    return Duvet(Project(tmp_path / "empty"), monkeypatch, capsys)


# -- settings and the network ------------------------------------------------------------------------------------------


##= docs/spec/trace.md#bad-input
##% A `.duvet/config.toml` with an unknown key or a wrong value MUST be refused with a message that names it.
@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("colour = 1\n" + CONFIG, "colour"),
        (CONFIG + 'pages = "3"\n', "specification.pages"),
        (CONFIG + "[report.json]\nenabled = 1\n", "report.json.enabled"),
        (CONFIG + '[[source]]\npattern = "x"\ntype = "wish"\n', "wish"),
        (CONFIG + "[[source]]\npattern = 3\n", "source.pattern"),
    ],
)
def test_an_error_in_the_configuration_names_the_key(change: str, named: str, duvet: Duvet) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_duvet_config(change, ".duvet/config.toml", {})
    assert named in caught.value.full_message()
    duvet.project.write(".duvet/config.toml", change)
    assert named in duvet("report", code=1)
    with pytest.raises(ConfigError):
        duvet.project.service().view()


##= docs/spec/trace.md#network
##% A specification MUST NOT be downloaded unless the user asks for it with `--fetch` or with the setting
##% `trace.fetch`.
def test_nothing_is_downloaded_without_fetch(duvet: Duvet, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[str] = []

    def fetch(url: str, destination: Path, **_: object) -> None:
        fetched.append(url)
        destination.parent.mkdir(parents=True, exist_ok=True)
        destination.write_text("1.  Introduction\n\n   A pot MUST answer.\n", encoding="utf-8")

    monkeypatch.setattr(http_fetch, "fetch_specification", fetch)
    duvet.project.write(".duvet/config.toml", QUIET + f'[[specification]]\nsource = "{URL}"\n')
    assert "--fetch" in duvet("report", code=1)
    duvet("query", code=1)
    duvet("extract", URL, "-o", "out", code=1)
    duvet.project.service().view()
    assert fetched == []
    duvet("report", "--fetch")
    assert fetched == [f"{URL}.txt"]
    duvet("report", "--fetch")
    assert len(fetched) == 1


##= docs/spec/trace.md#defaults
##% Without `.duvet/config.toml`, specifications in the usual places and source files in known languages MUST be
##% traced.
def test_the_default_paths_are_traced_without_a_configuration(bare: Duvet) -> None:
    bare.project.write("specs/coffee.md", COFFEE)
    bare.project.write("lib/pot.py", cite(PLACES[BREW], BREW, style=("#=", "#%")))
    bare.project.write("main.go", cite(PLACES[BREW], BREW, "type=test"))
    bare("report", "--json-v2", "out.json")
    assert "main.go" in bare.text("out.json")
    assert "lib/pot.py" in bare.text("out.json")
    findings = bare("query", "-c", "implementation", code=1)
    assert WARM in findings
    assert BREW not in findings


##= docs/spec/trace.md#defaults
##% If there is a `.duvet/config.toml`, it alone MUST decide which specifications are extracted and which sources are
##% read.
def test_a_configuration_alone_decides_what_is_traced(duvet: Duvet) -> None:
    duvet.project.write("specs/other.md", "# Other\n\nThe other MUST not count.\n")
    duvet.project.write("lib/other.py", cite("specs/none.md#x", "Nothing.", style=("#=", "#%")))
    duvet.project.write(
        "contextive.config.json", json.dumps({"trace": {"specifications": ["specs/other.md"], "sources": ["lib/*.py"]}})
    )
    duvet("report", "--json-v2", "out.json")
    assert "other" not in duvet.text("out.json")


# -- reports -----------------------------------------------------------------------------------------------------------


##= docs/spec/trace.md#reports
##% The command `duvet report` MUST be able to write JSON in both versions, LCOV, HTML, SARIF, JUnit, GitHub
##% annotations and a badge.
def test_every_kind_of_report_can_be_written(duvet: Duvet) -> None:
    names = ("json", "json-v2", "html", "sarif", "junit", "badge")
    output = duvet("report", "--lcov", "lcov", "--format", "github", *(f"--{name}=out/{name}" for name in names))
    assert json.loads(duvet.text("out/json"))["specifications"]
    assert json.loads(duvet.text("out/json-v2"))["annotations"]
    assert json.loads(duvet.text("out/sarif"))["version"] == "2.1.0"
    assert duvet.text("out/html").startswith("<!DOCTYPE html>")
    assert reason_by_content("out/report.html", duvet.text("out/html")) == "generated", "search leaves it out"
    assert "<testsuite" in duvet.text("out/junit")
    assert "<svg" in duvet.text("out/badge")
    assert duvet.text("lcov/compliance.0.lcov").startswith("TN:")
    assert re.search(r"^::(?:error|warning|notice) ", output, re.MULTILINE)


def test_columns_of_problems_in_sarif_are_counted_in_utf16(duvet: Duvet) -> None:
    duvet.project.write("src/odd.rs", f"\u2003//= {PLACES[BREW]}\n\u2003//# 😀 No such words.\n")
    duvet("report", "--sarif", "out/sarif", code=1)
    result = json.loads(duvet.text("out/sarif"))["runs"][0]["results"][0]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert (result["ruleId"], region["startLine"]) == ("quote_not_found", 2)
    assert region["startColumn"] == 6  # the space in front has three bytes and one code unit


##= docs/spec/trace.md#reports
##% A report or a downloaded text MUST be written completely or not at all.
def test_reports_and_downloads_are_written_atomically(tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    write_report(report, "old")

    with full_disk(), pytest.raises(OSError, match="too large"):
        write_report(report, "new and longer" * 1000)
    assert {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()} == {"report.html": "old"}
    with report.open(encoding="utf-8") as reader:
        write_report(report, "new and longer")
        assert reader.read() == "old"
    stored = tmp_path / "specifications" / "host" / "spec.txt"
    stored.parent.mkdir(parents=True)
    stored.write_bytes(b"old")
    with serving({"/spec.md": response(length=1000)}) as site:
        assert isinstance(refusal(site.url(), stored), UpstreamError)
    assert [path.read_bytes() for path in stored.parent.iterdir()] == [b"old"]


##= docs/spec/trace.md#reports
##% An invalid citation MUST make `duvet report` end with the exit code 1, after all errors of the same kind are
##% shown.
@pytest.mark.parametrize(
    "bad",
    [
        ("//= type=wish\n//= a.md#x\n", "//= a.md#x\n//= colour=red\n"),
        (cite("specs/none.md#x"), cite("specs/never.md#x")),
        (cite("specs/tea.md#never"), cite(PLACES[BREW], "Nothing like it.")),
    ],
)
def test_invalid_citations_fail_after_all_of_a_kind_are_shown(bad: tuple[str, str], duvet: Duvet) -> None:
    duvet.project.write("src/one.rs", bad[0])
    duvet.project.write("src/two.rs", bad[1])
    output = duvet("report", code=1)
    assert "src/one.rs:" in output
    assert "src/two.rs:" in output


##= docs/spec/trace.md#reports
##% A run that finds neither a specification nor a citation MUST say so.
def test_a_run_that_finds_nothing_says_so(bare: Duvet) -> None:
    assert "nothing found" in bare("report")
    bare.project.write("specs/coffee.md", COFFEE)
    assert "nothing found" not in bare("report")


##= docs/spec/trace.md#ci-rules
##% With `--ci` and a snapshot, a report MUST fail if the stored snapshot is missing or different, and leaves it
##% unchanged.
def test_a_snapshot_is_compared_and_not_changed(duvet: Duvet) -> None:
    duvet.project.write(".duvet/config.toml", SNAPSHOT)
    duvet("report", "--ci", code=1)
    assert not duvet.exists(".duvet/snapshot.txt")
    duvet("report")
    kept = duvet.text(".duvet/snapshot.txt")
    duvet("report", "--ci")
    duvet.project.write("src/more.rs", cite(PLACES[MILK], MILK))
    duvet("report", "--ci", code=1)
    assert duvet.text(".duvet/snapshot.txt") == kept


##= docs/spec/trace.md#ci-rules
##% With `--ci` and no snapshot, a report MUST fail on a referenced line that is not cited, and on a cited line that
##% is not tested.
def test_without_a_snapshot_every_line_must_be_cited_and_tested(duvet: Duvet) -> None:
    assert "missing citation" in duvet("report", "--ci", code=1)
    duvet.project.write("src/more.rs", "\n".join(cite(PLACES[text], text) for text in (WARM, MILK)))
    assert "missing test" in duvet("report", "--ci", code=1)
    duvet.project.write("tests/all.rs", "\n".join(cite(place, text) for text, place in PLACES.items()))
    duvet("report", "--ci")


# -- the other commands ------------------------------------------------------------------------------------------------


##= docs/spec/trace.md#other-commands
##% The command `duvet init` MUST NOT replace an existing file.
def test_init_keeps_existing_files(bare: Duvet) -> None:
    bare.project.write(".duvet/config.toml", "mine")
    bare("init", "--lang-rust")
    assert bare.text(".duvet/config.toml") == "mine"
    assert bare.exists(".duvet/.gitignore")
    bare.project.write(".duvet/.gitignore", "mine too")
    bare("init")
    assert bare.text(".duvet/.gitignore") == "mine too"


##= docs/spec/trace.md#other-commands
##% The command `duvet extract` MUST write one file for each section that has requirements.
def test_extract_writes_a_file_for_each_section_with_requirements(duvet: Duvet) -> None:
    duvet("extract", "specs/coffee.md", "-f", "markdown", "-o", "out")
    found = sorted(str(path.relative_to(duvet.project.root)) for path in (duvet.project.root / "out").rglob("*.toml"))
    assert found == ["out/specs/coffee/brewing.toml", "out/specs/coffee/serving.toml"]


##= docs/spec/trace.md#other-commands
##% The command `duvet merge` MUST write the union of JSON v2 reports, or fail if they contradict each other.
def test_merge_writes_the_union_or_refuses_contradictions(duvet: Duvet) -> None:
    link = ("--blob-link", "https://example.org/pot/blob/main")
    duvet("report", *link, "--json-v2", "one.json")
    duvet.project.remove("src/coffee.rs")
    duvet.project.write("src/more.rs", cite(PLACES[MILK], MILK))
    duvet("report", *link, "--json-v2", "two.json")
    duvet("merge", "--input", "one.json", "--input", "two.json", "--output", "all.json")
    for name in ("src/coffee.rs", "src/more.rs"):
        assert name in duvet.text("all.json")
    assert "src/more.rs" not in duvet.text("one.json")
    other = duvet.text("one.json").replace('"short_name": "brewing"', '"short_name": "burning"')
    assert other != duvet.text("one.json")
    duvet.project.write("three.json", other)
    duvet("merge", "--input", "one.json", "--input", "three.json", "--output", "none.json", code=1)
    assert not duvet.exists("none.json")


##= docs/spec/trace.md#other-commands
##% The command `duvet query` MUST check implementations, tests and duplicates, and end with the exit code 1 if it
##% finds a problem.
def test_query_checks_implementations_tests_and_duplicates(duvet: Duvet) -> None:
    duvet.project.write("src/more.rs", cite(PLACES[BREW], BREW))
    output = duvet("query", code=1)
    sections = dict(
        re.findall(r"^(implementation|test|duplicates): (.*?)(?=^\w+: |\Z)", output, re.MULTILINE | re.DOTALL)
    )
    assert WARM in sections["implementation"]
    assert BREW not in sections["implementation"]
    assert BREW in sections["test"]
    assert "src/more.rs:1" in sections["duplicates"]
    duvet.project.write("src/more.rs", "\n".join(cite(PLACES[text], text) for text in (WARM, MILK)))
    duvet.project.write("tests/all.rs", "\n".join(cite(place, text) for text, place in PLACES.items()))
    assert "findings" not in duvet("query")


# -- the end of the output ---------------------------------------------------------------------------------------------


def test_a_report_ends_with_a_summary(duvet: Duvet) -> None:
    assert "      Result 0 of 4 requirements done (0 %): 2 are not started, 2 lack a test" in duvet("report")
    duvet.project.write("src/more.rs", "\n".join(cite(PLACES[text], text) for text in (WARM, MILK)))
    duvet.project.write("tests/all.rs", "\n".join(cite(place, text) for text, place in PLACES.items()))
    assert "      Result 4 of 4 requirements done (100 %)\n" in duvet("report")


##= docs/spec/trace.md#ci-rules
##% A report that fails because of uncited or untested lines MUST name them.
def test_the_ci_check_names_the_failing_lines(duvet: Duvet) -> None:
    output = duvet("report", "--ci", code=1)
    uncited, untested = output.split("× Specification requirements missing citation.")[1].split(
        "× Citation missing test."
    )
    assert uncited.strip() == f"specs/coffee.md:9  {MILK}"
    assert untested.strip().splitlines() == [f"specs/coffee.md:5  {BREW} {WARM}", f"    specs/tea.md:5  {BOIL}"]
    assert MILK not in duvet("report", "--ci", "--require-citations", "false", code=1)


def test_the_ci_check_shows_ten_lines_and_counts_the_others(duvet: Duvet) -> None:
    duvet.project.write(
        "specs/tea.md", "# Tea\n\n" + "".join(f"Cup {number} MUST be warm.\n\n" for number in range(13))
    )
    duvet.project.write("src/tea.rs", "")
    output = duvet("report", "--ci", "--require-tests", "false", code=1)
    shown = output.split("missing citation.")[1].splitlines()[1:]
    assert len(shown) == 11
    assert shown[-1] == "    and 4 more lines: duvet query -c implementation shows all"


def test_an_invalid_quote_is_shown_with_the_nearest_sentence(duvet: Duvet) -> None:
    duvet.project.write("src/more.rs", cite(PLACES[MILK], MILK.replace("milk", "cream")))
    assert f"╰──── nearest: {MILK}" in duvet("report", code=1)


def test_query_uses_the_paths_in_the_configuration(bare: Duvet) -> None:
    bare.project.write("design/door.md", "# Door\n\nThe door MUST be locked.\n")
    bare.project.write("contextive.config.yaml", 'trace:\n  specifications: ["design/*.md"]\n')
    assert "The door MUST be locked." in bare("query", code=1)
    assert "using the paths in the configuration" in bare("report")


def test_without_a_command_the_help_is_shown(bare: Duvet) -> None:
    assert "usage: duvet" in bare(code=2)
