"""`init` finds specifications, sources and notes, and `doctor` accepts the result."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from contextive.ops.demo import example_folder
from contextive.ops.survey import Survey, survey
from tests.cli.conftest import InProcessCli, in_process_cli

__all__ = ["in_process_cli"]

ON_PATH = {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])}
DUVET = """\
'$schema' = "https://awslabs.github.io/duvet/config/v0.4.0.json"

[[specification]]
source = "spec.md"
"""
REQUIREMENTS = "# Pot\n\n## Brewing\n\nIt MUST brew.\nIt SHOULD be warm.\nIt MAY hum.\n"


def project(folder: Path, **files: str) -> Survey:
    write(folder, files)
    return survey(folder)


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def patterns(found: Survey) -> tuple[list[str], list[str], list[str]]:
    return (
        [match.pattern for match in found.specifications],
        [match.pattern for match in found.sources],
        [match.pattern for match in found.notes],
    )


def test_a_document_with_enough_requirements_is_a_specification(tmp_path: Path) -> None:
    found = project(
        tmp_path,
        **{
            "design/pot.md": REQUIREMENTS,
            "design/history.md": REQUIREMENTS,
            "README.md": REQUIREMENTS,
            "CHANGELOG.md": REQUIREMENTS,
            "docs/guide.md": "# Guide\n\nYou MUST read it.\n",
            "docs/spec/one.md": "# One\n\n## A\n\nIt MUST be.\n",
            "tests/fixtures/sample.md": REQUIREMENTS,
            "src/pot.py": "x = 1\n",
        },
    )
    assert patterns(found) == (["design/pot.md", "docs/spec/one.md"], ["src/**/*.py"], [])
    assert [match.count for match in found.specifications] == [3, 1]


def test_a_folder_of_mostly_specifications_becomes_one_pattern(tmp_path: Path) -> None:
    files = {f"framework/part-{n}.md": REQUIREMENTS for n in range(4)} | {"framework/intro.md": "# Intro\n"}
    assert patterns(project(tmp_path, **files))[0] == ["framework/*.md"]


def test_a_path_or_url_that_code_cites_is_a_specification(tmp_path: Path) -> None:
    found = project(
        tmp_path,
        **{
            "protocol.md": "# P\n\n## A\n\nIt MUST be.\n",
            "src/a.rs": "//= protocol.md#a\n//# It MUST be.\n"
            + "//= https://example.com/rfc/rfc1#section-1\n//# X\n" * 2,
            "specs/example.com/rfc/rfc1.txt": "1. One\n\n   It MUST be.\n",
        },
    )
    assert patterns(found)[0] == ["protocol.md", "https://example.com/rfc/rfc1"]
    assert found.copies == "specs"


def test_folders_of_notes_are_recognised_by_wiki_links(tmp_path: Path) -> None:
    found = project(
        tmp_path,
        **{
            "wiki/a.md": "See [[b]].\n",
            "wiki/deep/b.md": "Back to [[a|the first]].\n",
            "docs/bash.md": "```sh\nif [[ -f x ]]; then\n```\n",
            "docs/more.md": "Only `[[code]]` here.\n",
        },
    )
    assert patterns(found)[2] == ["wiki/**/*.md"]


##= docs/spec/commands.md#init
##% The scan of the project MUST NOT include files that git ignores.
def test_files_that_git_ignores_are_skipped(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    found = project(tmp_path, **{".gitignore": "out/\n", "out/spec.md": REQUIREMENTS, "out/a.py": ""})
    assert patterns(found) == ([], [], [])


def configured(in_process_cli: InProcessCli) -> dict[str, Any]:
    text = (in_process_cli.folder / "contextive.config.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


def test_init_finds_everything_in_the_example_and_the_doctor_agrees(in_process_cli: InProcessCli) -> None:
    for path in example_folder().rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            write(
                in_process_cli.folder, {path.relative_to(example_folder()).as_posix(): path.read_text(encoding="utf-8")}
            )
    in_process_cli.run("init")
    config = configured(in_process_cli)
    assert config["trace"]["specifications"] == ["docs/spec/locker.md"]
    assert set(config["trace"]["sources"]) == {"src/**/*.py", "tests/**/*.py", "panel/**/*.js"}
    assert config["notes"]["paths"] == ["notes/**/*.md"]
    output = in_process_cli.run("doctor", env=ON_PATH).stdout
    assert "ok     requirements   13 requirements in 1 specification;" in output
    assert "Invalid: 1; see duvet report." in output
    assert "ok     notes          4 notes." in output


##= docs/spec/commands.md#init
##% The command `init` MUST write a configuration that `check` accepts, from what it finds in the project.
@pytest.mark.parametrize(
    "files",
    [
        {},
        {
            "*odd: 'name\".md": REQUIREMENTS,
            "a[1]{x}?.md": REQUIREMENTS,
            "a b/#c.md": REQUIREMENTS,
            "a b/d.md": REQUIREMENTS,
        },
        {".duvet/config.toml": DUVET, "spec.md": REQUIREMENTS},
        {f"f{n}/a.py": "" for n in range(20)} | {"docs/spec/a.md": REQUIREMENTS},
        {"notes/one.md": "Alone.\n"},
    ],
    ids=["nothing", "odd names", "duvet", "many folders", "one note"],
)
def test_the_doctor_accepts_every_configuration_that_init_writes(
    in_process_cli: InProcessCli, files: dict[str, str]
) -> None:
    write(in_process_cli.folder, files)
    in_process_cli.run("init")
    output = in_process_cli.run("doctor", env=ON_PATH).stdout
    assert "ERROR" not in output
    assert "trace" not in configured(in_process_cli) or ".duvet/config.toml" not in files


##= docs/spec/commands.md#doctor
##% The doctor MUST report configured patterns that match no file.
def test_the_doctor_reports_patterns_that_match_nothing(in_process_cli: InProcessCli) -> None:
    write(
        in_process_cli.folder,
        {"contextive.config.yaml": "trace: {specifications: [gone/*.md]}\nnotes: {paths: [lost/*.md]}\n"},
    )
    output = in_process_cli.run("doctor", env=ON_PATH, code=1).stdout
    assert "ERROR  requirements   No file matches gone/*.md in trace.specifications." in output
    assert "ERROR  notes          No file matches lost/*.md in notes.paths." in output
    write(in_process_cli.folder, {"contextive.config.yaml": "", ".duvet/config.toml": "x = ["})
    assert "ERROR  requirements   .duvet/config.toml" in in_process_cli.run("doctor", env=ON_PATH, code=1).stdout


##= docs/spec/commands.md#init
##% With `--dry-run` the command `init` MUST write nothing.
def test_a_dry_run_shows_the_configuration_and_writes_nothing(in_process_cli: InProcessCli) -> None:
    write(in_process_cli.folder, {"docs/spec/pot.md": REQUIREMENTS})
    shown = json.loads(in_process_cli.run("init", "--dry-run", "--json").stdout)
    assert shown["written"] is False
    assert shown["found"]["specifications"] == [{"pattern": "docs/spec/pot.md", "files": 1, "count": 3}]
    assert yaml.safe_load(shown["text"])["trace"]["specifications"] == ["docs/spec/pot.md"]
    assert not (in_process_cli.folder / "contextive.config.yaml").exists()


@pytest.mark.parametrize("sign", [".obsidian/app.json", "plain.md"])
def test_every_file_of_a_vault_is_a_note(sign: str, tmp_path: Path) -> None:
    links = {f"{name}.md": "# One\n\nSee [[two]].\n" for name in ("Home", "people/ann", "people/bob", "ideas/boat")}
    found = project(tmp_path, **links, **{sign: "{}", "inbox/today.md": "# Today\n"})
    assert patterns(found)[2] == ["**/*.md"]
    code = {f"src/{number}.py": "x = 1\n" for number in range(9)}
    assert patterns(project(tmp_path, **code))[2] == (["**/*.md"] if sign.startswith(".") else ["people/**/*.md"])


def test_the_doctor_reports_cited_specifications_that_are_not_downloaded(in_process_cli: InProcessCli) -> None:
    write(
        in_process_cli.folder,
        {"src/pot.rs": "//= https://www.rfc-editor.org/rfc/rfc2324#section-2\n//# It MUST brew.\n"},
    )
    write(in_process_cli.folder, {"docs/spec/pot.md": REQUIREMENTS})
    output = in_process_cli.run("doctor", env=ON_PATH, code=1).stdout
    assert (
        "3 requirements in 1 specification; 1 citation. 1 specification that code cites by URL is not downloaded."
        in output
    )
    assert "→ Run duvet report --fetch" in output


CODE = "class HarbourMaster:\n    def __init__(self):\n        self.ships = []\n\n\ndef main():\n    HarbourMaster()\n"
GUIDE = "# Guide\n\n## When the tide turns\n\nWait for high water.\n"
VAULT = {"Home.md": "# Home of all boats\n\nSee [[boats]].\n", "boats.md": "# Boats\n\nSee [[Home]].\n"}


##= docs/spec/commands.md#init
##% The output of `init` MUST end with a search and a question that have an answer in the project.
@pytest.mark.parametrize(
    ("files", "question"),
    [
        ({"src/harbour.py": CODE, "docs/guide.md": GUIDE}, "find_usages"),
        ({"src/harbour.py": CODE}, "find_usages"),
        ({"docs/guide.md": GUIDE}, "orient"),
        ({"docs/spec/pot.md": REQUIREMENTS.replace("Brewing", "How to brew")}, "next_requirement"),
        (VAULT, "orient"),
    ],
    ids=["code and documents", "code", "documents", "specification", "vault"],
)
def test_the_first_search_and_question_have_an_answer(
    in_process_cli: InProcessCli, files: dict[str, str], question: str
) -> None:
    write(in_process_cli.folder, files)
    printed = in_process_cli.run("init", "--yes", env=ON_PATH).stdout
    search, asked = (shlex.split(re.sub(r"\s+# .*", "", line))[1:] for line in printed.splitlines()[-2:])
    assert (search[0], asked[:2]) == ("search", ["call", question])
    environment = {"CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL": "none"}
    found = json.loads(in_process_cli.run(*search, "--json", env=environment).stdout)["results"]
    assert found[0]["chunk"]["artifact_path"] in files
    answer = json.loads(in_process_cli.run(*asked, env=environment).stdout)
    assert any(path in json.dumps(answer) for path in files)


def test_init_says_what_it_found(in_process_cli: InProcessCli) -> None:
    write(in_process_cli.folder, {**VAULT, "src/harbour.py": CODE, "tests/test_harbour.py": "def test_it(): ...\n"})
    write(in_process_cli.folder, {"docs/spec/pot.md": REQUIREMENTS})
    [summary] = [line for line in in_process_cli.run("init", env=ON_PATH).stdout.splitlines() if "Scanned" in line]
    assert summary == "Scanned 5 files: 3 documents, 2 files of source code, 1 file of tests, 3 requirements."


def test_an_empty_project_gets_no_question(in_process_cli: InProcessCli) -> None:
    printed = in_process_cli.run("init", env=ON_PATH).stdout
    assert "nothing to search or trace yet" in printed
    assert printed.splitlines()[-1].lstrip().startswith("contextive-mcp install --write")
