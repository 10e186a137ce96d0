"""`install --skills`: the files of the package where each client looks for skills, and nobody's text is lost."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from contextive.ops.clients import CLIENTS
from contextive.packs.skills.catalog import RELEASED, all_skills
from contextive.registry.vendors import CLIENT_SETTINGS, SKILL_FOLDERS
from tests.cli.conftest import InProcessCli, in_process_cli

__all__ = ["in_process_cli"]

PATH = {"PATH": str(Path(sys.executable).parent)}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    return folder


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.parent.name: path.read_bytes() for path in folder.glob("*/SKILL.md")}


ALL = {skill.name: skill.content for skill in all_skills()}


##= docs/spec/commands.md#skills-of-clients
##% With `--skills`, `install` MUST write the skills of the package into the directory in which the client looks for
##% skills.
@pytest.mark.parametrize("client", SKILL_FOLDERS)
def test_the_skills_are_shown_first_then_written_once_and_removed_again(
    in_process_cli: InProcessCli, home: Path, client: str
) -> None:
    own = in_process_cli.folder if CLIENTS[client].scopes[0] == "project" else home
    folder = own / SKILL_FOLDERS[client]
    shown = in_process_cli.run("install", client, "--skills", env=PATH).stdout
    assert "+# Implement a requirement" in shown
    assert not folder.exists()
    in_process_cli.run("install", client, "--skills", "--write", env=PATH)
    assert files_in(folder) == ALL
    assert "are up to date" in in_process_cli.run("install", client, "--skills", "--write", env=PATH).stdout
    in_process_cli.run("install", client, "--skills", "--remove", "--write", env=PATH)
    assert list(folder.iterdir()) == []


##= docs/spec/commands.md#skills-of-clients
##% A skill that somebody has changed MUST NOT be overwritten or removed.
def test_a_changed_skill_stays_and_is_reported(in_process_cli: InProcessCli) -> None:
    in_process_cli.run("install", "claude-code", "--skills", "--write", env=PATH)
    mine = in_process_cli.folder / ".claude/skills/contextive-review/SKILL.md"
    mine.write_bytes(mine.read_bytes() + b"Also check the documentation.\n")
    before = mine.read_bytes()
    for more in ((), ("--remove",)):
        printed = in_process_cli.run("install", "claude-code", "--skills", "--write", *more, env=PATH).stdout
        assert "contextive-review/SKILL.md was changed by somebody, so it stays as it is." in printed
        assert mine.read_bytes() == before
    assert set(files_in(mine.parents[1])) == {"contextive-review"}


def test_a_text_of_an_earlier_release_is_replaced(
    in_process_cli: InProcessCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    import hashlib

    old = b"---\nname: contextive-cite\ndescription: Old.\n---\n\n# Old\n"
    known = RELEASED | {hashlib.sha256(old).hexdigest()}
    monkeypatch.setattr("contextive.ops.skill_files.RELEASED", known)
    file = in_process_cli.folder / ".kiro/skills/contextive-cite/SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_bytes(old)
    assert "-# Old" in in_process_cli.run("install", "kiro", "--skills", "--write", env=PATH).stdout
    assert file.read_bytes() == ALL["contextive-cite"]


def test_every_text_of_this_release_is_known_to_later_ones() -> None:
    assert {skill.digest.removeprefix("sha256:") for skill in all_skills()} <= RELEASED


def test_a_link_that_leads_out_of_the_project_is_not_followed(in_process_cli: InProcessCli, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (in_process_cli.folder / ".claude").mkdir()
    (in_process_cli.folder / ".claude/skills").symlink_to(elsewhere)
    message = in_process_cli.error_message("install", "claude-code", "--skills", "--write", code=1, env=PATH)
    assert "a symbolic link leads elsewhere" in message
    assert list(elsewhere.iterdir()) == []
    assert not (in_process_cli.folder / ".mcp.json").exists(), "nothing is written if a part of it cannot be"


##= docs/spec/commands.md#skills-of-clients
##% The command `install` MUST NOT write instructions for agents, such as `AGENTS.md` or `CLAUDE.md`.
def test_the_paragraph_for_agents_is_printed_and_not_written(in_process_cli: InProcessCli) -> None:
    (in_process_cli.folder / "AGENTS.md").write_text("# Mine\n", "utf-8")
    printed = in_process_cli.run("install", "claude-code", "--skills", "--write", env=PATH).stdout
    assert "you can add this paragraph to that file yourself" in printed
    assert "`orient`" in printed
    assert (in_process_cli.folder / "AGENTS.md").read_text("utf-8") == "# Mine\n"
    assert not (in_process_cli.folder / "CLAUDE.md").exists()


def test_a_client_whose_directory_is_elsewhere_finds_its_skills_there(
    in_process_cli: InProcessCli, home: Path, tmp_path: Path
) -> None:
    moved = {**PATH, "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
    in_process_cli.run("install", "claude-code", "--scope", "user", "--skills", "--write", env=moved)
    assert files_in(tmp_path / "claude" / "skills") == ALL
    in_process_cli.run("install", "codex", "--skills", "--write", env={**PATH, "CODEX_HOME": str(tmp_path / "codex")})
    assert files_in(home / ".agents" / "skills") == ALL


def test_clients_that_share_a_directory_show_each_skill_once(in_process_cli: InProcessCli, home: Path) -> None:
    for name in (".cursor", ".gemini"):
        (home / name).mkdir()
    printed = in_process_cli.run("install", "--skills", env=PATH).stdout
    assert printed.count("+# Implement a requirement") == 1
    facts = json.loads(in_process_cli.run("install", "--skills", "--write", "--json", env=PATH).stdout)
    assert [len(client.get("skills", ())) for client in facts] == [len(ALL), 0]


def test_a_client_without_skills_says_where_the_texts_are(in_process_cli: InProcessCli) -> None:
    message = in_process_cli.error_message("install", "zed", "--skills", code=1, env=PATH)
    assert "prompts and resources of the server" in message


def test_copilot_is_told_to_keep_the_tools_loaded(in_process_cli: InProcessCli) -> None:
    assert CLIENT_SETTINGS["copilot-cli"] == (("deferTools", "never"),)
    in_process_cli.run("install", "copilot-cli", "--write", env=PATH)
    written = json.loads((in_process_cli.folder / ".mcp.json").read_text("utf-8"))
    assert written["mcpServers"]["contextive"]["deferTools"] == "never"
