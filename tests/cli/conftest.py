from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from contextive.cli import run
from tests.plugins.packages import install_odd_pack, python_path
from tests.processes import clean_environment
from tests.raw_clients import PROGRAM


@dataclass
class CliProcess:
    """The command line in its own directory, with its own trust list."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    def run(
        self, *arguments: str, code: int = 0, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """The finished command. It must end with that exit code, and without a traceback."""
        own = {"XDG_CONFIG_HOME": str(self.folder / "xdg"), **self.environment}
        done = subprocess.run(
            [*PROGRAM, *arguments],
            cwd=self.folder,
            env=clean_environment({**own, **(env or {})}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode == code, (done.stdout, done.stderr)
        return done

    def error_message(self, *arguments: str, code: int, env: Mapping[str, str] | None = None) -> str:
        """The one-line message on standard error of a failing command; standard output must be empty."""
        done = self.run(*arguments, code=code, env=env)
        assert done.stdout == ""
        (line,) = done.stderr.splitlines()
        assert line.startswith("contextive-mcp: ")
        return line.removeprefix("contextive-mcp: ")

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path


@dataclass(frozen=True)
class CliOutput:
    """The output of a command."""

    stdout: str
    stderr: str


@dataclass
class InProcessCli:
    """The command line in this process: the same `run`, without starting an interpreter."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def run(self, *arguments: str, code: int = 0, env: Mapping[str, str] | None = None) -> CliOutput:
        with self.monkeypatch.context() as patch:
            patch.chdir(self.folder)
            for name in [name for name in os.environ if name.startswith(("KM_", "CONTEXTIVE_"))]:
                patch.delenv(name)
            for name, value in {"XDG_CONFIG_HOME": str(self.folder / "xdg"), **(env or {})}.items():
                patch.setenv(name, value)
            found = run(list(arguments))
        printed = CliOutput(*self.capsys.readouterr())
        assert found == code, printed
        return printed

    def error_message(self, *arguments: str, code: int, env: Mapping[str, str] | None = None) -> str:
        """The one-line message on standard error of a failing command; standard output must be empty."""
        printed = self.run(*arguments, code=code, env=env)
        assert printed.stdout == ""
        (line,) = printed.stderr.splitlines()
        assert line.startswith("contextive-mcp: ")
        return line.removeprefix("contextive-mcp: ")

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path


@pytest.fixture
def in_process_cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> InProcessCli:
    folder = tmp_path / "project"
    folder.mkdir()
    return InProcessCli(folder, monkeypatch, capsys)


@pytest.fixture
def cli_process(tmp_path: Path) -> CliProcess:
    folder = tmp_path / "project"
    folder.mkdir()
    return CliProcess(folder)


@pytest.fixture(scope="module")
def cli_process_with_odd_pack(tmp_path_factory: pytest.TempPathFactory) -> CliProcess:
    """A CliProcess with the odd plugin installed, and enabled by the environment."""
    site = tmp_path_factory.mktemp("site")
    install_odd_pack(site)
    folder = tmp_path_factory.mktemp("project")
    config = folder / "given.json"
    config.write_text('{"toolPacks": {"odd": {"mode": "read-write"}}}', encoding="utf-8")
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    assert python_path(site)["PYTHONPATH"] == path
    return CliProcess(folder, {"PYTHONPATH": path, "CONTEXTIVE_CONFIG": str(config)})
