"""The review mode of the GitHub action, on recorded events and with a local server in place of GitHub's."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from contextive.errors import ContextiveError, UsageError
from contextive.ops.pull_request import read_event
from contextive.review.reports import COMMENT_MARK
from tests.ops.test_packaging import run_step
from tests.review.reviewed_project import DOOR, ReviewedProject
from tests.workspace.repositories import commit

EVENTS = Path(__file__).with_name("events")


class GitHubServer(HTTPServer):
    """The comments of one pull request."""

    comments: list[dict[str, Any]]
    status = 200


class _Handler(BaseHTTPRequestHandler):
    server: GitHubServer

    def _answer(self, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _body(self) -> str:
        return str(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"])

    def do_GET(self) -> None:
        assert self.path.startswith("/repos/octo-org/door/issues/7/comments?")
        self._answer(self.server.comments)

    def do_POST(self) -> None:
        body = self._body()
        if self.server.status == 200:
            comment = {"id": len(self.server.comments) + 1, "user": {"type": "Bot"}, "body": body}
            self.server.comments.append(comment)
        self._answer({})

    def do_PATCH(self) -> None:
        (own,) = [one for one in self.server.comments if self.path.endswith(f"/issues/comments/{one['id']}")]
        own["body"] = self._body()
        self._answer({})

    def log_message(self, *_: object) -> None:
        """Requests are not logged."""


@pytest.fixture
def github() -> Iterator[GitHubServer]:
    server = GitHubServer(("127.0.0.1", 0), _Handler)
    server.comments = [{"id": 1, "user": {"type": "User"}, "body": f"{COMMENT_MARK} by a person"}]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def project(tmp_path: Path) -> ReviewedProject:
    project = ReviewedProject(tmp_path / "project")
    project.git("switch", "-q", "-c", "work")
    commit(project.root, {"src/door.py": DOOR.replace("bolt, 2", "bolt, 3")}, 1_700_000_001)
    return project


def review(
    project: ReviewedProject, temporary: Path, event: str = "pull_request", **inputs: str
) -> tuple[int, dict[str, str], str]:
    """Run the step of the action on a recorded event."""
    text = (EVENTS / f"{event}.json").read_text(encoding="utf-8")
    text = text.replace('"BASE"', json.dumps(project.git("rev-parse", "main")))
    path = temporary / "event.json"
    path.write_text(text.replace('"HEAD"', json.dumps(project.git("rev-parse", "HEAD"))), encoding="utf-8")
    environment = {"FAIL_ON": "", "COMMENT": "false", "TOKEN": "t", "GITHUB_EVENT_NAME": event} | inputs
    return run_step(
        "Review", project.root, temporary,
        BIN=str(Path(sys.executable).parent), GITHUB_EVENT_PATH=str(path), **environment,
    )  # fmt: skip


def test_a_pull_request_gets_annotations_a_summary_and_alerts(project: ReviewedProject, tmp_path: Path) -> None:
    code, outputs, printed = review(project, tmp_path)
    assert (code, outputs["code"], outputs["findings"]) == (0, "0", "1"), printed
    assert "::warning file=src/door.py,line=4," in printed
    assert "**code changed**" in (tmp_path / "summary").read_text(encoding="utf-8")
    assert json.loads(Path(outputs["sarif"]).read_text(encoding="utf-8"))["version"] == "2.1.0"


def test_only_what_the_pull_request_adds_is_reviewed(project: ReviewedProject, tmp_path: Path) -> None:
    project.git("switch", "-q", "main")
    project.git("rm", "-q", "tests/test_door.py")
    commit(project.root, {}, 1_700_000_002)
    project.git("switch", "-q", "work")
    assert review(project, tmp_path)[1]["findings"] == "1"


@pytest.mark.parametrize(
    ("fail_on", "code"), [("code_changed", "1"), ("any", "1"), ("test_removed citation_broken", "0")]
)
def test_the_named_kinds_fail_the_job(project: ReviewedProject, tmp_path: Path, fail_on: str, code: str) -> None:
    assert review(project, tmp_path, FAIL_ON=fail_on)[1]["code"] == code


##= docs/spec/review.md#pull-requests
##% A pull request MUST get at most one comment, which later reviews edit.
def test_the_comment_is_written_once_and_then_edited(
    project: ReviewedProject, tmp_path: Path, github: GitHubServer
) -> None:
    address = f"http://127.0.0.1:{github.server_port}"
    assert "up to date" in review(project, tmp_path, COMMENT="true", GITHUB_API_URL=address)[2]
    first = github.comments[-1]["body"]
    commit(project.root, {"src/door.py": DOOR}, 1_700_000_003)
    review(project, tmp_path, COMMENT="true", GITHUB_API_URL=address)
    assert len(github.comments) == 2
    assert github.comments[0]["body"].endswith("by a person")
    assert "code changed" in first
    assert "Nothing in this change" in github.comments[1]["body"]


def test_without_permission_to_comment_the_job_goes_on(
    project: ReviewedProject, tmp_path: Path, github: GitHubServer
) -> None:
    github.status = 403
    address = f"http://127.0.0.1:{github.server_port}"
    code, outputs, printed = review(project, tmp_path, COMMENT="true", GITHUB_API_URL=address)
    assert (code, outputs["code"]) == (0, "0")
    assert "pull-requests: write" in printed


##= docs/spec/review.md#pull-requests
##% The review of a pull request MUST refuse every event but `pull_request`.
@pytest.mark.parametrize("name", ["pull_request_target", "push", "workflow_run", ""])
def test_other_events_are_refused(name: str) -> None:
    text = (EVENTS / "pull_request.json").read_text(encoding="utf-8")
    with pytest.raises(UsageError, match="The event is"):
        read_event(name, text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        (EVENTS / "push.json").read_text("utf-8"),
        (EVENTS / "pull_request.json").read_text("utf-8").replace("BASE", "--help"),
    ],
)
def test_a_file_that_is_not_such_an_event_is_refused(text: str) -> None:
    with pytest.raises(ContextiveError):
        read_event("pull_request", text)


def test_a_refused_event_fails_the_step_with_an_annotation(project: ReviewedProject, tmp_path: Path) -> None:
    code, _, printed = review(project, tmp_path, event="push")
    assert code == 2
    assert printed.startswith("::error::The event is 'push'.")
