"""`notes import | export`: vaults are imported and exported, and nothing is overwritten."""

from __future__ import annotations

import json
import zipfile

from tests.cli.conftest import InProcessCli


def vault(in_process_cli: InProcessCli, name: str, files: dict[str, str]) -> str:
    with zipfile.ZipFile(in_process_cli.folder.parent / name, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return str(in_process_cli.folder.parent / name)


##= docs/spec/notes.md#vaults
##% The command `notes import` MUST import the Markdown files of a directory or a zip file with their folders and
##% content.
def test_import_keeps_folders_aliases_embeds_and_heading_links(in_process_cli: InProcessCli) -> None:
    text = "---\naliases: [Start]\n---\nSee [[Plan#Goals|the goals]] and ![[Plan]].\n"
    source = vault(in_process_cli, "v.zip", {"Home.md": text, "area/Plan.md": "Back to [[Start]].\n", "pic.png": "x"})
    assert in_process_cli.run("notes", "import", source).stdout == "2 notes imported, 1 other files skipped\n"
    page = json.loads(in_process_cli.run("call", "get_page", "--slug", "home").stdout)
    assert page["outlinks"] == page["backlinks"] == ["plan"]
    assert (in_process_cli.folder / "notes/area/Plan.md").is_file()


##= docs/spec/notes.md#vaults
##% An import MUST NOT replace a note, and it names the files that it did not import.
def test_files_that_cannot_be_imported_are_named_and_the_rest_is_imported(in_process_cli: InProcessCli) -> None:
    in_process_cli.run("notes", "import", vault(in_process_cli, "v.zip", {"a.md": "one"}))
    again = vault(in_process_cli, "w.zip", {"a.md": "two", "b.md": "three"})
    report = json.loads(in_process_cli.run("notes", "import", again, "--json", code=1).stdout)
    assert report == {
        "imported": ["notes/b.md"],
        "errors": [{"filename": "a.md", "error": "Its slug 'a' is already used by notes/a.md."}],
        "skipped": 0,
    }
    assert (in_process_cli.folder / "notes/a.md").read_text(encoding="utf-8") == "one"


def test_a_missing_vault_and_one_with_paths_outside_it_are_refused(in_process_cli: InProcessCli) -> None:
    hostile = vault(in_process_cli, "evil.zip", {"../../out.md": "x"})
    assert (
        in_process_cli.error_message("notes", "import", hostile, code=1)
        == "The vault has a path that leads outside of it."
    )
    assert "The vault does not exist." in in_process_cli.error_message("notes", "import", "nowhere", code=1)
    assert not (in_process_cli.folder / "notes").exists()


##= docs/spec/notes.md#vaults
##% The command `notes export` MUST write all notes as a zip file that can be imported again.
def test_an_export_is_a_vault_that_can_be_imported(in_process_cli: InProcessCli) -> None:
    in_process_cli.run(
        "notes", "import", vault(in_process_cli, "v.zip", {"Home.md": "[[Plan]]\n", "area/Plan.md": "x\n"})
    )
    assert in_process_cli.run("notes", "export", "out.zip").stdout == "Wrote out.zip\n"
    assert "exists already" in in_process_cli.error_message("notes", "export", "out.zip", code=2)
    in_process_cli.run("notes", "export", "out.zip", "--force", "--json")
    with zipfile.ZipFile(in_process_cli.folder / "out.zip") as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == {
            "Home.md": b"[[Plan]]\n",
            "area/Plan.md": b"x\n",
        }
    assert [path.name for path in in_process_cli.folder.glob(".*.tmp")] == []
    assert "only for notes export" in in_process_cli.error_message("notes", "import", "out.zip", "--force", code=2)
