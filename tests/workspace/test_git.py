from __future__ import annotations

import os
import random
import stat
from pathlib import Path

import pytest

from contextive.workspace.git import FileCommit, Hunk, changed_lines, git_head, git_history
from tests.workspace.repositories import commit, git, init, write


##= docs/spec/knowledge.md#file-metadata
##% The time of a file MUST be the time of the last commit that changed it.
def test_each_file_has_the_last_commit_that_touched_it(tmp_path: Path) -> None:
    root = init(tmp_path)
    first = commit(root, {"a.txt": "1", "deep/grüße b.txt": "1"}, 1000)
    second = commit(root, {"a.txt": "2"}, 2000)
    write(root, {"new.txt": ""})
    history = git_history(root)
    assert history is not None
    assert history.head == second == git_head(root)
    assert history.last_commit("a.txt") == FileCommit(second, 2000.0)
    assert history.last_commit("deep/grüße b.txt") == FileCommit(first, 1000.0)
    assert history.last_commit("new.txt") is None
    assert history.is_full
    assert history.is_complete


def test_the_lines_changed_between_two_commits_are_numbered_as_in_the_later_one(tmp_path: Path) -> None:
    root = init(tmp_path)
    first = commit(root, {"a.py": "1\n2\n3\n4\n5\n", "b.py": "x\n", "grüße.py": "f()\n", "new": ""}, 1000)
    last = commit(
        root, {"a.py": "1\n++ b/b.py\n2\n3\n5\n", "b.py": "  x\n\n", "grüße.py": "f()\ng()\n", "c": "c\n"}, 2000
    )
    assert changed_lines(root, first, last, ["a.py", "b.py", "grüße.py"]) == {
        "a.py": (Hunk(2, 2, "", "++ b/b.py"), Hunk(4, 5, "4", "")),
        "grüße.py": (Hunk(2, 2, "", "g()"),),
    }
    assert changed_lines(root, first, last, ["c", "gone"]) == {"c": (Hunk(1, 1, "", "c"),)}
    assert changed_lines(root, last, last, ["a.py"]) == {}


def test_without_the_commits_there_are_no_changed_lines(tmp_path: Path) -> None:
    root = init(tmp_path)
    head = commit(root, {"a": "1"}, 1000)
    assert changed_lines(root, "0" * 40, head, ["a"]) is None
    assert changed_lines(root, "--output=x", head, ["a"]) is None
    assert changed_lines(tmp_path / "nowhere", head, head, ["a"]) is None


def test_only_the_wanted_files_are_returned(tmp_path: Path) -> None:
    root = init(tmp_path)
    commit(root, {"a": "1", "b": "1"}, 1000)
    history = git_history(root, ["a", "gone"])
    assert history is not None
    assert set(history.commits) == {"a"}
    assert history.is_complete


def test_without_a_repository_or_a_commit_there_is_no_history(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    assert git_head(tmp_path / "plain") is None
    assert git_history(tmp_path / "plain") is None
    unborn = init(tmp_path / "unborn")
    assert git_head(unborn) is None
    assert git_history(unborn) is None
    assert git_history(tmp_path / "nowhere") is None


def test_without_git_there_is_no_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = init(tmp_path)
    commit(root, {"a": "1"}, 1000)
    monkeypatch.setenv("PATH", "")
    assert git_history(root) is None
    assert git_head(root) is None


def test_a_project_in_a_subdirectory_of_a_repository_sees_its_own_files(tmp_path: Path) -> None:
    root = init(tmp_path)
    inner = commit(root, {"project/a.py": "1", "other/b.py": "1"}, 1000)
    head = commit(root, {"other/b.py": "2"}, 2000)
    history = git_history(root / "project")
    assert history is not None
    assert history.head == head
    assert history.tracked == {"a.py"}
    assert history.commits == {"a.py": FileCommit(inner, 1000.0)}


def test_a_shallow_clone_uses_its_oldest_commit(tmp_path: Path) -> None:
    root = init(tmp_path / "origin")
    commit(root, {"a": "1", "b": "1"}, 1000)
    head = commit(root, {"a": "2"}, 2000)
    git(tmp_path, "clone", "-q", "--depth", "1", root.as_uri(), "clone")
    history = git_history(tmp_path / "clone")
    assert history is not None
    assert history.commits == {"a": FileCommit(head, 2000.0), "b": FileCommit(head, 2000.0)}


def test_worktrees_and_submodules_have_their_own_history(tmp_path: Path) -> None:
    module = init(tmp_path / "module")
    inner = commit(module, {"m.txt": "1"}, 500)
    root = init(tmp_path / "root")
    first = commit(root, {"a": "1"}, 1000)
    git(root, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "other")
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", module.as_uri(), "sub")
    tree, sub = git_history(tmp_path / "tree"), git_history(root / "sub")
    assert tree is not None
    assert tree.commits == {"a": FileCommit(first, 1000.0)}
    assert sub is not None
    assert sub.commits == {"m.txt": FileCommit(inner, 500.0)}
    commit(root, {}, 2000)
    whole = git_history(root)
    assert whole is not None
    assert whole.tracked == {"a", ".gitmodules"}
    assert whole.is_complete


def test_only_commits_since_an_earlier_head_are_read(tmp_path: Path) -> None:
    root = init(tmp_path)
    old = commit(root, {"a": "1", "b": "1"}, 1000)
    new = commit(root, {"b": "2", "c": "1"}, 2000)
    history = git_history(root, since=old)
    assert history is not None
    assert not history.is_full
    assert set(history.commits) == {"b", "c"}
    assert history.last_commit("a", before=FileCommit(old, 1000.0)) == FileCommit(old, 1000.0)
    assert history.last_commit("b", before=FileCommit(old, 1000.0)) == FileCommit(new, 2000.0)
    same = git_history(root, since=new)
    assert same is not None
    assert same.commits == {}
    assert not same.is_full


@pytest.mark.parametrize("since", ["0" * 40, "--output=x", "main", "HEAD;id", ""])
def test_the_full_history_is_read_if_the_earlier_commit_is_not_an_ancestor(tmp_path: Path, since: str) -> None:
    root = init(tmp_path)
    commit(root, {"a": "1"}, 1000)
    history = git_history(root, since=since)
    assert history is not None
    assert history.is_full
    assert set(history.commits) == {"a"}
    assert not (root / "x").exists()


@pytest.mark.parametrize("seed", range(3))
def test_incremental_history_equals_a_full_read(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    root = init(tmp_path)
    head = commit(root, {"a": "0", "b": "0", "c": "0"}, 1000)
    known = {path: last for path in "abc" if (last := git_history(root).last_commit(path))}  # type: ignore[union-attr]
    for step in range(1, 9):
        match rng.randrange(4):
            case 0:
                git(root, "checkout", "-q", "-b", f"branch{step}", "HEAD~1" if step > 2 else "HEAD")
                commit(root, {rng.choice("abc") + "side": str(step)}, rng.randrange(500, 3000))
                git(root, "checkout", "-q", "main")
                git(root, "merge", "-q", "--no-ff", "-m", "m", f"branch{step}", time=3000 + step)
            case 1:
                (root / rng.choice("abc")).unlink(missing_ok=True)
                commit(root, {}, 2000 + step)
            case _:
                commit(root, {rng.choice("abcd"): str(step)}, 2000 + step)
        history, fresh = git_history(root, since=head), git_history(root)
        assert history is not None
        assert fresh is not None
        known = {
            path: last for path in fresh.tracked if (last := history.last_commit(path, known.get(path))) is not None
        }
        assert known == fresh.commits
        head = history.head


def test_a_hostile_repository_cannot_start_programs(tmp_path: Path) -> None:
    root = init(tmp_path / "root")
    commit(root, {"a": "1"}, 1000)
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n", encoding="utf-8")
    trap.chmod(trap.stat().st_mode | stat.S_IXUSR)
    (root / ".git/hooks").mkdir(exist_ok=True)
    for key in (
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "gpg.program",
        "diff.external",
        "core.alternateRefsCommand",
    ):
        git(root, "config", key, str(trap))
    git(root, "config", "log.showSignature", "true")
    git(root, "config", "core.hooksPath", str(tmp_path))
    git(root, "config", "diff.orderFile", str(tmp_path / "none"))
    history = git_history(root)
    assert history is not None
    assert set(history.commits) == {"a"}
    assert not (tmp_path / "started").exists()


def test_git_variables_in_the_environment_are_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, other = init(tmp_path / "root"), init(tmp_path / "other")
    head = commit(root, {"a": "1"}, 1000)
    commit(other, {"b": "1"}, 1000)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    assert git_head(root) == head


def test_a_history_cut_off_by_the_time_limit_is_marked_incomplete(tmp_path: Path) -> None:
    root = init(tmp_path / "root")
    commit(root, {f"f{number}": "1" for number in range(50)}, 1000)
    slow = tmp_path / "bin"
    slow.mkdir()
    real = next(Path(folder) / "git" for folder in os.environ["PATH"].split(":") if (Path(folder) / "git").exists())
    (slow / "git").write_text(
        f'#!/bin/sh\ncase "$*" in *" log "*) exec sleep 30;; esac\nexec {real} "$@"\n', encoding="utf-8"
    )
    (slow / "git").chmod(0o755)
    before = os.environ["PATH"]
    os.environ["PATH"] = f"{slow}:{before}"
    try:
        history = git_history(root, timeout_seconds=1)
    finally:
        os.environ["PATH"] = before
    assert history is not None
    assert not history.is_complete
    assert history.last_commit("f1") is None
