"""Random damage to every file of a state directory: each command reports what is wrong, and `rebuild` fixes it.

Bytes are changed, ranges are zeroed and files are truncated at seeded random positions, in the database, its log, the
lexical index, the vectors, the tokens and a backup. No command may end in a traceback, `rebuild` must succeed, and
all readable votes must survive. `DURABILITY=full` runs more cases.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contextive.cli import run
from contextive.cli.call import call_tool
from contextive.errors import ContextiveError, InternalError
from contextive.ingest.settings import IngestRequest
from contextive.packs.knowledge.pack import DocumentsAndBackups
from contextive.registry import Scope
from contextive.search.index import Index
from contextive.server.auth import InvalidToken, fingerprint
from contextive.server.tokens import TokenFile
from contextive.store import open_store, store_condition
from contextive.store.values import AuditEntry, Vote

from .jobs import FILES, open_host

FULL = os.environ.get("DURABILITY") == "full"
CASES = 60 if FULL else 4
SCHEMA_STEP = 7 if FULL else 9_973
VOTES = 120
KINDS = ("index.db", "index.db-wal", "lexical", "vectors")
COMMANDS = (["status"], ["verify"], ["doctor"], ["ingest", "--no-vectors"], ["backup"], ["search", "gauge"])


class DamageProject:
    """A project with an index, votes, tokens and a backup."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for path, text in FILES.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        self.key = root.parent / "token.key"
        self.tokens = [
            TokenFile(root / ".contextive", self.key).issue(f"t{number}", Scope.READER) for number in range(3)
        ]
        with open_host(root) as host:
            index = host.services.get(Index)
            index.ingest(IngestRequest(profile="first"))
            index.embed(dummy=True)
            call_tool(host, "km-search", {"query": "gauge"})
            self.archive = host.services.get(DocumentsAndBackups).backups().create().path.relative_to(root)
            with index.store.transaction() as writer:
                for number in range(VOTES):
                    writer.put_vote(
                        Vote(f"q{number}", "docs/gauge.md::0", "somebody", 1.0, f"note {number} " * 9, {}, 1.0)
                    )
                writer.put_audit(AuditEntry(1.0, "somebody", "tool", {}))
            index.store.search.catch_up()
            # Copied while the store is open, so that the copy includes the write-ahead log, as after a crash.
            shutil.copytree(root, root.parent / "as-killed")
        self.as_killed = root.parent / "as-killed"

    def copy(self, target: Path) -> Path:
        shutil.copytree(self.as_killed, target)
        return target


@pytest.fixture(scope="module")
def damage_project(tmp_path_factory: pytest.TempPathFactory) -> DamageProject:
    root = tmp_path_factory.mktemp("damage") / "project"
    root.mkdir()
    return DamageProject(root)


@pytest.fixture(autouse=True)
def _without_a_model(monkeypatch: pytest.MonkeyPatch, damage_project: DamageProject) -> None:
    monkeypatch.setenv("CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL", "dummy")
    monkeypatch.setenv("XDG_STATE_HOME", str(damage_project.root.parent / "xdg"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(damage_project.root.parent / "xdg"))


def damage(file: Path, rng: random.Random) -> str:
    """Flip, zero or cut bytes at a random position; returns a description."""
    content = bytearray(file.read_bytes())
    if not content:
        return "nothing"
    at = rng.randrange(len(content))
    length = rng.choice((1, 1, 16, 600))
    match rng.choice(("flip", "flip", "zero", "cut")):
        case "flip":
            for position in range(at, min(at + length, len(content))):
                content[position] ^= rng.randrange(1, 256)
            description = f"{length} bytes flipped at {at}"
        case "zero":
            stop = min(at + 4 * length, len(content))
            content[at:stop] = bytes(stop - at)
            description = f"{4 * length} bytes zeroed at {at}"
        case _:
            del content[max(at, 1) :]
            description = f"cut at {at}"
    file.write_bytes(bytes(content))
    return f"{file.name}: {description}"


def files_to_damage(state: Path, kind: str) -> list[Path]:
    path = state / kind
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    return [file for file in files if file.is_file() and not file.name.endswith(".lock") and file.stat().st_size]


def command(arguments: list[str], project: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Exit code and standard error of a command. An exception that would print a traceback is raised here."""
    code = run([arguments[0], "--project", str(project), *arguments[1:]])
    return code, capsys.readouterr().err


def readable_votes(state: Path) -> set[str]:
    """The votes, as text, that SQLite itself can read before the first error."""
    found: set[str] = set()
    with (
        contextlib.suppress(sqlite3.Error, UnicodeDecodeError),
        contextlib.closing(_connect_to_copy(state)) as connection,
    ):
        for number, request, caller, note in connection.execute(
            "SELECT number, request_id, caller, note FROM vote NOT INDEXED ORDER BY number"
        ):
            if isinstance(number, int) and isinstance(request, str) and caller == "somebody":
                found.add(f"{request} {note}")
    return found


def _connect_to_copy(state: Path) -> sqlite3.Connection:
    """A connection to a copy: opening a database changes its log."""
    folder = state.parent / "as-read"
    folder.mkdir(exist_ok=True)
    for file in state.glob("index.db*"):
        shutil.copy(file, folder / file.name)
    return sqlite3.connect(folder / "index.db")


def votes_of(project: Path) -> set[str]:
    store = open_store(project / ".contextive")
    try:
        return {f"{vote.request_id} {vote.note}" for vote in store.records.votes()}
    finally:
        store.close()


##= docs/spec/knowledge.md#store
##% Any database exception MUST count as damage, unless the operating system refused the operation or a check finds
##% the file intact.
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(CASES))
def test_damage_is_reported_and_repaired_and_readable_votes_survive(
    damage_project: DamageProject, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, seed: int
) -> None:
    rng = random.Random(f"{kind} {seed}")
    project = damage_project.copy(tmp_path / "project")
    state = project / ".contextive"
    description = [damage(rng.choice(files_to_damage(state, kind)), rng) for _ in range(rng.choice((1, 1, 3)))]
    readable = readable_votes(state)
    assert store_condition(state).reason_code in ("ok", "damaged", "unknown_schema", "newer_schema", "empty"), (
        description
    )
    for arguments in rng.sample(COMMANDS, len(COMMANDS) if FULL else 1):
        code, stderr = command(arguments, project, capsys)
        assert code in (0, 1), (description, arguments, stderr)
        assert "rejected a statement" not in stderr, (description, arguments, stderr)
    code, stderr = command(["rebuild", "--no-vectors"], project, capsys)
    assert code == 0, (description, stderr)
    code, stderr = command(["verify"], project, capsys)
    assert code == 0, (description, stderr)
    assert readable <= votes_of(project), description
    if kind in ("lexical", "vectors"):
        assert len(votes_of(project)) == VOTES, description


def _statement_bytes(database: Path) -> range:
    content = database.read_bytes()
    starts = [at for at in range(len(content)) if content.startswith((b"CREATE TABLE", b"CREATE INDEX"), at)]
    return range(starts[0], starts[-1] + 60)


##= docs/spec/knowledge.md#store
##% A damaged database MUST be renamed and rebuilt, with the votes, runs and audit records that can still be read.
def test_all_votes_survive_a_flipped_byte_in_the_schema(damage_project: DamageProject, tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(damage_project.as_killed / ".contextive", source)
    with contextlib.closing(sqlite3.connect(source / "index.db")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = (source / "index.db").read_bytes()
    tables = [at for at in range(len(content)) if content.startswith(b"CREATE TABLE vote", at)]
    positions = [
        *range(tables[0], tables[0] + 120, 1 if FULL else 17),
        *_statement_bytes(source / "index.db")[::SCHEMA_STEP],
    ]
    for number, position in enumerate(positions):
        state = tmp_path / f"case{number}"
        state.mkdir()
        changed = bytearray(content)
        changed[position] ^= 0xFF
        (state / "index.db").write_bytes(bytes(changed))
        store = open_store(state)
        try:
            with contextlib.suppress(ContextiveError):
                list(store.verify())  # finds damage that opening did not find
            assert len(store.records.votes()) == VOTES, position
            assert list(store.verify()) == [], position
        finally:
            store.close()
        shutil.rmtree(state)


@contextlib.contextmanager
def _no_internal_error(description: object) -> Iterator[None]:
    """The block may succeed, or fail with any of our errors except an internal one."""
    try:
        yield
    except InternalError as error:
        raise AssertionError(f"{description}: {error}") from error
    except ContextiveError:
        pass


##= docs/spec/gateway.md#issued-tokens
##% Tokens that can still be read from a damaged token file MUST continue to work.
def test_a_damaged_token_file_accepts_no_unknown_token_and_readable_tokens_work(
    damage_project: DamageProject, tmp_path: Path
) -> None:
    accepted = 0
    for seed in range(200 if FULL else 40):
        rng = random.Random(f"tokens {seed}")
        state = tmp_path / f"s{seed}"
        state.mkdir()
        shutil.copy(damage_project.as_killed / ".contextive" / "tokens.json", state / "tokens.json")
        description = damage(state / "tokens.json", rng)
        file = TokenFile(state, damage_project.key)
        assert file, description
        assert file.caller_of(fingerprint("ctx_" + "x" * 43)) is None, description
        for token in damage_project.tokens:
            with contextlib.suppress(InvalidToken):
                accepted += file.caller_of(fingerprint(token)) is not None
        with _no_internal_error(description):
            file.issue("new", Scope.READER)
            assert len(file.tokens()) >= 2, description
    assert accepted > 40


def _restore(damage_project: DamageProject, project: Path) -> None:
    from contextive.store.restore import restore_backup

    with open_host(project) as host:
        restore_backup(project / damage_project.archive, host.services.get(DocumentsAndBackups).backups(), force=True)


def test_a_damaged_backup_is_never_restored_in_part(
    damage_project: DamageProject, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = damage_project.copy(tmp_path / "project")
    intact = (project / damage_project.archive).read_bytes()
    for seed in range(200 if FULL else 25):
        (project / damage_project.archive).write_bytes(intact)
        description = damage(project / damage_project.archive, random.Random(f"archive {seed}"))
        code, stderr = command(["backup", "--check", str(project / damage_project.archive)], project, capsys)
        assert code in (0, 1), (description, stderr)
    with _no_internal_error("restore"):
        _restore(damage_project, project)
    assert len(votes_of(project)) in (0, VOTES)


def _make_newer(state: Path) -> None:
    _set_version(state, 9999)


def _make_unknown(state: Path) -> None:
    _set_version(state, 0)


def _make_negative(state: Path) -> None:
    _set_version(state, -1)


def _set_version(state: Path, version: int) -> None:
    with contextlib.closing(sqlite3.connect(state / "index.db")) as connection:
        connection.execute(f"PRAGMA user_version = {version}")


def _make_empty(state: Path) -> None:
    for file in state.glob("index.db-*"):
        file.unlink()
    (state / "index.db").write_bytes(b"")


def _make_directory(state: Path) -> None:
    for file in state.glob("index.db*"):
        file.unlink()
    (state / "index.db").mkdir()
    (state / "index.db" / "inside").write_text("kept", encoding="utf-8")


##= docs/spec/knowledge.md#store
##% An unusable index MUST be reported with what to do: an empty file, something that is not a file, and a schema that
##% is newer or unknown.
##= docs/spec/knowledge.md#store
##% The command `rebuild` MUST replace whatever is at the path of the database, after renaming it.
@pytest.mark.parametrize(
    ("make_unusable", "code", "message", "votes"),
    [
        (_make_newer, "newer_schema", "schema 9999", VOTES),
        (_make_unknown, "unknown_schema", "schema 0", VOTES),
        (_make_negative, "unknown_schema", "schema -1", VOTES),
        (_make_empty, "empty", "index.db is empty", 0),
        (_make_directory, "not_a_file", "index.db is not a file", 0),
    ],
)
def test_an_unusable_index_is_reported_and_replaced_only_by_rebuild(
    damage_project: DamageProject,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    make_unusable: Callable[[Path], None],
    code: str,
    message: str,
    votes: int,
) -> None:
    project = damage_project.copy(tmp_path / "project")
    state = project / ".contextive"
    make_unusable(state)
    before = _content(state)
    condition = store_condition(state)
    assert (condition.ok, condition.reason_code) == (False, code)
    assert message in condition.message
    assert "contextive-mcp rebuild" in condition.hint
    for arguments in COMMANDS:
        exit_code, stderr = command(arguments, project, capsys)
        assert exit_code == 1, arguments
        assert message in stderr or arguments == ["doctor"], (arguments, stderr)
    assert _content(state) == before
    exit_code, stderr = command(["rebuild", "--no-vectors"], project, capsys)
    assert exit_code == 0, stderr
    assert message in stderr
    assert "index.db.damaged-" in stderr
    assert command(["verify"], project, capsys)[0] == 0
    assert len(votes_of(project)) == votes
    assert store_condition(state).ok
    (renamed,) = [path for path in state.glob("index.db.damaged-*") if path.name[-4:] not in ("-wal", "-shm")]
    assert renamed.is_dir() == (code == "not_a_file")


def _content(state: Path) -> dict[str, bytes | None]:
    return {file.name: file.read_bytes() if file.is_file() else None for file in state.glob("index.db")}
