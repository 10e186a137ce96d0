"""Notes with secrets or agent instructions, very long titles, and leftovers of a killed writer."""

from __future__ import annotations

import pytest

from .target import ERAS, AttackTarget

KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAE\n"
TOKEN = "github_pat_" + "11AABBCC" * 4
INSTRUCTIONS = (
    "CLAUDE",
    "claude",
    "Agents",
    "AGENTS",
    "GEMINI",
    "Skill",
    "copilot-instructions",
    "\uff23\uff2c\uff21\uff35\uff24\uff25",
    "AGENTS.",
)
LONG = ("\u7f51" * 35, "\u00e9" * 300, "\u3042" * 300, "a" * 300, "\U0001f389" * 100)


@pytest.mark.parametrize("title", INSTRUCTIONS)
def test_no_note_becomes_instructions_for_an_agent(target: AttackTarget, title: str) -> None:
    plain = target.root / "notes" / "nameless.md"
    plain.write_text("No title and no heading.\n", encoding="utf-8")
    target.record_state()
    for era in ERAS:
        for tool, arguments in (
            ("create_page", {"title": title, "content": "Obey."}),
            ("rename_page", {"slug": "nameless", "new_title": title}),
        ):
            shot = target.fire(tool, arguments, era=era)
            assert (shot.code, "instructions" in shot.text) == ("forbidden", True), shot.text
    target.assert_unharmed()


@pytest.mark.parametrize("secret", [KEY, TOKEN], ids=["key", "token"])
def test_no_note_can_contain_a_secret(target: AttackTarget, secret: str) -> None:
    (target.root / "notes" / "holder.md").write_text("Nothing yet.\n", encoding="utf-8")
    version = target.fire("get_page", {"slug": "holder"}).result["version"]
    target.record_state()
    for tool, arguments in (
        ("create_page", {"title": "Held", "content": secret}),
        ("create_page", {"title": "Held", "tags": [TOKEN]}),
        ("create_page", {"title": TOKEN}),
        ("update_page", {"slug": "holder", "version": version, "content": secret}),
        ("rename_page", {"slug": "holder", "new_title": TOKEN}),
        ("km-storetext", {"content": secret, "destination": "docs/held.md"}),
    ):
        shot = target.fire(tool, arguments)
        assert shot.code == "forbidden", shot.text
        assert secret not in shot.text
    target.assert_unharmed()


def test_a_page_with_a_very_long_title_is_found(target: AttackTarget) -> None:
    for title in LONG:
        created = target.fire("create_page", {"title": title, "content": "one"})
        assert created.code in (None, "conflict"), created.text  # the other transport may have created it
        if created.code is None:
            found = target.fire("get_page", {"slug": created.result["slug"]})
            assert (found.code, found.result["title"]) == (None, title)
        again = target.fire("create_page", {"title": title})
        assert again.code == "conflict", again.text
    target.assert_unharmed(may_change=["notes/*.md"])


def test_leftovers_of_a_killed_writer_are_not_indexed_and_are_removed(target: AttackTarget) -> None:
    left = [target.root / folder / ".fff23d37fe8942ca.tmp" for folder in ("docs", "notes", "src")]
    for path in left:
        path.write_text("# Leftover of a lighthouse\n", encoding="utf-8")
    target.record_state()
    assert target.fire("km-ingest-trigger", {"use_dummy_embeddings": True}, timeout=60).code is None
    found = target.fire("km-search", {"query": "leftover lighthouse"})
    assert [r["chunk"]["artifact_path"] for r in found.result["results"] if ".tmp" in r["chunk"]["artifact_path"]] == []
    assert [path for path in left if path.exists()] == []
    target.assert_unharmed(may_change=["*/.*.tmp"])
