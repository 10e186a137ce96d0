"""The tool `review_changes`."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextive.errors import InvalidRequest
from contextive.registry.budget import estimated_tokens
from tests.packs.duvet_host import DuvetHost
from tests.workspace.repositories import commit, git, init


@pytest.fixture
def host(tmp_path: Path) -> DuvetHost:
    host = DuvetHost(tmp_path)
    init(tmp_path)
    commit(tmp_path, {}, 1_700_000_000)
    return host


##= docs/spec/review.md#findings
##% The tool `review_changes` MUST answer with `findings`, `counts` and `as_of` in at most 2000 tokens.
def test_the_answer_has_findings_counts_and_commits_and_pages_within_the_budget(
    host: DuvetHost, tmp_path: Path
) -> None:
    assert host.call("review_changes", base="HEAD")["findings"] == []
    spec = tmp_path / "specs/coffee.md"
    more = "".join(
        f"The pot MUST survive {name} of the machine that is described here.\n" for name in map(str, range(60))
    )
    spec.write_text(spec.read_text(encoding="utf-8") + f"\n## More\n\n{more}", encoding="utf-8")
    answer = host.call("review_changes", base="HEAD")
    assert estimated_tokens(answer) <= 2_000
    assert answer["counts"] == {"must_without_code": 60}
    assert answer["as_of"] == {"base": git(tmp_path, "rev-parse", "HEAD"), "head": "working tree", "changed_files": 1}
    seen = [finding["id"] for finding in answer["findings"]]
    while cursor := answer.get("next_cursor"):
        answer = host.call("review_changes", base="HEAD", cursor=cursor)
        seen += [finding["id"] for finding in answer["findings"]]
    assert len(set(seen)) == len(seen) == 60


def test_one_kind_can_be_chosen(host: DuvetHost, tmp_path: Path) -> None:
    (tmp_path / "specs/coffee.md").unlink()
    every = host.call("review_changes", base="HEAD")["counts"]
    assert host.call("review_changes", base="HEAD", kind="requirement_removed")["counts"] == {
        "requirement_removed": every["requirement_removed"]
    }


def test_a_hostile_revision_is_an_error_of_the_caller(host: DuvetHost) -> None:
    with pytest.raises(InvalidRequest, match="no commit"):
        host.call("review_changes", base="--help")
