from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import pytest

from contextive.errors import ProjectMissing
from contextive.workspace.discovery import DiscoveredFiles, discover
from contextive.workspace.files import Fingerprint
from tests.workspace.repositories import commit, git, init, write


def paths(found: DiscoveredFiles) -> list[str]:
    return [file.path for file in found.files]


##= docs/spec/knowledge.md#indexed-files
##% Every text file of the project MUST be indexed, unless there is a reason to leave it out.
def test_files_are_sorted_by_path_and_have_fingerprints(tmp_path: Path) -> None:
    write(tmp_path, {"b.py": "x", "a/z.md": "y", "a/b/c.txt": "z"})
    found = discover(tmp_path)
    assert paths(found) == ["a/b/c.txt", "a/z.md", "b.py"]
    assert found.files[2].fingerprint == Fingerprint.of((tmp_path / "b.py").stat())
    assert found.skipped == {}


def test_an_empty_project_has_no_files_and_a_missing_one_is_an_error(tmp_path: Path) -> None:
    assert discover(tmp_path).files == []
    with pytest.raises(ProjectMissing):
        discover(tmp_path / "nowhere")


def test_dot_directories_are_skipped_and_dot_files_are_found(tmp_path: Path) -> None:
    write(tmp_path, {".github/workflows/a.yml": "", ".github/b.md": "", "x/.cache/c": "", ".editorconfig": ""})
    found = discover(tmp_path)
    assert paths(found) == [".editorconfig"]
    assert found.skipped == {"dot_directory": 2}
    assert found.examples == {"dot_directory": [".github", "x/.cache"]}


##= docs/spec/knowledge.md#indexed-files
##% Specification texts stored below `.duvet/specifications` MUST be indexed like any other file.
def test_only_stored_specifications_are_found_in_the_duvet_directory(tmp_path: Path) -> None:
    stored = ".duvet/specifications/spec.example/pot.txt"
    write(
        tmp_path,
        {
            stored: "",
            ".duvet/specifications/.hidden/x.txt": "",
            ".duvet/config.toml": "",
            ".duvet/requirements/spec.example/pot/brewing.toml": "",
            "x/.duvet/specifications/y.txt": "",
        },
    )
    assert paths(discover(tmp_path)) == [stored]
    assert paths(discover(tmp_path, exclude=[".duvet"])) == []
    write(tmp_path, {".gitignore": ".duvet/specifications/\n"})
    assert paths(discover(tmp_path)) == [".gitignore"]


def test_dependencies_and_caches_are_left_out_even_if_git_does_not_ignore_them(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "node_modules/a/index.js": "",
            "src/__pycache__/a.txt": "",
            "env/pyvenv.cfg": "",
            "env/lib/a.py": "",
            "target/CACHEDIR.TAG": "",
            "target/debug/a.rs": "",
            "build/kept.py": "",
        },
    )
    found = discover(tmp_path)
    assert paths(found) == ["build/kept.py"]
    assert found.skipped == {"generated_directory": 4}


def test_the_state_directory_is_never_indexed(tmp_path: Path) -> None:
    write(tmp_path, {"var/state/index.txt": "", "var/a.txt": ""})
    found = discover(tmp_path, state_directory=tmp_path / "var" / "state")
    assert paths(found) == ["var/a.txt"]
    assert found.skipped == {"state_directory": 1}


##= docs/spec/knowledge.md#indexed-files
##% Files that git or `.contextiveignore` ignores MUST NOT be indexed.
def test_contextiveignore_takes_precedence_over_gitignore(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            ".gitignore": "*.gen\nout/\n",
            ".contextiveignore": "!api.gen\nprivate/\n",
            "a.gen": "",
            "api.gen": "",
            "private/a.md": "",
            "out/a.md": "",
            "docs/.contextiveignore": "draft*\n",
            "docs/draft.md": "",
            "docs/a.md": "",
        },
    )
    found = discover(tmp_path, exclude=[".*ignore"])
    assert paths(found) == ["api.gen", "docs/a.md"]
    assert found.skipped == {"ignored": 4, "excluded": 3}


def test_include_and_exclude_patterns_select_files(tmp_path: Path) -> None:
    write(tmp_path, {"docs/a.md": "", "docs/deep/b.md": "", "src/c.py": "", "src/gen/d.py": "", "e.md": ""})
    assert paths(discover(tmp_path, include=["docs/"])) == ["docs/a.md", "docs/deep/b.md"]
    assert paths(discover(tmp_path, include=["*.py", "/e.md"])) == ["e.md", "src/c.py", "src/gen/d.py"]
    assert paths(discover(tmp_path, include=["src/**"], exclude=["gen/"])) == ["src/c.py"]
    assert discover(tmp_path, include=["docs/"]).skipped == {"not_included": 3}
    assert discover(tmp_path, exclude=["docs"]).skipped == {"excluded": 1}


##= docs/spec/knowledge.md#indexed-files
##% A file whose name or content shows that it holds a secret MUST NOT be indexed.
##= docs/spec/knowledge.md#indexed-files
##% A file larger than `knowledge.maxFileBytes`, or one that is not text, MUST be left out.
def test_secrets_images_binaries_and_large_files_are_left_out_with_a_reason(tmp_path: Path) -> None:
    write(tmp_path, {".env": "", ".env.example": "", "server.pem": "", "a.png": "", "b.zip": "", "big.txt": "x" * 101})
    found = discover(tmp_path, max_bytes=100)
    assert paths(found) == [".env.example"]
    assert found.skipped == {"secret": 2, "image": 1, "binary": 1, "too_large": 1}


##= docs/spec/knowledge.md#indexed-files
##% Indexing MUST NOT follow links or wait for pipes or devices.
def test_links_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    root = tmp_path / "root"
    write(outside, {"secret.txt": "s"})
    write(root, {"a/b.txt": "b"})
    (root / "file").symlink_to(outside / "secret.txt")
    (root / "folder").symlink_to(outside)
    (root / "a" / "loop").symlink_to(root)
    (root / "self").symlink_to("self")
    found = discover(root)
    assert paths(found) == ["a/b.txt"]
    assert found.skipped == {"symlink": 4}


def test_a_root_that_is_a_link_is_followed(tmp_path: Path) -> None:
    write(tmp_path / "real", {"a.txt": ""})
    (tmp_path / "link").symlink_to("real")
    assert paths(discover(tmp_path / "link")) == ["a.txt"]


def test_pipes_and_sockets_are_left_out_without_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        assert discover(tmp_path).skipped == {"special": 2}


def test_unprintable_names_are_left_out_and_escaped_in_examples(tmp_path: Path) -> None:
    for name in [b"new\nline.txt", b"bell\x07.txt", b"\xff.txt", "turn\u202eed.txt".encode(), b"dir\n/x"]:
        target = tmp_path / os.fsdecode(name)
        target.parent.mkdir(exist_ok=True)
        target.touch()
    write(tmp_path, {"grüße 👩‍💻.md": ""})
    found = discover(tmp_path)
    assert paths(found) == ["grüße 👩‍💻.md"]
    assert found.skipped == {"bad_name": 5}
    assert "new\\nline.txt" in found.examples["bad_name"]
    assert all(text.isprintable() for text in found.examples["bad_name"])


def test_the_number_of_examples_is_limited(tmp_path: Path) -> None:
    write(tmp_path, {f"{number}.png": "" for number in range(30)})
    found = discover(tmp_path)
    assert found.skipped == {"image": 30}
    assert len(found.examples["image"]) == 5


def test_deep_directories_are_walked(tmp_path: Path) -> None:
    folder = tmp_path
    for _ in range(400):
        folder = folder / "d"
        folder.mkdir()
    (folder / "deep.txt").write_text("x", encoding="utf-8")
    assert paths(discover(tmp_path)) == ["d/" * 400 + "deep.txt"]


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser can read everything")
def test_a_directory_that_cannot_be_read_is_counted(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0)
    assert discover(tmp_path).skipped == {"unreadable": 1}


def test_ignore_rules_of_the_enclosing_repository_apply(tmp_path: Path) -> None:
    repository = init(tmp_path / "repository")
    write(
        repository,
        {
            ".gitignore": "*.log\n/project/gen/\n",
            "project/.gitignore": "!kept.log\n",
            "project/a.log": "",
            "project/kept.log": "",
            "project/gen/x.py": "",
            "project/deep/gen/y.py": "",
        },
    )
    (repository / ".git/info/exclude").write_text("hidden\n", encoding="utf-8")
    write(repository, {"project/hidden/z": ""})
    assert paths(discover(repository / "project")) == [".gitignore", "deep/gen/y.py", "kept.log"]


def test_rules_of_a_repository_that_ignores_the_project_do_not_apply(tmp_path: Path) -> None:
    repository = init(tmp_path / "home")
    write(repository, {".gitignore": "*\n", "project/a.py": ""})
    assert paths(discover(repository / "project")) == ["a.py"]


def test_a_worktree_shares_the_excludes_of_its_repository(tmp_path: Path) -> None:
    repository = init(tmp_path / "repository")
    commit(repository, {"a.txt": ""}, 1)
    (repository / ".git/info/exclude").write_text("local\n", encoding="utf-8")
    git(repository, "worktree", "add", "-q", str(tmp_path / "tree"))
    write(tmp_path / "tree", {"local": ""})
    assert paths(discover(tmp_path / "tree")) == ["a.txt"]
    assert discover(tmp_path / "tree").skipped == {"ignored": 1, "dot_directory": 1}


def test_a_linked_ignore_file_is_not_read(tmp_path: Path) -> None:
    write(tmp_path / "root", {"a.txt": ""})
    write(tmp_path, {"rules": "a.txt\n"})
    (tmp_path / "root" / ".gitignore").symlink_to(tmp_path / "rules")
    assert paths(discover(tmp_path / "root")) == ["a.txt"]


def test_twenty_thousand_files_are_found_in_under_a_second(tmp_path: Path) -> None:
    for number in range(200):
        folder = tmp_path / f"package{number % 10}" / f"module{number}"
        folder.mkdir(parents=True)
        for index in range(100):
            os.close(os.open(folder / f"file_{index}.py", os.O_CREAT))
    rules = "\n".join(["*.pyc", "/build", "dist/", "[Bb]in/", "doc/**/tmp", "foo*bar", "!keep"] * 5)
    write(tmp_path, {".gitignore": rules})
    durations = []
    for _ in range(3):
        start = time.process_time()
        found = discover(tmp_path)
        durations.append(time.process_time() - start)
    assert len(found.files) == 20_001
    assert min(durations) < 1
