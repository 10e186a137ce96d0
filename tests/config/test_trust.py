from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from contextive.config import TrustStore, default_trust_path
from contextive.errors import ConfigError

from .conftest import Project


@pytest.fixture
def store(tmp_path: Path) -> TrustStore:
    return TrustStore(tmp_path / "deep" / "trust.json")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "contextive.config.json"
    file.write_text('{"server": {"port": 1}}', encoding="utf-8")
    return file


##= docs/spec/host.md#trust
##% A configuration file found in the project directory MUST be untrusted until the user trusts it.
def test_a_file_is_trusted_from_trust_to_revoke(store: TrustStore, file: Path) -> None:
    assert not store.is_trusted(file)
    entry = store.trust(file)
    assert store.is_trusted(file)
    assert store.entries() == (entry,)
    assert store.revoke(file)
    assert not store.is_trusted(file)
    assert not store.revoke(file)


##= docs/spec/host.md#trust
##% Trust MUST be tied to the path and the content of a file, so that a changed file is untrusted again.
def test_a_changed_file_is_no_longer_trusted(store: TrustStore, file: Path) -> None:
    store.trust(file)
    file.write_text("{}", encoding="utf-8")
    assert not store.is_trusted(file)


def test_the_same_content_elsewhere_is_not_trusted(store: TrustStore, file: Path, tmp_path: Path) -> None:
    store.trust(file)
    copy = tmp_path / "copy.json"
    copy.write_bytes(file.read_bytes())
    assert not store.is_trusted(copy)


def test_a_link_to_a_trusted_file_is_the_same_file(store: TrustStore, file: Path, tmp_path: Path) -> None:
    store.trust(file)
    link = tmp_path / "link.json"
    link.symlink_to(file)
    assert store.is_trusted(link)


def test_content_that_was_already_read_is_checked(store: TrustStore, file: Path) -> None:
    store.trust(file)
    assert not store.is_trusted(file, b"something else")


##= docs/spec/host.md#trust
##% The list of trusted files MUST be stored outside every project and be readable only by its user.
def test_the_list_is_private_and_leaves_no_other_files(store: TrustStore, file: Path) -> None:
    store.trust(file)
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert [path.name for path in store.path.parent.iterdir()] == ["trust.json"]


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "null", '{"version": 2, "files": {}}', '{"version": 1, "files": []}', "[" * 100_000, "\udcff"],
)
def test_a_list_that_cannot_be_read_counts_as_empty(store: TrustStore, file: Path, content: str) -> None:
    store.path.parent.mkdir()
    store.path.write_bytes(content.encode(errors="surrogateescape"))
    assert store.entries() == ()
    assert not store.is_trusted(file)
    store.trust(file)
    assert store.is_trusted(file)


def test_an_entry_without_a_digest_is_ignored(store: TrustStore, file: Path) -> None:
    store.path.parent.mkdir()
    store.path.write_text(json.dumps({"version": 1, "files": {str(file): None}}), encoding="utf-8")
    assert store.entries() == ()


def test_a_missing_file_can_be_revoked_but_not_trusted(store: TrustStore, file: Path) -> None:
    store.trust(file)
    file.unlink()
    assert not store.is_trusted(file)
    with pytest.raises(ConfigError, match="cannot be read"):
        store.trust(file)
    assert store.revoke(file)


def test_a_list_that_cannot_be_written_is_an_error(file: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be written"):
        TrustStore(file / "trust.json").trust(file)


def test_the_list_is_in_the_configuration_directory_of_the_user() -> None:
    given = {"XDG_CONFIG_HOME": "/etc/me", "HOME": "/home/me"}
    assert default_trust_path(given) == Path("/etc/me/contextive/trust.json")
    assert default_trust_path({"HOME": "/home/me"}) == Path("/home/me/.config/contextive/trust.json")
    assert default_trust_path({**given, "XDG_CONFIG_HOME": "rel"}) == Path("/home/me/.config/contextive/trust.json")
    assert default_trust_path({}).name == "trust.json"


def test_a_trusted_project_file_may_set_everything(project: Project) -> None:
    file = project.write(
        "contextive.config.json", {"server": {"host": "$HOST"}, "knowledge": {"gatewayUrl": "https://x.test"}}
    )
    project.trust.trust(file)
    loaded = project.load(environ={"HOST": "0.0.0.0"})
    assert (loaded.trusted, loaded.ignored, loaded.source) == (True, (), "project")
    assert (loaded.config.server.host, loaded.config.knowledge.gateway_url) == ("0.0.0.0", "https://x.test")
