from __future__ import annotations

import os
from pathlib import Path

import pytest

from contextive.errors import ConfigError

from .conftest import Project


##= docs/spec/host.md#configuration-file
##% Without either, a file `contextive.config` with the extension json, yaml, yml or toml in the project directory
##% MUST be used.
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("contextive.config.json", '{"server": {"port": 4000}}'),
        ("contextive.config.yaml", "server:\n  port: 4000\n"),
        ("contextive.config.yml", "server: {port: 4000}"),
        ("contextive.config.toml", "[server]\nport = 4000\n"),
    ],
)
def test_a_file_in_the_project_is_found_in_each_format(project: Project, name: str, text: str) -> None:
    file = project.write(name, text)
    loaded = project.load()
    assert loaded.config.server.port == 4000
    assert (loaded.path, loaded.source, loaded.trusted) == (file, "project", False)


##= docs/spec/host.md#configuration-file
##% A file named with `--config` MUST be used instead of any other.
def test_an_explicit_file_overrides_the_environment_and_the_project(project: Project, tmp_path: Path) -> None:
    project.write("contextive.config.json", {"server": {"port": 1}})
    named = project.write("named.json", {"server": {"port": 2}})
    given = project.write("given.json", {"server": {"port": 3}})
    loaded = project.load(given, {"CONTEXTIVE_CONFIG": str(named)})
    assert (loaded.config.server.port, loaded.source, loaded.trusted) == (3, "explicit", True)


##= docs/spec/host.md#configuration-file
##% Without `--config`, the file named by the environment variable `CONTEXTIVE_CONFIG` MUST be used.
def test_the_file_named_by_the_environment_overrides_the_project(project: Project) -> None:
    project.write("contextive.config.json", {"server": {"port": 1}})
    named = project.write("named.json", {"server": {"port": 2}})
    loaded = project.load(environ={"CONTEXTIVE_CONFIG": str(named)})
    assert (loaded.config.server.port, loaded.source, loaded.trusted) == (2, "environment", True)


def test_an_empty_name_in_the_environment_is_ignored(project: Project) -> None:
    assert project.load(environ={"CONTEXTIVE_CONFIG": ""}).source == "defaults"


##= docs/spec/host.md#configuration-file
##% An explicitly named configuration file that cannot be read MUST be an error.
def test_a_missing_explicit_file_is_an_error_that_shows_only_its_name(project: Project) -> None:
    with pytest.raises(ConfigError, match=r'"nowhere\.json" given by --config does not exist') as caught:
        project.load(project.path / "nowhere.json")
    assert str(project.path) not in caught.value.full_message()


def test_a_missing_file_named_by_the_environment_is_an_error(project: Project) -> None:
    message = project.error_with({"CONTEXTIVE_CONFIG": str(project.path / "nowhere.json")})
    assert message == 'The configuration file "nowhere.json" named by CONTEXTIVE_CONFIG does not exist.'


def test_a_directory_is_not_a_configuration_file(project: Project) -> None:
    (project.path / "given.json").mkdir()
    with pytest.raises(ConfigError, match=r"is not a regular file|cannot be read"):
        project.load(project.path / "given.json")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe_does_not_block_the_start(project: Project) -> None:
    os.mkfifo(project.path / "contextive.config.json")
    with pytest.raises(ConfigError, match="is not a regular file"):
        project.load()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission_cannot_be_read(project: Project) -> None:
    file = project.write("given.json", "{}")
    file.chmod(0)
    with pytest.raises(ConfigError, match="cannot be read"):
        project.load(file)


def test_a_dangling_link_in_the_project_is_an_error(project: Project) -> None:
    (project.path / "contextive.config.json").symlink_to(project.path / "gone.json")
    with pytest.raises(ConfigError, match="does not exist"):
        project.load()


##= docs/spec/host.md#configuration-file
##% More than one configuration file in the project directory MUST be an error that names them.
def test_two_files_are_an_error_that_names_both(project: Project) -> None:
    project.write("contextive.config.json", "{}")
    project.write("contextive.config.toml", "")
    with pytest.raises(ConfigError, match=r"2 configuration files: contextive\.config\.json, contextive\.config\.toml"):
        project.load()


##= docs/spec/host.md#configuration-file
##% A configuration file larger than 1 MiB MUST be refused.
def test_a_file_of_one_mebibyte_is_read_and_a_larger_one_is_refused(project: Project) -> None:
    limit = 1024 * 1024
    assert project.load(project.write("given.json", "{}".ljust(limit))).config.server.port == 8787
    assert "larger than 1 MiB" in project.error_of("given.json", "{}".ljust(limit + 1))


def test_a_file_of_another_format_is_refused(project: Project) -> None:
    assert project.error_of("given.ini", "") == "given.ini: unknown format."
