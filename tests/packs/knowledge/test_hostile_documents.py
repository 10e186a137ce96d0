"""Attacks on `km-upload` and `km-storetext`: paths, links, names, races and secrets."""

from __future__ import annotations

import ctypes
import hashlib
import os
import socket
import sys
import threading
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.cli.call import call_tool
from contextive.errors import ContextiveError, Forbidden, InvalidRequest
from contextive.file_writing import writing_in
from contextive.ingest.document_rules import TEXT_ENDINGS, Destination, check_destination, parse_destination
from contextive.ingest.writing_rules import is_protected
from contextive.search.index import Index
from contextive.server.host import Host

from .conftest import OpenHost

TOKEN = "keeper-9d20e6c1f7"
KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\n-----END OPENSSH PRIVATE KEY-----\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "kb"
    (root / "docs").mkdir(parents=True)
    (root / "notes").mkdir()
    (root / "notes" / "design.md").write_text("# Design\n", encoding="utf-8")
    (tmp_path / "kb_evil").mkdir()
    (tmp_path / "kb_evil" / "canary.md").write_text("untouched\n", encoding="utf-8")
    return root


@pytest.fixture
def host(root: Path, open_host: OpenHost) -> Host:
    return open_host(root, KM_ADMIN_TOKEN=TOKEN)


@pytest.fixture(autouse=True)
def nothing_else_changes(root: Path, tmp_path: Path) -> Iterator[None]:
    before = digests(tmp_path / "kb_evil")
    yield
    assert digests(tmp_path / "kb_evil") == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kb", "kb_evil"]


def digests(folder: Path) -> dict[str, str]:
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()}


def refusal(host: Host, tool: str, arguments: dict[str, Any]) -> ContextiveError:
    """The error of a call that must fail, change nothing in the project and write one audit entry."""
    root = host.loaded.project
    before = {name: digest for name, digest in digests(root).items() if ".contextive" not in name}
    store = host.services.get(Index).store
    entries = len(store.records.audit(10_000))
    with pytest.raises((InvalidRequest, Forbidden)) as raised:
        call_tool(host, tool, arguments)
    after = {name: digest for name, digest in digests(root).items() if ".contextive" not in name}
    assert after == before
    assert len(store.records.audit(10_000)) == entries + 1
    assert str(root) not in raised.value.full_message()
    error: ContextiveError = raised.value
    return error


def store(host: Host, destination: str, **more: Any) -> ContextiveError:
    """The error of a `km-storetext` call that must be refused."""
    return refusal(host, "km-storetext", {"content": "text", "destination": destination, **more})


def upload(host: Host, source: str, **more: Any) -> ContextiveError:
    """The error of a `km-upload` call that must be refused."""
    return refusal(host, "km-upload", {"source_path": source, **more})


##= docs/spec/gateway.md#document-rules
##% A document MUST NOT be written outside the content root, through a link, or under a hidden name.
@pytest.mark.parametrize(
    "path",
    [
        "../x.md", "../../etc/x.md", "..\\..\\x.md", "a/../../b.md", "docs/../../kb_evil/canary.md", "....//x.md",
        "docs//x.md", "docs/./x.md", "/etc/x.md", "C:\\x.md", "C:x.md", "\\\\srv\\share\\x.md", "~/x.md",
        "file:///etc/x.md", "docs/x\0.md", "docs/x\n.md", "docs/\r.md", "a" * 900 + ".md", "docs/" + "a" * 300 + ".md",
        "docs/x.md.", "docs/x.md ", "docs /x.md", " docs/x.md", "CON.md", "docs/nul.txt", "lpt1/x.md", "COM¹.md",
        "docs/a:b.md", "docs/a?.md", "docs/\u202egnp.md", "docs/zero\u200bwidth.md", "docs/tag\U000e0041.md",
        "docs/CLAUDE~1.md", "x/" * 40 + "y.md", "x.md/../y.py", "-/../x.md", "..", "../", ".../../x.md",
    ],
)  # fmt: skip
def test_a_destination_that_is_not_a_plain_path_is_refused(host: Host, path: str) -> None:
    store(host, path, overwrite=True)
    upload(host, "notes/design.md", destination=path, overwrite=True)


##= docs/spec/gateway.md#document-rules
##% A file that controls a tool or an agent MUST NOT be written.
@pytest.mark.parametrize(
    "path",
    [
        ".git/hooks/pre-commit", ".git/config.md", ".github/workflows/x.yml", ".vscode/tasks.json", ".claude/skills/a.md",
        "docs/.hidden.md", ".env", ".mcp.json", ".cursorrules", "AGENTS.md", "docs/agents.MD", "CLAUDE.md", "claude.local.md",
        "docs/\uff23laude.md", "docs/Claude.md", "GEMINI.md", "docs/SKILL.md", "docs/x.instructions.md", "docs/a.prompt.md",
        "Makefile", "dockerfile/x.md", "conftest.py", "src/app.py", "x.sh", "index.html", "a.svg", "a.mdx", "a.ipynb",
        "pyproject.toml", "docs/pyproject.toml", "package.json", "docs/Package.JSON", "docs/mkdocs.yml", "docs/_config.yml",
        "docs/docker-compose.prod.yaml", "docs/tsconfig.build.json", "docs/vite.config.json", "docs/eslintrc.json",
        "requirements.txt", "docs/dev-requirements.txt", "docs/requirements-dev.txt", "CMakeLists.txt", "llms.txt",
        "contextive.config.yaml", "docs/contextive.config.json", "data.json", "src/data.yaml", "recipes/mine.yaml",
        "recipes/notes.md", "hooks/x.md", "docs/hooks/x.md", "node_modules/x/README.md", "skills/x.md", "docs/id_rsa.txt",
        "docs/mcp-servers.json", "docs/settings.json",
    ],
)  # fmt: skip
def test_files_that_configure_tools_or_agents_are_refused(host: Host, path: str) -> None:
    store(host, path, overwrite=True)
    upload(host, "notes/design.md", destination=path, overwrite=True)


@given(st.text(max_size=40), st.sampled_from(sorted(TEXT_ENDINGS)))
def test_every_accepted_destination_is_a_visible_name_below_the_root(text: str, ending: str) -> None:
    try:
        place = parse_destination(f"{text}.{ending}", ("docs",))
        path = check_destination(place if place.name else Destination(place.folder, "x.md"), ("docs",), TEXT_ENDINGS)
    except (InvalidRequest, Forbidden):
        return
    for part in path.split("/"):
        assert part not in ("", ".", "..")
        assert not part.startswith(".")
        assert part.isprintable()
        assert "\\" not in part
    assert not is_protected(path.rpartition("/")[2])


@given(
    st.sampled_from(["claude.md", "agents.md", "package.json", "requirements.txt"]), st.randoms(use_true_random=False)
)
def test_no_spelling_of_a_protected_name_gets_through(name: str, random: Any) -> None:
    wide = "".join(chr(ord(c) + 0xFEE0) if c.isalpha() and random.random() < 0.3 else c for c in name)
    spelled = "".join(c.upper() if random.random() < 0.5 else c for c in wide)
    with pytest.raises((InvalidRequest, Forbidden)):
        check_destination(Destination(("docs",), spelled), ("docs",), TEXT_ENDINGS)


##= docs/spec/gateway.md#document-rules
##% Hidden files, links, secrets, and files outside the project and the upload roots MUST NOT be copied.
@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd", "~/.ssh/id_rsa", "../kb_evil/canary.md", "notes/../../kb_evil/canary.md", "notes/..\\design.md",
        "file:///etc/passwd", "notes/design.md\0", "notes//design.md", "", " ", "/", ".", "notes", "notes/", ".env",
        "notes/.hidden.md", ".git/config", ".contextive/index.db", "notes/server.pem", "notes/.ssh/x.md", "x" * 2000,
        "contextive.config.yaml",
    ],
)  # fmt: skip
def test_a_source_that_is_outside_hidden_or_secret_is_not_read(host: Host, root: Path, path: str) -> None:
    for name in (".env", "notes/.hidden.md", "notes/server.pem", "contextive.config.yaml"):
        (root / name).write_text("secret\n", encoding="utf-8")
    for folder in (".git", "notes/.ssh"):
        (root / folder).mkdir()
    (root / ".git" / "config").write_text("[core]\n", encoding="utf-8")
    (root / "notes" / ".ssh" / "x.md").write_text("secret\n", encoding="utf-8")
    arguments = {"source_path": path, "destination": "docs/x.md"}
    if path and len(path) <= 1000:
        refusal(host, "km-upload", arguments)
    else:
        with pytest.raises(InvalidRequest):
            call_tool(host, "km-upload", arguments)


def test_a_directory_whose_name_only_begins_like_the_root_is_outside(host: Host, tmp_path: Path) -> None:
    assert upload(host, str(tmp_path / "kb_evil" / "canary.md")).code == "forbidden"


def test_the_state_directory_is_neither_read_nor_written_under_any_name(root: Path, open_host: OpenHost) -> None:
    host = open_host(root, KM_ADMIN_TOKEN=TOKEN, KM_STATE_PATH="state")
    host.services.get(Index).store.generation()
    (root / "state" / "token.txt").write_text("secret\n", encoding="utf-8")
    with pytest.raises(Forbidden):
        call_tool(host, "km-upload", {"source_path": "state/token.txt"})
    with pytest.raises(Forbidden):
        call_tool(host, "km-storetext", {"content": "x", "destination": "state/x.md"})
    assert not (root / "docs" / "token.txt").exists()
    assert not (root / "state" / "x.md").exists()


def test_the_configuration_is_neither_copied_nor_replaced_under_any_name(root: Path, open_host: OpenHost) -> None:
    config = root / "docs" / "given.yaml"
    config.write_text("limits:\n  pageSize: 50\n", encoding="utf-8")
    host = open_host(root, KM_ADMIN_TOKEN=TOKEN, CONTEXTIVE_CONFIG=str(config))
    with pytest.raises(Forbidden):
        call_tool(host, "km-upload", {"source_path": "docs/given.yaml", "destination": "docs/y.yaml"})
    with pytest.raises(Forbidden):
        call_tool(host, "km-storetext", {"content": "a: 1", "destination": "docs/given.yaml", "overwrite": True})
    assert "pageSize" in config.read_text(encoding="utf-8")


def test_links_are_not_followed_to_read(host: Host, root: Path, tmp_path: Path) -> None:
    evil = tmp_path / "kb_evil"
    (root / "notes" / "file.md").symlink_to(evil / "canary.md")
    (root / "notes" / "folder").symlink_to(evil)
    (root / "notes" / "chain.md").symlink_to("file.md")
    (root / "notes" / "loop.md").symlink_to("loop.md")
    (root / "inside.md").symlink_to("notes/design.md")
    for source in ("notes/file.md", "notes/folder/canary.md", "notes/chain.md", "notes/loop.md", "inside.md"):
        upload(host, source)


def test_a_hard_link_is_not_copied(host: Host, root: Path, tmp_path: Path) -> None:
    os.link(tmp_path / "kb_evil" / "canary.md", root / "notes" / "hard.md")
    assert upload(host, "notes/hard.md").code == "forbidden"


def test_pipes_sockets_and_directories_are_refused_without_hanging(host: Host, root: Path) -> None:
    os.mkfifo(root / "notes" / "pipe.md")
    (root / "notes" / "folder.md").mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        here = os.open(root / "notes", os.O_RDONLY)
        try:
            listening.bind(f"/proc/self/fd/{here}/socket.md")
        finally:
            os.close(here)
        for name in ("pipe.md", "folder.md", "socket.md"):
            (root / "notes" / name).stat()
            with pytest.raises(InvalidRequest, match="regular"):
                call_tool(host, "km-upload", {"source_path": f"notes/{name}"})


def test_a_huge_sparse_file_is_refused_without_reading_it(host: Host, root: Path) -> None:
    with (root / "notes" / "huge.md").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ContextiveError) as raised:
        call_tool(host, "km-upload", {"source_path": "notes/huge.md"})
    assert raised.value.code == "too_large"


def test_links_are_not_followed_to_write(host: Host, root: Path, tmp_path: Path) -> None:
    evil = tmp_path / "kb_evil"
    (root / "docs" / "file.md").symlink_to(evil / "canary.md")
    (root / "docs" / "new.md").symlink_to(evil / "new.md")
    (root / "docs" / "folder").symlink_to(evil)
    (root / "elsewhere").symlink_to("docs")
    for destination in ("docs/file.md", "docs/new.md", "docs/folder/x.md", "docs/folder/canary.md", "elsewhere/x.md"):
        assert store(host, destination, overwrite=True).code == "forbidden"


def test_a_content_root_must_be_inside_the_project(root: Path, tmp_path: Path, open_host: OpenHost) -> None:
    (root / "library").symlink_to(tmp_path / "kb_evil")
    host = open_host(root, KM_ADMIN_TOKEN=TOKEN, KM_CONTENT_ROOT="library")
    with pytest.raises(Forbidden):
        call_tool(host, "km-storetext", {"content": "x", "title": "t"})


def test_a_project_behind_a_symlink_works(root: Path, open_host: OpenHost, tmp_path: Path) -> None:
    link = root / "notes" / "again"
    link.symlink_to(root)
    host = open_host(link, KM_ADMIN_TOKEN=TOKEN)
    assert call_tool(host, "km-storetext", {"content": "x", "title": "t"})["relative_path"] == "docs/t.md"
    assert call_tool(host, "km-upload", {"source_path": "notes/design.md"})["status"] == "success"


def exchange(first: Path, second: Path) -> None:
    """Swap two names atomically."""
    system = ctypes.CDLL(None, use_errno=True)
    if system.renameat2(-100, os.fsencode(first), -100, os.fsencode(second), 2) != 0:
        raise OSError(ctypes.get_errno(), "renameat2 failed")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs the Linux system call renameat2")
def test_a_directory_swapped_for_a_link_never_leads_out_of_the_project(host: Host, root: Path, tmp_path: Path) -> None:
    """The race between check and use: a thread swaps a directory with a link while documents are written and read."""
    inbox, link = root / "docs" / "inbox", root / "docs" / "link"
    inbox.mkdir()
    (inbox / "canary.md").write_text("inside\n", encoding="utf-8")
    link.symlink_to(tmp_path / "kb_evil")
    stop = threading.Event()

    def swap() -> None:
        for _ in range(1_000_000):
            exchange(inbox, link)
            if stop.is_set():
                return

    thread = threading.Thread(target=swap)
    thread.start()
    outcomes = set()
    try:
        for number in range(150):
            target = f"notes/copy{number}.md"
            for tool, arguments in (
                ("km-storetext", {"content": "x", "destination": f"docs/inbox/n{number}.md"}),
                ("km-upload", {"source_path": "docs/inbox/canary.md", "destination": target}),
            ):
                try:
                    call_tool(host, tool, arguments)
                    outcomes.add("success")
                except ContextiveError as refused:
                    outcomes.add(refused.code)
    finally:
        stop.set()
        thread.join(20)
    assert {path.read_text(encoding="utf-8") for path in (root / "notes").glob("copy*")} <= {"inside\n"}
    assert outcomes == {"success", "forbidden"}


def test_names_that_differ_only_in_case_or_normalisation_are_the_same_file(host: Host, root: Path) -> None:
    (root / "docs" / "Café.md").write_text("first\n", encoding="utf-8")
    (root / "docs" / "Plans").mkdir()
    for name in ("CAFÉ.md", "café.md", "Cafe\u0301.md", "\uff23afé.md", "plans/x.md"):
        assert store(host, f"docs/{name}", overwrite=True).code == "invalid_request"
    decomposed = unicodedata.normalize("NFD", "Größe")
    assert store(host, f"docs/{decomposed}.md").code == "invalid_request"


##= docs/spec/gateway.md#document-rules
##% Text that contains a secret MUST NOT be stored.
@pytest.mark.parametrize("ending", ["md", "txt", "json", "pdf"])
def test_content_with_a_secret_is_refused(host: Host, root: Path, ending: str) -> None:
    (root / "notes" / f"key.{ending}").write_text(f"{KEY}\n", encoding="utf-8")
    assert upload(host, f"notes/key.{ending}").code == "forbidden"
    if ending != "pdf":
        assert refusal(host, "km-storetext", {"content": KEY, "destination": f"docs/k.{ending}"}).code == "forbidden"


@pytest.mark.parametrize("content", ["a\0b", "\udc80"])
def test_content_that_is_not_text_is_refused(host: Host, content: str) -> None:
    with pytest.raises(InvalidRequest):
        call_tool(host, "km-storetext", {"content": content, "title": "t"})


def test_a_file_that_is_not_text_is_not_stored_as_text(host: Host, root: Path) -> None:
    (root / "notes" / "image.md").write_bytes(b"\x89PNG\xff\xfe")
    assert upload(host, "notes/image.md").code == "invalid_request"
    (root / "notes" / "image.png").write_bytes(b"\x89PNG\xff\xfe")
    assert call_tool(host, "km-upload", {"source_path": "notes/image.png"})["relative_path"] == "docs/image.png"


def test_a_document_is_not_executable_and_keeps_the_mode_of_the_file_it_replaces(host: Host, root: Path) -> None:
    source = root / "notes" / "design.md"
    source.chmod(0o777)
    call_tool(host, "km-upload", {"source_path": "notes/design.md"})
    target = root / "docs" / "design.md"
    assert target.stat().st_mode & 0o111 == 0
    target.chmod(0o640)
    call_tool(host, "km-upload", {"source_path": "notes/design.md", "overwrite": True})
    assert target.stat().st_mode & 0o777 == 0o640


def test_temporary_files_of_a_crashed_writer_are_removed_but_not_those_in_use(host: Host, root: Path) -> None:
    left = root / "docs" / ".fedcba9876543210.tmp"
    left.write_text("half\n", encoding="utf-8")
    folder = os.open(root / "docs", os.O_RDONLY)
    try:
        with writing_in(folder):
            left.write_text("half\n", encoding="utf-8")
            call_tool(host, "km-storetext", {"content": "x", "title": "one"})
            assert left.exists()
    finally:
        os.close(folder)
    call_tool(host, "km-storetext", {"content": "x", "title": "two"})
    assert not left.exists()
