from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

import contextive.config
from contextive.config import Auth, Config, ConfigRequest, Provider, Server, load_config


def test_every_public_name_exists() -> None:
    assert contextive.config.__all__ == sorted(contextive.config.__all__)
    for name in contextive.config.__all__:
        assert hasattr(contextive.config, name)


def test_a_default_start_imports_no_yaml_or_toml_parser(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from contextive.config import ConfigRequest, load_config;"
        "load_config(ConfigRequest(Path(sys.argv[1])));"
        "print(sorted({'yaml', 'tomllib', 'jsonschema'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


##= docs/spec/host.md#configuration-file
##% Without any configuration file, the built-in defaults MUST be used.
##= docs/spec/host.md#sections
##% Every key MUST be optional, unless its entry would be meaningless without it.
def test_without_a_file_everything_has_its_default(tmp_path: Path) -> None:
    loaded = load_config(ConfigRequest(tmp_path))
    assert loaded.config == Config()
    assert (loaded.path, loaded.source, loaded.trusted) == (None, "defaults", True)
    assert (loaded.ignored, loaded.overrides, loaded.project) == ((), (), tmp_path)


##= docs/spec/host.md#startup
##% The default address MUST be loopback.
##= docs/spec/host.md#sections
##% The section `server` MUST hold the transport, the port, the log level and the other settings of the server.
def test_the_defaults_match_the_documentation() -> None:
    config = Config()
    assert (config.server.mode, config.server.profile, config.server.host) == ("stdio", "contextive", "127.0.0.1")
    assert (config.server.port, config.server.log_level, config.server.shutdown_seconds) == (8787, "info", 3)
    assert config.server.tracing.service_name == "contextive-mcp"
    assert config.notes.paths == ("notes/**/*.md",)
    assert (config.store.state_path, config.knowledge.docs_subdir) == (".contextive", "docs")
    assert (config.limits.rate_requests, config.limits.page_size, config.limits.max_body_bytes) == (6000, 100, 4194304)


def test_a_configuration_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        Config().server.port = 1  # type: ignore[misc]


def test_a_request_cannot_be_changed(tmp_path: Path) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        ConfigRequest(tmp_path).project = tmp_path  # type: ignore[misc]


def test_code_uses_attribute_names() -> None:
    assert Server(log_level="debug").log_level == "debug"


def test_secrets_are_not_in_the_repr() -> None:
    config = Config(auth=Auth(reader_token="q7f0-Zx81-mmA2-pp"), providers={"a": Provider(api_key="sk-hunter2")})
    assert "Zx81" not in repr(config)
    assert "hunter2" not in repr(config)


def test_the_repr_of_a_request_does_not_show_the_environment(tmp_path: Path) -> None:
    assert "hunter2" not in repr(ConfigRequest(tmp_path, environ={"TOKEN": "hunter2"}))
