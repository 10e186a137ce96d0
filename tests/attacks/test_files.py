"""Links, special files, and documents copied to or from forbidden locations."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from .target import CANARY, ENVIRONMENT_SECRET, ERAS, FULL, TRANSPORTS, AttackTarget, open_target

SWAPS, WRITES = (10_000, 30) if FULL else (2_000, 12)
RENAME_EXCHANGE = 2
HERE = -100  # AT_FDCWD: paths relative to the working directory
INSIDE_SECRET = "target-inside-secret-c03e"


def exchange(one: Path, other: Path) -> None:
    """Swap two directory entries atomically."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(HERE, os.fsencode(one), HERE, os.fsencode(other), RENAME_EXCHANGE) != 0:
        raise OSError(ctypes.get_errno(), "renameat2")


def lay_traps(root: Path) -> None:
    """Put links and special files, as in a hostile checkout, into every directory that is read."""
    outside = root.parent / "outside"
    for place in ("notes", "docs", "src", "docs/spec"):
        folder = root / place
        (folder / "linked.md").symlink_to(outside / "secret.md")
        (folder / "linked-relative.md").symlink_to(os.path.relpath(outside / "secret.md", folder))
        (folder / "linked-folder").symlink_to(outside)
        (folder / "chain-1.md").symlink_to("chain-2.md")
        (folder / "chain-2.md").symlink_to("chain-3.md")
        (folder / "chain-3.md").symlink_to(outside / "secret.md")
        (folder / "loop-1.md").symlink_to("loop-2.md")
        (folder / "loop-2.md").symlink_to("loop-1.md")
        (folder / "round").symlink_to(".")
        (folder / "zero.md").symlink_to("/dev/zero")
        (folder / "environ.md").symlink_to("/proc/self/environ")
        os.mkfifo(folder / "fifo.md")
        with socket.socket(socket.AF_UNIX) as listener, contextlib.chdir(folder):
            listener.bind("socket.md")
    (root / "src/linked.py").symlink_to(outside / "secret.md")
    (root / ".env").write_text(f"KEY={INSIDE_SECRET}\n", encoding="utf-8")
    (root / "private.md").hardlink_to(root.parent / "home" / ".ssh" / "id_rsa")
    (root.parent / "outside/twin.md").write_text("# Twin\n", encoding="utf-8")
    (root / "docs/hard.md").hardlink_to(root.parent / "outside/twin.md")
    (root / "contextive.config.json").write_text("{}", encoding="utf-8")
    (root / "recipes").mkdir()


@pytest.fixture(scope="module", params=TRANSPORTS)
def target(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackTarget]:
    """A server over the trapped project, whose root is itself reached through a link."""
    folder = tmp_path_factory.mktemp("target")
    (folder / "entrance").symlink_to("kb")
    with open_target(request.param, folder, prepare=lay_traps, cwd=folder / "entrance") as running:
        yield running


def test_ingest_neither_hangs_on_nor_reads_special_files_and_links(target: AttackTarget) -> None:
    shot = target.fire("km-ingest-trigger", {"use_dummy_embeddings": True}, timeout=30)
    assert shot.code is None, shot.text
    assert shot.result["artifact_count"] >= 6
    for query in (CANARY, ENVIRONMENT_SECRET, INSIDE_SECRET, "secret", "Outside"):
        found = target.fire("km-search", {"query": query})
        assert found.code is None
        for result in found.result["results"]:
            path = result["chunk"]["artifact_path"]
            assert not (target.root / path).is_symlink(), path
            assert query not in result["chunk"]["text"], path
    target.assert_unharmed(allowed_texts=[CANARY, ENVIRONMENT_SECRET])


READING = {
    "get_page": "slug",
    "get_connections": "slug",
    "search": "query",
    "km-graph-node": "node_id",
    "get_citation_context": "citation_id",
    "km-graph-search": "term",
}
LINKED = {
    "link-to-a-file": "linked",
    "relative-link": "linked-relative",
    "link-to-a-folder": "linked-folder/secret",
    "deep-in-a-linked-folder": "linked-folder/deep/secret",
    "chain-of-three": "chain-1",
    "loop": "loop-1",
    "round": "round/round/round/harbour",
    "fifo": "fifo",
    "socket": "socket",
    "zero": "zero",
    "environ": "environ",
}


@pytest.mark.parametrize("case", LINKED)
def test_nothing_is_read_through_a_link_or_from_a_special_file(target: AttackTarget, case: str) -> None:
    name = LINKED[case]
    for number, (tool, argument) in enumerate(READING.items()):
        for word in (name, f"notes/{name}", f"docs/{name}.md", f"Document:docs/{name}.md", f"src/{name}.md:1"):
            target.fire(tool, {argument: word}, era=ERAS[number % 2])
    for place in ("notes", "docs", "src"):
        # A link may lead into the project itself; nothing else may be copied.
        shot = target.fire("km-upload", {"source_path": f"{place}/{name}.md", "destination": f"docs/got-{place}.md"})
        assert shot.code in ("invalid_request", "forbidden", "not_found", "conflict"), shot.text
    target.assert_unharmed()


def test_no_list_or_report_contains_the_targets_of_links(target: AttackTarget) -> None:
    for tool in ("list_pages", "km-coverage-summary", "km-lifecycle-report", "list_uncited_requirements"):
        assert target.fire(tool).code is None
    for uri in ("duvet:///requirements", "duvet:///citations", "duvet:///specifications"):
        assert target.ask("resources/read", {"uri": uri}).code is None
    target.assert_unharmed(entries=4)


# -- documents -------------------------------------------------------------------------------------------------------

UPLOADS = {
    "private-key": "{folder}/home/.ssh/id_rsa",
    "private-key-by-tilde": "~/.ssh/id_rsa",
    "private-key-by-hard-link": "private.md",
    "anything-by-hard-link": "docs/hard.md",
    "environment-file": ".env",
    "environment-file-elsewhere": "{folder}/home/.env",
    "token-file": ".contextive/tokens.json",
    "token-key": "{folder}/home/.config/contextive/token.key",
    "server-configuration": "{folder}/home/server.json",
    "project-configuration": "contextive.config.json",
    "database": ".contextive/index.sqlite3",
    "database-by-link": "round/.contextive/index.sqlite3",
    "git-configuration": ".git/config",
    "process-environment": "/proc/self/environ",
}
DESTINATIONS = {
    "git-hook": ".git/hooks/pre-commit",
    "git-hook-with-an-ending": ".git/hooks/pre-commit.md",
    "editor-task": ".vscode/tasks.json",
    "workflow": ".github/workflows/x.yml",
    "agent-orders": "AGENTS.md",
    "agent-orders-in-a-folder": "docs/AGENTS.md",
    "agent-orders-other-case": "docs/Agents.MD",
    "agent-orders-fullwidth": "docs/\uff21GENTS.md",
    "agent-folder": ".claude/commands/x.md",
    "configuration": "contextive.config.json",
    "configuration-in-docs": "docs/contextive.config.yaml",
    "recipe": "recipes/x.yaml",
    "recipe-as-text": "recipes/x.md",
    "recipe-in-the-state": ".contextive/recipes/x.yaml",
    "database": ".contextive/index.sqlite3",
    "dots-behind-a-name": "x.md/../y.py",
    "program": "docs/x.py",
    "program-behind-a-text": "docs/x.md.sh",
    "page": "docs/x.html",
    "through-a-linked-folder": "docs/linked-folder/new.md",
    "over-a-link": "docs/linked.md",
    "over-a-dangling-chain": "docs/loop-1.md",
    "over-a-fifo": "docs/fifo.md",
    "file-as-a-folder": "docs/gauge.md/x.md",
}
REFUSED = ("invalid_request", "forbidden", "not_found", "conflict", "too_large")


@pytest.mark.parametrize("case", UPLOADS)
def test_an_upload_copies_no_secret_into_the_project(target: AttackTarget, case: str) -> None:
    source = UPLOADS[case].replace("{folder}", str(target.folder))
    for era in ERAS:
        for extra in ({}, {"destination": "docs/stolen.md", "overwrite": True}):
            shot = target.fire("km-upload", {"source_path": source, **extra}, era=era)
            assert shot.code in REFUSED, shot.text
    target.assert_unharmed(allowed_texts=[source])


@pytest.mark.parametrize("case", DESTINATIONS)
def test_a_document_cannot_be_stored_where_programs_or_agents_would_run_it(target: AttackTarget, case: str) -> None:
    for number, overwrite in enumerate((None, True)):
        extra = {} if overwrite is None else {"overwrite": overwrite}
        for tool, content in (("km-storetext", {"content": "evil"}), ("km-upload", {"source_path": "docs/gauge.md"})):
            arguments = {**content, "destination": DESTINATIONS[case], **extra}
            shot = target.fire(tool, arguments, era=ERAS[number])
            assert shot.code in REFUSED, shot.text
    target.assert_unharmed()


def test_an_existing_document_is_replaced_only_with_overwrite(target: AttackTarget) -> None:
    for era in ERAS:
        for tool, content in (("km-storetext", {"content": "evil"}), ("km-upload", {"source_path": "docs/gauge.md"})):
            shot = target.fire(tool, {**content, "destination": "docs/spec/levels.md"}, era=era)
            assert shot.code in ("conflict", "invalid_request"), shot.text
            assert "already" in shot.text
    target.assert_unharmed()


def test_replacing_a_hard_link_does_not_change_the_other_file(target: AttackTarget) -> None:
    for era in ERAS:
        shot = target.fire(
            "km-storetext", {"content": "new", "destination": "docs/hard.md", "overwrite": True}, era=era
        )
        assert shot.code is None, shot.text
    target.assert_unharmed(may_change=["docs/hard.md"])


def test_a_backup_is_written_inside_the_project_only(target: AttackTarget) -> None:
    wanted = (
        "../outside",
        str(target.folder / "outside"),
        "docs/linked-folder",
        "docs/linked-folder/x.tar.gz",
        "~/x",
        ".git",
    )
    for number, destination in enumerate(wanted):
        shot = target.fire("km-backup-trigger", {"destination": destination}, era=ERAS[number % 2])
        if shot.code is None:
            assert shot.result["archive"].startswith("backups/"), shot.text
        else:
            assert shot.code in REFUSED, shot.text
    target.assert_unharmed(allowed_texts=wanted)


def test_a_directory_swapped_for_a_link_between_check_and_open_leads_nowhere(target: AttackTarget) -> None:
    """A thread swaps a directory with a link to the outside while documents are written and read through it."""
    if sys.platform != "linux":
        pytest.skip("only Linux can swap two names atomically")
    swap, link = target.root / "docs/swap", target.root / "docs/swap-link"
    swap.mkdir()
    (swap / "note.md").write_text("# Inside\n", encoding="utf-8")
    link.symlink_to(target.folder / "outside")
    target.record_state()
    swaps, stop = 0, threading.Event()

    def swap_often() -> None:
        nonlocal swaps
        while swaps < SWAPS or not stop.is_set():
            exchange(swap, link)
            swaps += 1

    swapper = threading.Thread(target=swap_often)
    swapper.start()
    try:
        for number in range(WRITES):
            era = ERAS[number % 2]
            target.fire("km-storetext", {"content": "evil", "destination": f"docs/swap/s{number}.md"}, era=era)
            target.fire(
                "km-storetext", {"content": "x", "destination": "docs/swap/secret.md", "overwrite": True}, era=era
            )
            target.fire(
                "km-upload", {"source_path": "docs/swap/secret.md", "destination": f"docs/u{number}.md"}, era=era
            )
            if number % 6 == 0:
                target.fire("km-ingest-trigger", {}, era=era)
    finally:
        stop.set()
        swapper.join()
    codes = {shot.code for shot in target.shots}
    assert codes <= {None, "conflict", *REFUSED}, codes
    target.assert_unharmed(may_change=("docs/swap*", "docs/u*.md"))
    for copied in (target.root / "docs").glob("u*.md"):
        assert CANARY not in copied.read_text(encoding="utf-8")
    for query in ("Outside", "Deep", "secret"):
        target.fire("km-search", {"query": query})
    target.assert_unharmed()
