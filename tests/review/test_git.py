"""Reviews read any repository safely, with every range of commits."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from contextive.errors import ContextiveError, InvalidRequest
from contextive.ingest.review_service import ReviewService
from contextive.ingest.trace_service import TraceService
from contextive.workspace.git_trees import GitTrees
from tests.workspace.repositories import ENVIRONMENT, commit, git

from .reviewed_project import DOOR, FILES, LOCK, SPEC, ReviewedProject


@pytest.fixture
def project(tmp_path: Path) -> ReviewedProject:
    return ReviewedProject(tmp_path / "project")


##= docs/spec/review.md#git
##% Without a head, a review MUST be about the working tree with staged and untracked files; without a base, it starts
##% where the work since the default branch began.
def test_without_refs_a_review_is_about_everything_since_the_default_branch(project: ReviewedProject) -> None:
    project.git("switch", "-q", "-c", "work")
    commit(project.root, {"src/door.py": DOOR.replace("bolt, 2", "bolt, 3")}, 1_700_000_001)
    project.change("docs/spec/door.md", "SHOULD", "MAY")
    project.git("add", "docs/spec/door.md")
    project.write("src/new.py", LOCK.replace("door.md", "gone.md") + "def night():\n    pass\n")
    found = project.review(base=None)
    assert found.head == "working tree"
    assert [finding.kind.value for finding in found.findings] == [
        "citation_broken", "requirement_level_changed", "code_changed",
    ]  # fmt: skip
    assert found.changed_files == 3


def test_two_commits_are_compared_whatever_the_working_tree_contains(project: ReviewedProject) -> None:
    first = project.git("rev-parse", "HEAD")
    second = commit(project.root, {"src/door.py": DOOR.replace("bolt, 2", "bolt, 3")}, 1_700_000_001)
    project.write("docs/spec/door.md", "# Nothing\n")
    project.write("src/untracked.py", LOCK + "def f():\n    pass\n")
    found = project.review(first, second)
    assert [finding.kind.value for finding in found.findings] == ["code_changed"]
    assert (found.base, found.head, found.changed_files) == (first, second, 1)
    assert [one.kind.value for one in project.review(second, first).findings] == ["code_changed"]


def test_a_deleted_directory_of_specifications_is_seen(project: ReviewedProject) -> None:
    project.git("rm", "-rq", "docs")
    assert "requirement_removed" in project.kinds()


def test_the_sources_and_specifications_of_each_version_are_those_of_its_own_configuration(tmp_path: Path) -> None:
    schema = "'$schema' = \"https://awslabs.github.io/duvet/config/v0.4.0.json\"\n"
    config = f'{schema}\n[[specification]]\nsource = "docs/spec/door.md"\n'
    source = '\n[[source]]\npattern = "src/**/*.py"\ncomment-style = { meta = "##=", content = "##%" }\n'
    project = ReviewedProject(tmp_path / "project", FILES | {".duvet/config.toml": config + source})
    project.write(".duvet/config.toml", config)
    assert project.kinds() == ["citation_removed", "citation_removed"]
    commit(project.root, {".duvet/config.toml": "not toml ["}, 1_700_000_002)
    project.write(".duvet/config.toml", config + source)
    found = project.review()
    assert found.findings == ()
    assert "configuration before the change is not valid" in found.notices[0]


##= docs/spec/review.md#git
##% The name of a revision MUST be resolved as a commit and never be an option of git.
@pytest.mark.parametrize(
    "revision",
    [
        "--output=stolen", "-h", "--upload-pack=touch stolen", "HEAD:src/door.py", "nothing", "", "a\nb", "HEAD^{tree}",
        "x" * 300, "main..main",
    ],
)  # fmt: skip
def test_a_revision_that_is_no_commit_is_refused(project: ReviewedProject, revision: str) -> None:
    with pytest.raises(InvalidRequest):
        project.review(base=revision)
    with pytest.raises(InvalidRequest):
        project.review(base="HEAD", head=revision)
    assert not (project.root / "stolen").exists()


##= docs/spec/review.md#git
##% A review MUST NOT fetch anything or run a hook, a filter or another program that the repository configures.
def test_no_program_that_the_repository_configures_is_run(project: ReviewedProject, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n", encoding="utf-8")
    trap.chmod(0o755)
    for name in ("filter.x.clean", "filter.x.smudge", "filter.x.process", "diff.x.command", "diff.x.textconv",
                 "diff.external", "core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass"):  # fmt: skip
        project.git("config", name, str(trap))
    project.git("config", "core.hooksPath", str(tmp_path))
    for hook in ("post-index-change", "pre-commit", "reference-transaction", "fsmonitor-watchman"):
        (tmp_path / hook).symlink_to(trap)
    project.write(".gitattributes", "* filter=x diff=x\n")
    project.change("src/door.py", "bolt, 2", "bolt, 3")
    project.write("src/new.py", "x = 1\n")
    assert project.kinds() == ["code_changed"]
    assert not mark.exists()


##= docs/spec/review.md#git
##% In a shallow clone, an error about a missing commit MUST say that the history is incomplete.
def test_a_shallow_clone_says_what_is_missing(project: ReviewedProject, tmp_path: Path) -> None:
    first = project.git("rev-parse", "HEAD")
    commit(project.root, {"a.txt": "a"}, 1_700_000_001)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{project.root}", str(clone))
    service = ReviewService(TraceService(clone))
    with pytest.raises(InvalidRequest) as refused:
        service.review(first)
    assert "shallow clone" in (refused.value.hint or "")


def test_a_project_without_a_repository_or_commit_says_so(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    service = ReviewService(TraceService(tmp_path))
    with pytest.raises(InvalidRequest, match="not a git repository"):
        service.review()
    git(tmp_path, "init", "-q")
    with pytest.raises(InvalidRequest, match="no commit yet"):
        service.review()


def test_a_missing_object_is_not_fetched_and_not_fatal(project: ReviewedProject) -> None:
    blob = project.git("rev-parse", "HEAD:src/door.py")
    project.change("src/door.py", "bolt, 2", "bolt, 3")
    (project.root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    assert project.review().changed_files == 1


def test_the_time_limit_holds(project: ReviewedProject) -> None:
    with pytest.raises(ContextiveError, match="too long"):
        GitTrees(project.root, timeout_seconds=0.0).head()


def test_files_that_git_ignores_belong_to_both_versions(tmp_path: Path) -> None:
    files = {path: text for path, text in FILES.items() if not path.startswith("docs")} | {".gitignore": "docs\n"}
    project = ReviewedProject(tmp_path, files)
    project.write("docs/spec/door.md", SPEC)
    assert project.findings() == []


def test_a_project_below_the_root_of_the_repository_is_reviewed_alone(tmp_path: Path) -> None:
    outer = ReviewedProject(tmp_path, {f"inner/{path}": text for path, text in FILES.items()} | {"other.py": "x = 1\n"})
    outer.write("inner/src/door.py", DOOR.replace("bolt, 2", "bolt, 3"))
    outer.write("other.py", "x = 2\n")
    found = ReviewService(TraceService(tmp_path / "inner")).review("HEAD")
    assert [finding.place for finding in found.findings] == ["src/door.py:4"]
    assert found.changed_files == 1


def test_a_changed_submodule_is_named(project: ReviewedProject) -> None:
    commit_id = project.git("rev-parse", "HEAD")
    subprocess.run(
        ["git", "-C", str(project.root), "update-index", "--add", "--cacheinfo", f"160000,{commit_id},lib"],
        env=ENVIRONMENT, check=True,
    )  # fmt: skip
    project.git("commit", "-q", "-m", "x")
    found = project.review("HEAD~1", "HEAD")
    assert found.notices == ("The submodule lib changed; the files in it were not compared.",)
