"""`notes import | export`: vaults come in and go out, and nothing is overwritten."""

from __future__ import annotations

import json
import zipfile

from tests.cli.conftest import Desk


def vault(desk: Desk, name: str, files: dict[str, str]) -> str:
    with zipfile.ZipFile(desk.folder.parent / name, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return str(desk.folder.parent / name)


##= docs/spec/notes.md#vaults
##% The command `notes import` MUST take over the Markdown files of a directory or a zip file with their folders and
##% texts.
def test_a_vault_comes_in_with_folders_aliases_embeds_and_heading_links(desk: Desk) -> None:
    text = "---\naliases: [Start]\n---\nSee [[Plan#Goals|the goals]] and ![[Plan]].\n"
    given = vault(desk, "v.zip", {"Home.md": text, "area/Plan.md": "Back to [[Start]].\n", "pic.png": "x"})
    assert desk.run("notes", "import", given).stdout == "2 notes imported, 1 other files skipped\n"
    page = json.loads(desk.run("call", "get_page", "--slug", "home").stdout)
    assert page["outlinks"] == page["backlinks"] == ["plan"]
    assert (desk.folder / "notes/area/Plan.md").is_file()


##= docs/spec/notes.md#vaults
##% An import MUST NOT replace a note, and names what it did not take over.
def test_what_cannot_be_taken_over_is_named_and_the_rest_comes_in(desk: Desk) -> None:
    desk.run("notes", "import", vault(desk, "v.zip", {"a.md": "one"}))
    again = vault(desk, "w.zip", {"a.md": "two", "b.md": "three"})
    report = json.loads(desk.run("notes", "import", again, "--json", code=1).stdout)
    assert report == {
        "imported": ["notes/b.md"],
        "errors": [{"filename": "a.md", "error": "Its slug 'a' is that of notes/a.md."}],
        "skipped": 0,
    }
    assert (desk.folder / "notes/a.md").read_text(encoding="utf-8") == "one"


def test_a_vault_that_reaches_outside_or_is_none_is_refused(desk: Desk) -> None:
    hostile = vault(desk, "evil.zip", {"../../out.md": "x"})
    assert desk.complaint("notes", "import", hostile, code=1) == "The vault holds a name that leads outside of it."
    assert "There is no such vault." in desk.complaint("notes", "import", "nowhere", code=1)
    assert not (desk.folder / "notes").exists()


##= docs/spec/notes.md#vaults
##% The command `notes export` MUST write all notes as a zip file that can be imported again.
def test_an_export_is_a_vault_that_comes_in_again(desk: Desk) -> None:
    desk.run("notes", "import", vault(desk, "v.zip", {"Home.md": "[[Plan]]\n", "area/Plan.md": "x\n"}))
    assert desk.run("notes", "export", "out.zip").stdout == "Wrote out.zip\n"
    assert "exists already" in desk.complaint("notes", "export", "out.zip", code=2)
    desk.run("notes", "export", "out.zip", "--force", "--json")
    with zipfile.ZipFile(desk.folder / "out.zip") as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == {
            "Home.md": b"[[Plan]]\n",
            "area/Plan.md": b"x\n",
        }
    assert [path.name for path in desk.folder.glob(".*.tmp")] == []
    assert "belongs to notes export" in desk.complaint("notes", "import", "out.zip", "--force", code=2)
