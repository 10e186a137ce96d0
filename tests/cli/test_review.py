"""The command `review`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from contextive.review.findings import Finding, Kind
from contextive.review.reports import review_as_github, review_as_markdown, review_as_sarif
from tests.processes import run_in_process
from tests.review.reviewed_project import ReviewedProject


@pytest.fixture
def project(tmp_path: Path) -> ReviewedProject:
    project = ReviewedProject(tmp_path / "project")
    project.change("src/door.py", "bolt, 2", "bolt, 3")
    return project


##= docs/spec/review.md#reports
##% The command `review` MUST exit with 1 if there is a finding of a kind that `--fail-on` names, and with 0 otherwise.
def test_review_fails_only_on_the_kinds_that_are_named(project: ReviewedProject) -> None:
    def code(*arguments: str) -> int:
        return run_in_process("review", "--base", "HEAD", *arguments, cwd=project.root).returncode

    assert (code(), code("--fail-on", "test_removed")) == (0, 0)
    assert (code("--fail-on", "code_changed"), code("--fail-on", "any")) == (1, 1)
    assert code("--fail-on", "no_such_kind") == 2


def test_every_format_has_the_finding(project: ReviewedProject) -> None:
    def printed(form: str) -> str:
        ended = run_in_process("review", "--base", "HEAD", "--format", form, cwd=project.root)
        assert ended.returncode == 0
        return ended.stdout

    (shown,) = json.loads(printed("json"))["findings"]
    assert shown["place"] == "src/door.py:4"
    assert f"code changed: src/door.py:4  [{shown['id']}]" in printed("text")
    assert printed("github").startswith("::warning file=src/door.py,line=4,")
    (result,) = json.loads(printed("sarif"))["runs"][0]["results"]
    assert result["partialFingerprints"] == {"finding/v1": shown["id"]}
    assert "**code changed** `src/door.py:4`" in printed("markdown")


def test_a_change_without_findings_says_so(tmp_path: Path) -> None:
    project = ReviewedProject(tmp_path)
    ended = run_in_process("review", "--base", "HEAD", cwd=project.root)
    assert ended.stdout == "Nothing in this change concerns a requirement.\n"


HOSTILE = "`x` @everyone <img src=x> [link](https://evil.example) #1 ::error::\n\n# Title\u202e|"


##= docs/spec/review.md#reports
##% In Markdown, every name and quote MUST be in a code span that it cannot end, so that it makes no link, mention or HTML.
def test_hostile_text_stays_in_code_spans_and_on_its_line() -> None:
    finding = Finding(Kind.CODE_CHANGED, f"src/{HOSTILE}.py", 1, HOSTILE, HOSTILE, HOSTILE, "x", ())
    markdown = review_as_markdown([finding])
    outside = re.sub(r"`[^`\n]*`", "", markdown)
    assert markdown.count("`") == 2 * 6  # five of the finding, and the command that accepts it
    for text in ("@", "<img", "](", "https:", "# Title", "|", "\u202e"):
        assert text not in outside
    assert "\u202e" not in markdown
    assert len(review_as_github([finding]).splitlines()) == 1
    assert json.loads(review_as_sarif([finding]))["runs"][0]["results"][0]["level"] == "warning"
