"""Reviews a pull request in a GitHub workflow: annotations, job summary, SARIF, and one comment that is edited in place.

Run by the action of this repository as `python -I -m contextive.ops.pull_request`. Everything comes from the environment.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from contextive.errors import ContextiveError, InvalidRequest, UsageError
from contextive.review.findings import NOTICES, Kind
from contextive.review.reports import COMMENT_MARK, review_as_github, review_as_markdown, review_as_sarif, summary
from contextive.trace.reports.github import annotation

if TYPE_CHECKING:
    from contextive.ingest.review_service import Review

_EVENT: Final = "pull_request"
_MAX_EVENT_BYTES: Final = 32 * 1024 * 1024
_MAX_COMMENT: Final = 60_000
_MAX_PAGES: Final = 10
_SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_REPOSITORY = re.compile(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class PullRequest:
    """What a review needs from the event of a workflow."""

    number: int
    base: str
    """The commit of the branch that the pull request goes to."""
    repository: str


##= docs/spec/review.md#pull-requests
##% The review of a pull request MUST refuse every event but `pull_request`.
def read_event(name: str, text: str) -> PullRequest:
    """The pull request of an event. Other events are refused: with `pull_request_target`, foreign code would run trusted."""
    if name != _EVENT:
        raise UsageError(f"The event is {name[:40]!r}.", hint=f"A review runs only on: {_EVENT}.")
    try:
        event = json.loads(text)
        pull_request = event["pull_request"]
        found = PullRequest(int(pull_request["number"]), pull_request["base"]["sha"], event["repository"]["full_name"])
    except (ValueError, KeyError, TypeError):
        raise InvalidRequest("The file of the event has no pull request.", hint="Run it in a workflow.") from None
    if not (_SHA.fullmatch(str(found.base)) and _REPOSITORY.fullmatch(str(found.repository))):
        raise InvalidRequest("The file of the event is not valid.", hint="Run it in a workflow.")
    return found


def main() -> int:
    """Review the pull request of this workflow. Exits with the code of the gate in the output `code`."""
    environ = os.environ
    try:
        pull_request = read_event(environ.get("GITHUB_EVENT_NAME", ""), _event_text(environ))
        fail_on = frozenset(environ.get("FAIL_ON", "").split())
        if unknown := sorted(fail_on - {*Kind, "any"}):
            raise UsageError(f"{unknown[0][:40]!r} is not a kind of finding.", hint=f"Kinds: any, {', '.join(Kind)}.")
        review = review_since(Path.cwd(), pull_request.base)
    except ContextiveError as error:
        _print(annotation("error", f"{error.message} {error.hint or ''}".rstrip()))
        return 2
    _publish(review, environ)
    if environ.get("COMMENT") == "true" and environ.get("TOKEN"):
        _print(annotation("notice", _comment(pull_request, review, environ)))
    failing = {kind for kind in Kind if kind in fail_on or ("any" in fail_on and kind not in NOTICES)}
    code = 1 if any(finding.kind in failing for finding in review.findings) else 0
    _append(environ.get("GITHUB_OUTPUT"), f"code={code}\nfindings={len(review.findings)}\n")
    return 0


def review_since(project: Path, base: str) -> Review:
    """The review of what the checked out commit adds to a branch."""
    from contextive.config import ConfigRequest, load_config
    from contextive.ingest.review_service import ReviewService
    from contextive.packs import BUILTIN
    from contextive.server.host import Host

    loaded = load_config(ConfigRequest(project=project.resolve(), builtin_packs=frozenset(BUILTIN)))
    service = Host(loaded, mode="in-process").services.get(ReviewService)
    return service.review(since=base, head="HEAD")


def _event_text(environ: Mapping[str, str]) -> str:
    path = environ.get("GITHUB_EVENT_PATH", "")
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return file.read(_MAX_EVENT_BYTES).decode("utf-8")
    except (OSError, ValueError):
        raise InvalidRequest("The file of the event cannot be read.", hint="Run it in a workflow.") from None


def _publish(review: Review, environ: Mapping[str, str]) -> None:
    sys.stdout.write(review_as_github(review.findings))
    _print(summary(review.findings))
    for notice in review.notices:
        _print(annotation("notice", notice))
    _append(environ.get("GITHUB_STEP_SUMMARY"), review_as_markdown(review.findings))
    sarif = Path(environ.get("RUNNER_TEMP", ".")) / "contextive-review.sarif"
    sarif.write_text(review_as_sarif(review.findings), encoding="utf-8")
    _append(environ.get("GITHUB_OUTPUT"), f"sarif={sarif}\n")


def _print(line: str) -> None:
    """Print a line for the runner, which reads commands in it. All of them are escaped."""
    sys.stdout.write(f"{line}\n")


def _append(path: str | None, text: str) -> None:
    if path:
        with open(path, "a", encoding="utf-8") as file:  # noqa: PTH123
            file.write(text)


##= docs/spec/review.md#pull-requests
##% A pull request MUST get at most one comment, which later reviews edit.
def _comment(pull_request: PullRequest, review: Review, environ: Mapping[str, str]) -> str:
    """Write or edit the comment, and return what was done. Without permission, the workflow goes on without it."""
    import httpx

    url = environ.get("GITHUB_API_URL", "https://api.github.com")
    headers = {"Authorization": f"Bearer {environ['TOKEN']}", "Accept": "application/vnd.github+json"}
    issue = f"/repos/{pull_request.repository}/issues"
    body = {"body": review_as_markdown(review.findings)[:_MAX_COMMENT]}
    try:
        with httpx.Client(base_url=url, headers=headers, timeout=20.0, follow_redirects=False) as client:
            own = _own_comment(client, f"{issue}/{pull_request.number}/comments")
            if own is None and not review.findings:
                return "No comment was needed."
            if own is None:
                client.post(f"{issue}/{pull_request.number}/comments", json=body).raise_for_status()
            else:
                client.patch(f"{issue}/comments/{own}", json=body).raise_for_status()
    except (httpx.HTTPError, ValueError, KeyError, TypeError):
        return (
            "The comment could not be written. It needs the permission pull-requests: write, which forks do not have."
        )
    return "The comment is up to date."


def _own_comment(client: Any, path: str) -> int | None:
    """The number of the comment that an earlier review wrote. A person's comment with the same mark is left alone."""
    for page in range(1, _MAX_PAGES + 1):
        answer = client.get(path, params={"per_page": 100, "page": page})
        answer.raise_for_status()
        comments = answer.json()
        for comment in comments:
            if comment["user"]["type"] == "Bot" and comment["body"].startswith(COMMENT_MARK):
                return int(comment["id"])
        if len(comments) < 100:
            return None
    return None


if __name__ == "__main__":
    sys.exit(main())
