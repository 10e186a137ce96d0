"""Random damage to every file of a state directory: each command says what is wrong, and `rebuild` puts it right.

Bytes are flipped, ranges zeroed and ends cut off, at places that a seed decides, in the database, its log, the index of words,
the vectors, the tokens and a backup. No command may end in a traceback, `rebuild` must succeed, and the votes that can be read
must survive. `DURABILITY=full` makes more cases.
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

from .jobs import FILES, opened

FULL = os.environ.get("DURABILITY") == "full"
CASES = 60 if FULL else 4
SCHEMA_STEP = 7 if FULL else 9_973
VOTES = 120
KINDS = ("index.db", "index.db-wal", "lexical", "vectors")
COMMANDS = (["status"], ["verify"], ["doctor"], ["ingest", "--no-vectors"], ["backup"], ["search", "gauge"])


class Made:
    """A project with an index, votes, tokens and a backup. `copy` gives another one like it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for path, text in FILES.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        self.key = root.parent / "token.key"
        self.tokens = [
            TokenFile(root / ".contextive", self.key).issue(f"t{number}", Scope.READER) for number in range(3)
        ]
        with opened(root) as host:
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
            # Copied while it is open, so that its log is there, too: what a kill would leave behind.
            shutil.copytree(root, root.parent / "as-left")
        self.as_left = root.parent / "as-left"

    def copy(self, target: Path) -> Path:
        shutil.copytree(self.as_left, target)
        return target


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    root = tmp_path_factory.mktemp("damage") / "project"
    root.mkdir()
    return Made(root)


@pytest.fixture(autouse=True)
def _without_a_model(monkeypatch: pytest.MonkeyPatch, made: Made) -> None:
    monkeypatch.setenv("CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL", "dummy")
    monkeypatch.setenv("XDG_STATE_HOME", str(made.root.parent / "xdg"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(made.root.parent / "xdg"))


def damage(file: Path, chance: random.Random) -> str:
    """Flip, zero or cut at a random place; what was done."""
    content = bytearray(file.read_bytes())
    if not content:
        return "nothing"
    at = chance.randrange(len(content))
    length = chance.choice((1, 1, 16, 600))
    match chance.choice(("flip", "flip", "zero", "cut")):
        case "flip":
            for place in range(at, min(at + length, len(content))):
                content[place] ^= chance.randrange(1, 256)
            done = f"{length} bytes flipped at {at}"
        case "zero":
            stop = min(at + 4 * length, len(content))
            content[at:stop] = bytes(stop - at)
            done = f"{4 * length} bytes zeroed at {at}"
        case _:
            del content[max(at, 1) :]
            done = f"cut at {at}"
    file.write_bytes(bytes(content))
    return f"{file.name}: {done}"


def victims(state: Path, kind: str) -> list[Path]:
    place = state / kind
    files = sorted(place.rglob("*")) if place.is_dir() else [place]
    return [file for file in files if file.is_file() and not file.name.endswith(".lock") and file.stat().st_size]


def command(arguments: list[str], project: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Exit code and standard error of a command. A traceback is an exception that leaves it."""
    code = run([arguments[0], "--project", str(project), *arguments[1:]])
    return code, capsys.readouterr().err


def plainly_readable(state: Path) -> set[str]:
    """The votes that SQLite itself reads from the front without a complaint, as text."""
    found: set[str] = set()
    with contextlib.suppress(sqlite3.Error, UnicodeDecodeError), contextlib.closing(_copied(state)) as connection:
        for number, request, caller, note in connection.execute(
            "SELECT number, request_id, caller, note FROM vote NOT INDEXED ORDER BY number"
        ):
            if isinstance(number, int) and isinstance(request, str) and caller == "somebody":
                found.add(f"{request} {note}")
    return found


def _copied(state: Path) -> sqlite3.Connection:
    """A connection to a copy: opening a database changes its log."""
    place = state.parent / "as-read"
    place.mkdir(exist_ok=True)
    for file in state.glob("index.db*"):
        shutil.copy(file, place / file.name)
    return sqlite3.connect(place / "index.db")


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
def test_damage_is_explained_and_rebuilt_and_readable_votes_survive(
    made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, seed: int
) -> None:
    chance = random.Random(f"{kind} {seed}")
    project = made.copy(tmp_path / "project")
    state = project / ".contextive"
    done = [damage(chance.choice(victims(state, kind)), chance) for _ in range(chance.choice((1, 1, 3)))]
    readable = plainly_readable(state)
    assert store_condition(state).reason_code in ("ok", "damaged", "unknown_schema", "newer_schema", "empty"), done
    for arguments in chance.sample(COMMANDS, len(COMMANDS) if FULL else 1):
        code, told = command(arguments, project, capsys)
        assert code in (0, 1), (done, arguments, told)
        assert "rejected a statement" not in told, (done, arguments, told)
    code, told = command(["rebuild", "--no-vectors"], project, capsys)
    assert code == 0, (done, told)
    code, told = command(["verify"], project, capsys)
    assert code == 0, (done, told)
    assert readable <= votes_of(project), done
    if kind in ("lexical", "vectors"):
        assert len(votes_of(project)) == VOTES, done


def _statement_bytes(database: Path) -> range:
    content = database.read_bytes()
    starts = [at for at in range(len(content)) if content.startswith((b"CREATE TABLE", b"CREATE INDEX"), at)]
    return range(starts[0], starts[-1] + 60)


##= docs/spec/knowledge.md#store
##% A damaged database MUST be renamed and rebuilt, with the votes, runs and audit records that can still be read.
def test_all_votes_survive_a_flipped_byte_in_the_schema(made: Made, tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(made.as_left / ".contextive", source)
    with contextlib.closing(sqlite3.connect(source / "index.db")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = (source / "index.db").read_bytes()
    tables = [at for at in range(len(content)) if content.startswith(b"CREATE TABLE vote", at)]
    places = [
        *range(tables[0], tables[0] + 120, 1 if FULL else 17),
        *_statement_bytes(source / "index.db")[::SCHEMA_STEP],
    ]
    for number, place in enumerate(places):
        state = tmp_path / f"case{number}"
        state.mkdir()
        changed = bytearray(content)
        changed[place] ^= 0xFF
        (state / "index.db").write_bytes(bytes(changed))
        store = open_store(state)
        try:
            with contextlib.suppress(ContextiveError):
                list(store.verify())  # what the opening did not find is found here
            assert len(store.records.votes()) == VOTES, place
            assert list(store.verify()) == [], place
        finally:
            store.close()
        shutil.rmtree(state)


@contextlib.contextmanager
def _answered(what: object) -> Iterator[None]:
    """What is asked inside answers, or is refused with a code that is not a fault of ours."""
    try:
        yield
    except InternalError as error:
        raise AssertionError(f"{what}: {error}") from error
    except ContextiveError:
        pass


##= docs/spec/gateway.md#issued-tokens
##% Tokens that can still be read from a damaged token file MUST continue to work.
def test_a_damaged_file_of_tokens_never_opens_the_server_and_readable_ones_work(made: Made, tmp_path: Path) -> None:
    accepted = 0
    for seed in range(200 if FULL else 40):
        chance = random.Random(f"tokens {seed}")
        state = tmp_path / f"s{seed}"
        state.mkdir()
        shutil.copy(made.as_left / ".contextive" / "tokens.json", state / "tokens.json")
        done = damage(state / "tokens.json", chance)
        file = TokenFile(state, made.key)
        assert file, done
        assert file.caller_of(fingerprint("ctx_" + "x" * 43)) is None, done
        for token in made.tokens:
            with contextlib.suppress(InvalidToken):
                accepted += file.caller_of(fingerprint(token)) is not None
        with _answered(done):
            file.issue("new", Scope.READER)
            assert len(file.tokens()) >= 2, done
    assert accepted > 40


def _restore(made: Made, project: Path) -> None:
    from contextive.store.restore import restore_backup

    with opened(project) as host:
        restore_backup(project / made.archive, host.services.get(DocumentsAndBackups).backups(), force=True)


def test_a_damaged_backup_is_refused_and_the_index_stays(
    made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = made.copy(tmp_path / "project")
    whole = (project / made.archive).read_bytes()
    for seed in range(200 if FULL else 25):
        (project / made.archive).write_bytes(whole)
        done = damage(project / made.archive, random.Random(f"archive {seed}"))
        code, told = command(["backup", "--check", str(project / made.archive)], project, capsys)
        assert code in (0, 1), (done, told)
    with _answered("restore"):
        _restore(made, project)
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
    ("spoil", "code", "words", "votes"),
    [
        (_make_newer, "newer_schema", "schema 9999", VOTES),
        (_make_unknown, "unknown_schema", "schema 0", VOTES),
        (_make_negative, "unknown_schema", "schema -1", VOTES),
        (_make_empty, "empty", "index.db is empty", 0),
        (_make_directory, "not_a_file", "index.db is not a file", 0),
    ],
)
def test_an_index_that_cannot_be_used_is_explained_left_alone_and_replaced_by_rebuild(
    made: Made,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    spoil: Callable[[Path], None],
    code: str,
    words: str,
    votes: int,
) -> None:
    project = made.copy(tmp_path / "project")
    state = project / ".contextive"
    spoil(state)
    before = _content(state)
    condition = store_condition(state)
    assert (condition.ok, condition.reason_code) == (False, code)
    assert words in condition.message
    assert "contextive-mcp rebuild" in condition.hint
    for arguments in COMMANDS:
        ended, told = command(arguments, project, capsys)
        assert ended == 1, arguments
        assert words in told or arguments == ["doctor"], (arguments, told)
    assert _content(state) == before
    ended, told = command(["rebuild", "--no-vectors"], project, capsys)
    assert ended == 0, told
    assert words in told
    assert "index.db.damaged-" in told
    assert command(["verify"], project, capsys)[0] == 0
    assert len(votes_of(project)) == votes
    assert store_condition(state).ok
    (renamed,) = [path for path in state.glob("index.db.damaged-*") if path.name[-4:] not in ("-wal", "-shm")]
    assert renamed.is_dir() == (code == "not_a_file")


def _content(state: Path) -> dict[str, bytes | None]:
    return {file.name: file.read_bytes() if file.is_file() else None for file in state.glob("index.db")}
