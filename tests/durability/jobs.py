"""Runs jobs again and again, each time in a process that dies at another of its writes, and checks what is left.

Run it with the hook of `fault.c` loaded: `python -m tests.durability.jobs JOB,JOB FOLDER POINTS [ERRNO]`. A job runs
in a forked child, so that no module has to be loaded again. It never exits normally: a job that has finished reports
that and is then killed. With an errno no process dies: the write and all later ones fail, and the job has to raise
one of our errors. Prints a line of JSON for each job: how many writes there were, at how many a fault was injected,
and what did not survive.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import pickle
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from contextive.cli.call import call_tool
from contextive.config import ConfigRequest, load_config
from contextive.errors import ContextiveError
from contextive.ingest.settings import IngestRequest
from contextive.ingest.verification import verify_index
from contextive.packs import BUILTIN
from contextive.packs.knowledge.pack import DocumentsAndBackups
from contextive.registry import Scope
from contextive.search.index import Index
from contextive.server.host import Host
from contextive.server.tokens import TokenFile
from contextive.store import open_store
from contextive.store.archive import check_archive
from contextive.store.restore import restore_backup
from contextive.store.sqlite import schema
from contextive.store.values import AuditEntry
from tests.packs.knowledge.repository import parse_in_this_process, write_repository
from tests.packs.knowledge.snapshots import rows_of

from . import fault

FILES = {
    "docs/gauge.md": "# The gauge\n\nSee `read_level` and [the code](../src/gauge.py).\n",
    "docs/spec.md": "# Levels\n\n## Rate\n\nThe gauge MUST read the level once a minute.\n",
    "src/gauge.py": (
        "#= docs/spec.md#rate\n#% The gauge MUST read the level once a minute.\n"
        "def read_level():\n    return median([1.0])\n\n\ndef median(values):\n    return values[0]\n"
    ),
    "src/siren.py": "from gauge import read_level\n\n\nclass Siren:\n    def sound(self):\n        return read_level()\n",
    "notes/first.md": "# First\n\nA storm, see [[second]].\n",
    "notes/second.md": "# Second\n\nAfter the storm.\n",
    "inbox/letter.md": "# A letter\n\nFrom the harbour.\n",
}
OLD_TEXT, NEW_TEXT = "The old text of the decision.\n", "The new text of the decision, and a good deal longer.\n" * 40


@contextmanager
def open_host(root: Path, state: str = ".contextive") -> Iterator[Host]:
    request = ConfigRequest(
        project=root,
        builtin_packs=frozenset(BUILTIN),
        environ={
            "CONTEXTIVE_STORE__STATE_PATH": state,
            "CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL": "dummy",
            "KM_ADMIN_TOKEN": "a-token-for-tests-that-is-long-enough",
        },
    )
    host = Host(load_config(request), mode="in-process")
    parse_in_this_process(host)
    try:
        yield host
    finally:
        host.close()


def prepare(root: Path) -> None:
    """A project with an index, a stored text, a vote and a backup."""
    write_repository(root, FILES, git=False)
    with open_host(root) as host:
        _index(host)
        call_tool(host, "km-storetext", {"content": OLD_TEXT, "destination": "docs/decision.md"})
        _vote(host)
        host.services.get(DocumentsAndBackups).backups().create()
        _vote(host)


def _index(host: Host) -> None:
    index = host.services.get(Index)
    index.ingest(IngestRequest())
    index.embed()


def _vote(host: Host) -> None:
    found = call_tool(host, "km-search", {"query": "siren"})
    result = {"request_id": found["metadata"]["request_id"], "chunk_id": found["results"][0]["chunk"]["chunk_id"]}
    call_tool(host, "km-feedback-submit", {**result, "vote": 1.0})


# The jobs: a change beforehand, the work, and a check afterwards


def _edit(root: Path) -> None:
    (root / "docs/gauge.md").write_text("# The gauge\n\nNow it says zeppelin, and calls `sound`.\n", encoding="utf-8")
    (root / "src/siren.py").unlink()
    (root / "src/buoy.py").write_text(
        "from gauge import median\n\n\ndef sink():\n    return median([2.0])\n", encoding="utf-8"
    )


def _ingest(root: Path) -> None:
    with open_host(root) as host:
        _index(host)
        _acknowledge()


def _store(root: Path) -> None:
    with open_host(root) as host:
        arguments = {"content": NEW_TEXT, "destination": "docs/decision.md", "overwrite": True, "ingest": True}
        call_tool(host, "km-storetext", arguments)
        _acknowledge()


def _check_stored(root: Path, acknowledged: bool) -> None:
    found = (root / "docs/decision.md").read_text(encoding="utf-8")
    assert found == NEW_TEXT or (found == OLD_TEXT and not acknowledged), found
    if acknowledged:
        assert _audit_count(root, "km-storetext") == 2


def _upload(root: Path) -> None:
    with open_host(root) as host:
        call_tool(host, "km-upload", {"source_path": "inbox/letter.md", "destination": "docs/letters/old/letter.md"})
        _acknowledge()


def _check_uploaded(root: Path, acknowledged: bool) -> None:
    copy = root / "docs/letters/old/letter.md"
    assert copy.exists() or not acknowledged
    if copy.exists():
        assert copy.read_bytes() == (root / "inbox/letter.md").read_bytes()
    if acknowledged:
        assert _audit_count(root, "km-upload") == 1


def _rename(root: Path) -> None:
    with open_host(root) as host:
        call_tool(host, "rename_page", {"slug": "second", "new_title": "Calm"})
        _acknowledge()


def _check_renamed(root: Path, acknowledged: bool) -> None:
    """Even if the job was interrupted, no text is lost, and the first note links to an existing one."""
    names = {path.name: path.read_text(encoding="utf-8") for path in (root / "notes").glob("*.md")}
    assert any("After the storm." in text for text in names.values()), names
    assert "A storm, see [[" in names["first.md"]
    linked = names["first.md"].partition("[[")[2].partition("]]")[0]
    with open_host(root) as host:
        assert "After the storm." in call_tool(host, "get_page", {"slug": linked})["content"]
    if acknowledged:
        assert set(names) == {"first.md", "calm.md"}


def _remove_notes(root: Path) -> None:
    shutil.rmtree(root / "notes")


def _create(root: Path) -> None:
    with open_host(root) as host:
        call_tool(host, "create_page", {"title": "Calm sea", "content": NEW_TEXT})
        _acknowledge()


def _check_created(root: Path, acknowledged: bool) -> None:
    note = root / "notes/calm-sea.md"
    assert note.exists() or not acknowledged
    assert not note.exists() or note.read_text(encoding="utf-8").endswith(NEW_TEXT)


def _submit(root: Path) -> None:
    with open_host(root) as host:
        _vote(host)
        _acknowledge()


def _check_submitted(root: Path, acknowledged: bool) -> None:
    store = open_store(root / ".contextive")
    assert len(store.records.votes()) in ((3,) if acknowledged else (2, 3))
    store.close()


def _tokens(root: Path) -> TokenFile:
    return TokenFile(root / ".contextive", root / ".home/config/token.key")


def _issue(root: Path) -> None:
    tokens = _tokens(root)
    tokens.issue("first", Scope.READER)
    tokens.issue("second", Scope.MAINTAINER)
    tokens.revoke("first")
    _acknowledge()


def _check_issued(root: Path, acknowledged: bool) -> None:
    """Tokens are written in order, and the file is never incomplete."""
    found = [(token.name, token.revoked_at is not None) for token in _tokens(root).tokens()]
    steps = [[], [("first", False)], [("first", False), ("second", False)], [("first", True), ("second", False)]]
    assert found == steps[-1] or (found in steps and not acknowledged), found


def _backup(root: Path) -> None:
    with open_host(root) as host:
        host.services.get(DocumentsAndBackups).backups().create()
        _acknowledge()


def _check_backups(root: Path, acknowledged: bool) -> None:
    """Every file with the name of an archive is complete, and the next backup removes leftovers."""
    archives = list((root / ".contextive/backups/archives").glob("km-backup-*.tgz"))
    assert len(archives) >= (2 if acknowledged else 1)
    with open_host(root) as host:
        archives.append(host.services.get(DocumentsAndBackups).backups().create().path)
    for archive in archives:
        check_archive(archive)
    assert not list((root / ".contextive/backups").glob("staging-*"))


def _restore(root: Path) -> None:
    with open_host(root) as host:
        backups = host.services.get(DocumentsAndBackups).backups()
        [archive] = (root / ".contextive/backups/archives").glob("km-backup-*.tgz")
        restore_backup(archive, backups, force=True)
        _acknowledge()


def _check_restored(root: Path, acknowledged: bool) -> None:
    """The index is either the old one or that of the backup; in the second case, the safety copy has the old one."""
    with open_host(root) as host:
        index, backups = host.services.get(Index), host.services.get(DocumentsAndBackups).backups()
        votes = len(index.store.records.votes())
        assert votes == 1 or (votes == 2 and not acknowledged), votes
        if votes == 1:
            assert any(backup.manifest.counts["vote"] == 2 for backup in backups.existing())
    for archive in (root / ".contextive/backups/archives").glob("km-backup-*.tgz"):
        check_archive(archive)


_LATER_MIGRATION = schema.Migration(
    schema.latest_version() + 1,
    "9999_later",
    "ALTER TABLE vote ADD COLUMN weight REAL;\nCREATE TABLE later (number INTEGER PRIMARY KEY, body TEXT);\n"
    "INSERT INTO later (body) SELECT note FROM vote;\nUPDATE vote SET weight = 1.0;\n",
)


def _migrate(root: Path) -> None:
    cached = (*schema.migrations(), _LATER_MIGRATION)
    schema.migrations = lambda: cached  # type: ignore[assignment]
    open_store(root / ".contextive")
    _acknowledge()


def _check_migrated(root: Path, acknowledged: bool) -> None:
    """The newer version opens it completely migrated and with all votes."""
    cached = (*schema.migrations(), _LATER_MIGRATION)
    schema.migrations = lambda: cached  # type: ignore[assignment]
    store = open_store(root / ".contextive")
    assert len(store._database.read("SELECT weight FROM vote WHERE weight = 1.0")) == 2  # type: ignore[attr-defined]
    assert len(store._database.read("SELECT * FROM later")) == 2  # type: ignore[attr-defined]
    store.close()


def _open(root: Path) -> None:
    store = open_store(root / ".new")
    with store.transaction() as writer:
        writer.put_audit(AuditEntry(1.0, "owner", "creation", {}))
    _acknowledge()


def _check_opened(root: Path, acknowledged: bool) -> None:
    store = open_store(root / ".new")
    assert [entry.tool for entry in store.records.audit(10)] == ["creation"] or not acknowledged
    assert list(store.verify()) == []
    store.close()


Step = Callable[[Path], None]
JOBS: dict[str, tuple[Step | None, Step, Callable[[Path, bool], None] | None]] = {
    "ingest": (_edit, _ingest, None),
    "storetext": (None, _store, _check_stored),
    "upload": (None, _upload, _check_uploaded),
    "rename": (None, _rename, _check_renamed),
    "note": (_remove_notes, _create, _check_created),
    "vote": (None, _submit, _check_submitted),
    "token": (None, _issue, _check_issued),
    "backup": (None, _backup, _check_backups),
    "restore": (None, _restore, _check_restored),
    "migration": (None, _migrate, _check_migrated),
    "creation": (None, _open, _check_opened),
}
_EXPECTED_CODES = ("unavailable", "upstream_error")
_JOBS_WITHOUT_INDEX = ("migration", "creation", "token")


def _audit_count(root: Path, tool: str) -> int:
    store = open_store(root / ".contextive")
    try:
        return sum(entry.tool == tool for entry in store.records.audit(1000) if "refused" not in entry.body)
    finally:
        store.close()


def _check_index(root: Path, job: str) -> None:
    """If `verify` reports nothing, the index equals a fresh one; and after another run it always does."""
    fresh = _fresh_rows(root)
    with open_host(root) as host:
        index = host.services.get(Index)
        if not list(verify_index(index.indexer(), index.store)):
            _assert_same(rows_of(index.store), fresh, "verify found nothing")
        _index(host)
        discrepancies = list(verify_index(index.indexer(), index.store))
        assert discrepancies == [], discrepancies
        _assert_same(rows_of(index.store), fresh, "after another run")
        if job != "restore":
            assert len(index.store.records.votes()) in ((2, 3) if job == "vote" else (2,))
        found = call_tool(host, "km-search", {"query": "median"})
        assert any(result["chunk"]["artifact_path"] == "src/gauge.py" for result in found["results"])
        assert not [warning for warning in found["metadata"].get("warnings", []) if "damaged" in warning]


def _fresh_rows(root: Path) -> dict[str, Any]:
    """The rows of a fresh index of the files, cached by the content of the files."""
    files = sorted(path for path in root.rglob("*") if path.is_file() and ".contextive" not in path.parts)
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"{path.relative_to(root)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    cached = root.parent / f"fresh-{digest.hexdigest()}"
    if not cached.exists():
        with open_host(root, ".fresh") as host:
            index = host.services.get(Index)
            index.ingest(IngestRequest())
            cached.write_bytes(pickle.dumps(rows_of(index.store)))
        shutil.rmtree(root / ".fresh")
    rows: dict[str, Any] = pickle.loads(cached.read_bytes())
    return rows


def _assert_same(actual: dict[str, Any], expected: dict[str, Any], when: str) -> None:
    for kind, rows in actual.items():
        assert rows == expected[kind], f"{when}: {kind} differ"


# Child processes that die

_ack: list[int] = []
on_acknowledge: list[Callable[[], None]] = [fault.disarm]
"""Called when a job is acknowledged; only the last one is called."""


def _acknowledge() -> None:
    """Tell the parent that the job has finished, and die before anything is cleaned up."""
    on_acknowledge[-1]()
    os.write(_ack[0], b"done %d" % (fault.count() if fault.is_loaded() else 0))
    os.kill(os.getpid(), signal.SIGKILL)


def in_child(work: Callable[[], None]) -> tuple[int, bytes]:
    """The exit code and the output of a forked child that runs `work`."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _ack[:] = [writing]
        try:
            work()
            os.write(writing, b"ok")
            os._exit(0)
        except BaseException:
            os.write(writing, traceback.format_exc()[-3000:].encode())
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        output = stream.read()
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), output


def _attempt(job: str, template: Path, at: int, error: int = 0) -> tuple[bool, str | None, int]:
    """Whether the job was acknowledged, what did not survive, and how many writes there were."""
    setup, work, _ = JOBS[job]
    root = template.with_name(f"{job}-{at}-{error}")
    shutil.copytree(template, root, symlinks=True)
    if setup is not None:
        setup(root)

    def work_with_fault() -> None:
        fault.arm(root, at, error)
        try:
            work(root)
        except ContextiveError as refusal:
            fault.disarm()
            if not error or refusal.code not in _EXPECTED_CODES:
                raise
            os.kill(os.getpid(), signal.SIGKILL)

    code, output = in_child(work_with_fault)
    acknowledged = output.startswith(b"done")
    if code != -signal.SIGKILL:
        return acknowledged, f"the job ended with {code}: {output.decode()}", 0

    failure = failure_of(job, root, acknowledged)
    if failure is None:
        shutil.rmtree(root)
    return acknowledged, failure, int(output.split()[1]) if acknowledged else at


def failure_of(job: str, root: Path, acknowledged: bool) -> str | None:
    """What is wrong after a job that was interrupted or acknowledged; None if nothing is."""
    _, _, check = JOBS[job]

    def check_in_child() -> None:
        if check is not None:
            check(root, acknowledged)
        if job not in _JOBS_WITHOUT_INDEX:
            _check_index(root, job)

    code, output = in_child(check_in_child)
    return None if code == 0 else output.decode()


def main(jobs: str, folder: Path, points: str, error: int = 0) -> None:
    template = prepared_template(folder)
    for job in jobs.split(","):
        print(json.dumps({"job": job, **_outcome(job, template, points, error)}), flush=True)


def prepared_template(folder: Path) -> Path:
    """The project that every attempt copies. Also loads all modules that the jobs need, so that children share
    them."""
    template, loaded = folder / "template", folder / "loaded"
    if not loaded.exists():

        def prepare_in_child() -> None:
            prepare(folder / "rehearsal" if template.exists() else template)
            loaded.write_text("\n".join(sys.modules), encoding="utf-8")

        code, output = in_child(prepare_in_child)
        assert code == 0, output.decode()
    for name in loaded.read_text(encoding="utf-8").splitlines():
        with suppress(ImportError):
            importlib.import_module(name)
    return template


def _outcome(job: str, template: Path, points: str, error: int) -> dict[str, Any]:
    acknowledged, failure, total = _attempt(job, template, 0)
    assert acknowledged, failure
    failures = [f"after it was done: {failure}"] if failure else []
    wanted = range(1, total + 1) if points == "all" else spread(total, int(points))
    for at in wanted:
        _, failure, _ = _attempt(job, template, at, error)
        if failure:
            failures.append(f"at {at} of {total}: {failure}")
    return {"writes": total, "faults": len(wanted), "failures": failures}


def spread(total: int, points: int) -> list[int]:
    """Some of the writes: the first, the last, and others evenly in between."""
    return sorted({1, total, *(1 + number * (total - 1) // max(1, points - 1) for number in range(points))})


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], *map(int, sys.argv[4:]))
