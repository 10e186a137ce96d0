"""`km-upload` and `km-storetext`: stored files and answers. Attacks are in `test_hostile_documents.py`."""

from __future__ import annotations

import hashlib
import re
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.cli.call import call_tool
from contextive.errors import ContextiveError, Forbidden, InvalidRequest, TooLarge, UpstreamError
from contextive.ingest.document_rules import name_from_title
from contextive.ingest.document_text import Draft, compose_document
from contextive.notes.front_matter import parse_front_matter
from contextive.registry import Caller, CallRecord, Scope
from contextive.search.index import Index
from contextive.server.host import Host
from contextive.server.telemetry import Metrics

from .conftest import OpenHost

TOKEN = "keeper-9d20e6c1f7"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "station"
    (root / "notes").mkdir(parents=True)
    (root / "notes" / "design.md").write_text("# Design\n\nThe sluice opens at noon.\n", encoding="utf-8")
    return root


@pytest.fixture
def host(root: Path, open_host: OpenHost) -> Host:
    return open_host(root, KM_ADMIN_TOKEN=TOKEN)


def upload(host: Host, source: str, **more: Any) -> dict[str, Any]:
    answer: dict[str, Any] = call_tool(host, "km-upload", {"source_path": source, **more})
    return answer


def store(host: Host, content: str, **more: Any) -> dict[str, Any]:
    answer: dict[str, Any] = call_tool(host, "km-storetext", {"content": content, **more})
    return answer


##= docs/spec/gateway.md#km-upload
##% The tool `km-upload` MUST copy a file from the project, or from `knowledge.uploadRoots`, to a path below the
##% content root.
##= docs/spec/gateway.md#km-upload
##% Without a destination, a document MUST be stored in `knowledge.docsSubdir` under its original name.
##= docs/spec/gateway.md#document-rules
##% A result MUST include `stored_path`, `relative_path`, `overwritten`, `ingest_triggered` and `ingest_run`.
def test_an_upload_is_stored_in_the_documents_directory(host: Host, root: Path) -> None:
    assert upload(host, "./notes/design.md") == {
        "status": "success",
        "stored_path": str(root / "docs" / "design.md"),
        "relative_path": "docs/design.md",
        "overwritten": False,
        "ingest_triggered": False,
        "ingest_run": None,
    }
    assert (root / "docs" / "design.md").read_bytes() == (root / "notes" / "design.md").read_bytes()


##= docs/spec/gateway.md#km-upload
##% A destination MUST be treated as a file if it has an extension, and as a directory otherwise.
@pytest.mark.parametrize(
    ("destination", "stored"),
    [
        ("docs/uploads/", "docs/uploads/design.md"),
        ("docs/uploads", "docs/uploads/design.md"),
        ("./docs/uploads/plan.md", "docs/uploads/plan.md"),
        ("docs/v1.2/", "docs/v1.2/design.md"),
        ("plan.txt", "plan.txt"),
        (".", "design.md"),
        (None, "docs/design.md"),
        ("  ", "docs/design.md"),
    ],
)
def test_a_destination_with_an_extension_is_a_file_and_without_one_a_directory(
    host: Host, root: Path, destination: str | None, stored: str
) -> None:
    assert upload(host, "notes/design.md", destination=destination)["relative_path"] == stored
    assert (root / stored).is_file()


##= docs/spec/gateway.md#km-upload
##% A missing source MUST be refused with `invalid_request`.
def test_a_missing_source_is_an_invalid_request(host: Host) -> None:
    with pytest.raises(InvalidRequest, match="source does not exist"):
        upload(host, "notes/nothing.md")


def test_write_tools_are_missing_without_the_admin_token(root: Path, open_host: OpenHost) -> None:
    host = open_host(root)
    with pytest.raises(Forbidden):
        upload(host, "notes/design.md")
    with pytest.raises(Forbidden):
        store(host, "text")


##= docs/spec/gateway.md#document-rules
##% An existing file MUST be replaced only with `overwrite`, or if `knowledge.uploadDefaultOverwrite` is true.
def test_an_existing_file_is_replaced_only_with_overwrite(host: Host, root: Path) -> None:
    upload(host, "notes/design.md")
    (root / "notes" / "design.md").write_text("# New\n", encoding="utf-8")
    with pytest.raises(InvalidRequest, match="already"):
        upload(host, "notes/design.md")
    assert "sluice" in (root / "docs" / "design.md").read_text(encoding="utf-8")
    assert upload(host, "notes/design.md", overwrite=True)["overwritten"] is True
    assert (root / "docs" / "design.md").read_text(encoding="utf-8") == "# New\n"


##= docs/spec/gateway.md#km-ingest-trigger
##% A run MUST be recorded under `profile`, or under `knowledge.defaultProfile` if none is given.
def test_settings_provide_the_defaults_of_a_call(root: Path, open_host: OpenHost) -> None:
    host = open_host(
        root,
        KM_ADMIN_TOKEN=TOKEN,
        KM_UPLOAD_DEFAULT_OVERWRITE="true",
        KM_UPLOAD_DEFAULT_INGEST="true",
        KM_CONTENT_ROOT="library",
        KM_CONTENT_DOCS_SUBDIR="papers/in",
        KM_MCP_DEFAULT_INGEST_PROFILE="nightly",
    )
    first, second = upload(host, "notes/design.md"), upload(host, "notes/design.md")
    assert first["relative_path"] == "papers/in/design.md"
    assert first["stored_path"] == str(root / "library" / "papers" / "in" / "design.md")
    assert (first["overwritten"], second["overwritten"]) == (False, True)
    assert first["ingest_run"]["profile"] == "nightly"
    assert upload(host, "notes/design.md", ingest=False)["ingest_triggered"] is False


def test_a_file_in_an_upload_root_is_accepted(root: Path, tmp_path: Path, open_host: OpenHost) -> None:
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    (inbox / "letter.txt").write_text("Dear harbour\n", encoding="utf-8")
    link = tmp_path / "in"
    link.symlink_to(inbox)
    host = open_host(root, KM_ADMIN_TOKEN=TOKEN, KM_UPLOAD_ROOTS=str(link))
    assert upload(host, str(link / "letter.txt"))["relative_path"] == "docs/letter.txt"
    assert upload(host, str(inbox / "letter.txt"), destination="a.txt")["relative_path"] == "a.txt"
    assert upload(host, str(root / "notes" / "design.md"))["relative_path"] == "docs/design.md"


##= docs/spec/gateway.md#document-rules
##% With `ingest`, or if `knowledge.uploadDefaultIngest` is true, the document MUST be indexed before the call
##% returns.
def test_an_ingested_upload_is_found_immediately(host: Host) -> None:
    answer = upload(host, "notes/design.md", destination="docs/sluice.md", ingest=True)
    run = answer["ingest_run"]
    assert answer["ingest_triggered"] is True
    assert (run["success"], run["profile"]) == (True, "manual")
    found = call_tool(host, "km-search", {"query": "when does the sluice open"})
    assert "docs/sluice.md" in {result["chunk"]["artifact_path"] for result in found["results"]}


##= docs/spec/gateway.md#document-rules
##% A document that would not be indexed because of its path or content MUST be refused with the reason.
@pytest.mark.parametrize(
    ("environ", "files", "destination", "reason"),
    [
        ({"KM_CONTENT_ROOT": "{outside}"}, {}, None, "The content root is outside the project"),
        (
            {},
            {".gitignore": "docs/\n", ".git/HEAD": "ref: refs/heads/main\n"},
            None,
            "git or .contextiveignore ignores it",
        ),
        ({}, {".contextiveignore": "*.txt\n"}, "docs/a.txt", "git or .contextiveignore ignores it"),
        ({"CONTEXTIVE_KNOWLEDGE__EXCLUDE": '["docs/private/"]'}, {}, "docs/private/", "knowledge.exclude excludes it"),
        ({"CONTEXTIVE_KNOWLEDGE__INCLUDE": '["src/"]'}, {}, None, "knowledge.include does not include it"),
        ({}, {}, "third_party/", "it would be left out (vendored)"),
    ],
)
def test_a_document_that_would_not_be_indexed_is_refused(
    root: Path,
    tmp_path: Path,
    open_host: OpenHost,
    environ: dict[str, str],
    files: dict[str, str],
    destination: str | None,
    reason: str,
) -> None:
    outside = tmp_path / "library"
    outside.mkdir()
    for path, text in files.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    host = open_host(root, KM_ADMIN_TOKEN=TOKEN, **{key: text.format(outside=outside) for key, text in environ.items()})
    given = {"title": "Tides", **({"destination": destination} if destination else {})}
    before = sorted(root.rglob("*.md"))
    for ingest in (False, True):
        with pytest.raises(InvalidRequest) as refusal:
            store(host, "High at noon.", ingest=ingest, **given)
        assert reason in refusal.value.message
        assert refusal.value.hint
    assert sorted(root.rglob("*.md")) == before
    assert list(outside.iterdir()) == []


def test_a_content_root_may_be_an_absolute_path_of_the_project(root: Path, open_host: OpenHost) -> None:
    (root / "library").mkdir()
    host = open_host(root, KM_ADMIN_TOKEN=TOKEN, KM_CONTENT_ROOT=str(root / "library"))
    assert store(host, "The weir leaks.", title="Weir", ingest=True)["relative_path"] == "docs/weir.md"
    found = call_tool(host, "km-search", {"query": "which weir leaks"})
    assert found["results"][0]["chunk"]["artifact_path"] == "library/docs/weir.md"


##= docs/spec/gateway.md#document-rules
##% A file whose format search cannot read MUST NOT be reported as indexed.
def test_a_file_that_search_cannot_read_is_only_an_attachment(host: Host, root: Path) -> None:
    (root / "notes" / "plan.pdf").write_bytes(b"%PDF-1.7\n\0\n")
    with pytest.raises(InvalidRequest, match=r"Files of type \.pdf are not indexed"):
        upload(host, "notes/plan.pdf", ingest=True)
    answer = upload(host, "notes/plan.pdf", ingest=False)
    assert answer["warnings"] == ["Search cannot read docs/plan.pdf: its format is not text."]


##= docs/spec/gateway.md#document-rules
##% A run that fails after a document was stored MUST be reported as an `upstream_error`, and the document is kept.
def test_a_failed_ingest_is_an_upstream_error_and_the_file_stays(
    host: Host, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = host.services.get(Index)
    monkeypatch.setattr(index, "ingest", partial(index.ingest, wait_seconds=0.0))
    lease = index.store.acquire_lease("ingest", "somebody")
    assert lease is not None
    with pytest.raises(UpstreamError, match=r"docs/design\.md is stored") as raised:
        upload(host, "notes/design.md", ingest=True)
    lease.release()
    assert raised.value.details == {"relative_path": "docs/design.md", "overwritten": False}
    assert (root / "docs" / "design.md").exists()


##= docs/spec/gateway.md#km-storetext
##% The tool `km-storetext` MUST write `content` as a document that ends with a newline.
##= docs/spec/gateway.md#km-storetext
##% The title, the subsystem, the tags and the metadata MUST appear in the front matter in this order.
##= docs/spec/gateway.md#km-storetext
##% A text without a file name MUST be named after its title, or after the current time if it has no title.
def test_a_text_gets_front_matter_in_order_and_a_name_from_its_title(host: Host, root: Path) -> None:
    answer = store(
        host,
        "## Body\nDetails",
        title="Release Notes",
        destination="docs/uploads/",
        subsystem="Deployment",
        tags=["release", "notes: two"],
        metadata={"author": "agent", "issue": 7, "done": True, "parts": [1, "b"], "when": "2024-05-01"},
    )
    assert answer["relative_path"] == "docs/uploads/release-notes.md"
    assert (root / "docs" / "uploads" / "release-notes.md").read_text(encoding="utf-8") == (
        "---\ntitle: Release Notes\nsubsystem: Deployment\n"
        'tags: [release, "notes: two"]\nauthor: agent\nissue: 7\ndone: true\nparts: [1, "b"]\n'
        'when: "2024-05-01"\n---\n\n## Body\nDetails\n'
    )


def test_a_text_without_metadata_has_no_front_matter(host: Host, root: Path) -> None:
    answer = store(host, "Just this.\n")
    assert re.fullmatch(r"docs/note-\d{8}-\d{6}\.md", answer["relative_path"])
    assert (root / answer["relative_path"]).read_text(encoding="utf-8") == "Just this.\n"


def test_texts_without_a_title_never_overwrite_each_other(host: Host, root: Path) -> None:
    paths = [store(host, f"Text {number}", overwrite=True)["relative_path"] for number in range(5)]
    assert len(set(paths)) == 5
    assert [(root / path).read_text(encoding="utf-8") for path in paths] == [f"Text {n}\n" for n in range(5)]


##= docs/spec/gateway.md#km-storetext
##% Empty content MUST be refused with `invalid_request`.
@pytest.mark.parametrize("content", ["", "  \n\t\n"])
def test_blank_content_is_refused(host: Host, content: str) -> None:
    with pytest.raises(InvalidRequest, match="empty"):
        store(host, content, title="Nothing")


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Größe & Höhe!", "groe-hohe.md"),
        ("  Many   spaces  ", "many-spaces.md"),
        ("日本", "note.md"),
        ("CON", "con-note.md"),
        ("Agents", "agents-note.md"),
        ("../../etc/passwd", "etc-passwd.md"),
        ("a" * 300, "a" * 91 + "-9835fa6b.md"),
    ],
)
def test_a_title_becomes_a_portable_file_name(title: str, name: str) -> None:
    assert name_from_title(title) == name


@given(st.text(max_size=300))
def test_no_title_escapes_its_directory(title: str) -> None:
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]*\.md", name_from_title(title))


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)


@given(
    title=st.text(max_size=40),
    tags=st.lists(st.text(max_size=20), max_size=4),
    metadata=st.dictionaries(st.from_regex(r"[a-z_]{1,10}", fullmatch=True), _VALUES, max_size=4),
)
def test_front_matter_survives_the_round_trip_or_is_refused(
    title: str, tags: list[str], metadata: dict[str, Any]
) -> None:
    try:
        text = compose_document(Draft("Body", title, None, tags, metadata))
    except InvalidRequest:
        return
    head = parse_front_matter(text)
    assert text[head.length :] == "Body\n"
    for key, value in metadata.items():
        assert head.values[key] == value


@pytest.mark.parametrize("key", ["title", "Tags", "a b", "x: y", "", "\n", "-"])
def test_reserved_or_invalid_metadata_keys_are_refused(host: Host, key: str) -> None:
    with pytest.raises(InvalidRequest, match="key"):
        store(host, "text", metadata={key: "x"})


def test_content_with_front_matter_gets_no_second_one(host: Host, root: Path) -> None:
    for own in ("---\ntitle: Mine\n---\n\nText\n", '+++\ntitle = "Mine"\n+++\n\nText\n'):
        assert (root / store(host, own)["relative_path"]).read_text(encoding="utf-8") == own
        with pytest.raises(InvalidRequest, match="already has front matter"):
            store(host, own, title="Yours")


def test_data_files_get_no_front_matter(host: Host, root: Path) -> None:
    assert store(host, '{"a": 1}', destination="docs/levels.json")["relative_path"] == "docs/levels.json"
    assert (root / "docs" / "levels.json").read_text(encoding="utf-8") == '{"a": 1}\n'
    with pytest.raises(InvalidRequest, match="front matter"):
        store(host, "{}", destination="docs/other.json", title="Levels")


def test_a_document_over_the_limit_is_refused(root: Path, open_host: OpenHost) -> None:
    host = open_host(root, KM_ADMIN_TOKEN=TOKEN, CONTEXTIVE_KNOWLEDGE__MAX_FILE_BYTES="2048")
    with pytest.raises(TooLarge):
        store(host, "x" * 2048, title="Long")
    (root / "notes" / "long.md").write_text("x" * 2049, encoding="utf-8")
    with pytest.raises(TooLarge):
        upload(host, "notes/long.md")
    assert store(host, "x" * 1000, title="Short")["status"] == "success"


def test_a_stored_text_is_found_with_its_subsystem_and_tags(host: Host) -> None:
    store(host, "The weir is painted green.", title="Weir", subsystem="Sluice", tags=["paint"], ingest=True)
    found = call_tool(
        host, "km-search", {"query": "colour of the weir", "filters": {"tags": ["paint"]}, "detail": "full"}
    )
    assert found["results"][0]["chunk"]["subsystem"] == "Sluice"


##= docs/spec/gateway.md#document-rules
##% Every write and every refusal MUST add one entry to the audit, without content.
def test_every_write_and_every_refusal_is_audited_without_content(host: Host) -> None:
    upload(host, "notes/design.md")
    store(host, "The secret ingredient is kelp.", title="Recipe")
    with pytest.raises(Forbidden):
        store(host, "kelp", destination="AGENTS.md")
    refused, text, copied = host.services.get(Index).store.records.audit(10)
    assert (copied.tool, copied.caller) == ("km-upload", "owner")
    assert copied.body["relative_path"] == "docs/design.md"
    assert copied.body["source"] == "notes/design.md"
    assert copied.body["overwritten"] is False
    assert text.body["bytes"] == len("---\ntitle: Recipe\n---\n\nThe secret ingredient is kelp.\n")
    digest = hashlib.sha256(b"---\ntitle: Recipe\n---\n\nThe secret ingredient is kelp.\n").hexdigest()
    assert (text.tool, text.body["sha256"]) == ("km-storetext", digest)
    assert {**refused.body, "request_id": ""} == {"refused": "forbidden", "request_id": ""}
    assert "kelp" not in str((refused, text, copied))


##= docs/spec/gateway.md#document-rules
##% A document MUST be written completely or not at all, and if two callers write the same name, one of them is
##% refused.
def test_one_of_many_concurrent_writers_wins_and_contents_never_mix(host: Host, root: Path) -> None:
    outcomes: list[str] = []
    ready = threading.Barrier(8)

    def write(number: int) -> None:
        ready.wait(20)
        try:
            store(host, f"{number}\n" * 20_000, destination="docs/one.md")
            outcomes.append(str(number))
        except InvalidRequest:
            outcomes.append("refused")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    (winner,) = [outcome for outcome in outcomes if outcome != "refused"]
    assert (root / "docs" / "one.md").read_text(encoding="utf-8") == f"{winner}\n" * 20_000
    assert [path.name for path in (root / "docs").iterdir()] == ["one.md"]


def test_calls_are_counted_by_result() -> None:
    metrics = Metrics(["km-upload", "km-storetext"])
    for tool, error in (("km-upload", None), ("km-upload", "forbidden"), ("km-storetext", None)):
        metrics(CallRecord(tool, True, Caller("owner", Scope.MAINTAINER).name, "cli", "r", 0.1, {}, error))
    text = metrics.render().decode()
    assert 'km_mcp_upload_total{result="success"} 1.0' in text
    assert 'km_mcp_upload_total{result="error"} 1.0' in text
    assert 'km_mcp_storetext_total{result="error"} 0.0' in text


def test_an_error_reveals_no_path_of_the_machine(host: Host, root: Path) -> None:
    for arguments in ({"source_path": str(root / "nothing.md")}, {"source_path": "/etc/passwd"}):
        with pytest.raises(ContextiveError) as raised:
            call_tool(host, "km-upload", arguments)
        assert str(root) not in raised.value.full_message()
        assert "/etc" not in raised.value.full_message()
