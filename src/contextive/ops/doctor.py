"""Checks Python, the installation, the configuration and the server; `doctor_index` and `doctor_project` check the rest."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from contextive.config import Config, LoadedConfig
from contextive.errors import ContextiveError
from contextive.ops.doctor_project import Diagnosis, diagnose_clients, diagnose_project
from contextive.ops.duvet_on_path import other_duvet_message


##= docs/spec/commands.md#doctor
##% A broken configuration MUST NOT hide the doctor's other findings.
def diagnose(load: Callable[[], LoadedConfig], project: Path) -> Iterator[Diagnosis]:
    """All checks, in the order in which a starting server would run into the problems."""
    yield _python()
    yield _command()
    if message := other_duvet_message(os.environ.get("PATH", ""), Path.home()):
        yield Diagnosis("duvet", True, message)
    try:
        loaded = load()
    except ContextiveError as error:
        remedy = f"{error.hint or 'Run contextive-mcp check.'} The checks below use the built-in defaults."
        yield Diagnosis("configuration", False, error.message, remedy)
        loaded = LoadedConfig(Config(), None, "defaults", True, (), (), project)
    else:
        yield from _configuration(loaded)
    if loaded.ignored:
        keys = ", ".join(item.key for item in loaded.ignored)
        yield Diagnosis(
            "trust",
            False,
            f"Settings ignored because the configuration file is not trusted: {keys}.",
            "Review the file, then run contextive-mcp trust.",
        )
    yield _state(project, loaded)
    yield from _packs(loaded)
    yield from diagnose_project(project, loaded)
    yield diagnose_clients(project)
    if loaded.config.server.mode == "http":
        yield _port(loaded)
    yield _protocol()


def _python() -> Diagnosis:
    found = ".".join(map(str, sys.version_info[:3]))
    return Diagnosis("python", sys.version_info >= (3, 11), f"Python {found}.", "Install Python 3.11 or newer.")


def _command() -> Diagnosis:
    on_path = shutil.which("contextive-mcp") is not None
    return Diagnosis(
        "command",
        on_path,
        "contextive-mcp is on the PATH."
        if on_path
        else "contextive-mcp is not on the PATH, so clients cannot start it.",
        "Install it with pipx or uv tool, or use the full path of the command in the clients.",
    )


def _configuration(loaded: LoadedConfig) -> Iterator[Diagnosis]:
    from contextive.ops.config_check import configuration_problems
    from contextive.server.host import Host

    origin = f"{loaded.path.name} ({loaded.source})" if loaded.path else "built-in defaults"
    may_write = loaded.config.auth.admin_token or loaded.config.server.allow_writes
    writing = "on" if may_write else "off; server.allowWrites or serve --allow-writes turns it on"
    profile = loaded.config.server.profile
    yield Diagnosis("configuration", True, f"Valid: {origin}, profile {profile}. Writing over stdio is {writing}.")
    try:
        host = Host(loaded, mode="in-process")
    except ContextiveError:
        return  # reported with the packs
    try:
        for problem in configuration_problems(host):
            yield Diagnosis("configuration", False, problem, "Change the setting; contextive-mcp check lists them all.")
    finally:
        host.close()


def _state(project: Path, loaded: LoadedConfig) -> Diagnosis:
    from contextive.store import store_condition
    from contextive.store.disk_probe import write_error

    folder = project / loaded.config.store.state_path
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    if folder.exists():
        condition = store_condition(folder)
        if condition.reason_code in ("read_only", "full", "unreachable"):
            return Diagnosis("state", False, condition.message, condition.hint)
    if error := write_error(nearest):
        remedy = "Free disk space, or set store.statePath to a writable directory."
        return Diagnosis("state", False, f"The state directory is not writable ({error.strerror}).", remedy)
    free = shutil.disk_usage(nearest).free
    free_text = f"{free / 1e9:.0f} GB" if free >= 1e10 else f"{free / 1e6:.0f} MB"
    return Diagnosis("state", True, f"The state directory is writable; {free_text} free.")


def _packs(loaded: LoadedConfig) -> Iterator[Diagnosis]:
    from contextive.server.host import assemble

    try:
        assembly = assemble(loaded.config)
    except ContextiveError as error:
        yield Diagnosis("packs", False, error.message, error.hint or "Run contextive-mcp check.")
        return
    yield Diagnosis("packs", True, f"Loaded: {', '.join(assembly.registry.packs)}.")
    for problem in assembly.problems:
        yield Diagnosis(
            "plugin", False, f"{problem.name} {problem.reason}.", "Fix the plugin, or remove it from toolPacks."
        )
    if "knowledge" in assembly.registry.packs:
        from contextive.ops.doctor_index import diagnose_index

        yield from diagnose_index(loaded)


def _port(loaded: LoadedConfig) -> Diagnosis:
    server = loaded.config.server
    family = socket.AF_INET6 if ":" in server.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((server.host.strip("[]"), server.port))
        except OSError as failure:
            reason = failure.strerror or os.strerror(failure.errno or 0)
            return Diagnosis(
                "port", False, f"Cannot listen on port {server.port} ({reason}).", "Set server.port to a free port."
            )
    return Diagnosis("port", True, f"Port {server.port} is free.")


def _protocol() -> Diagnosis:
    try:
        found = version("mcp")
    except PackageNotFoundError:
        return Diagnosis("protocol", False, "The MCP SDK is not installed.", "Reinstall contextive-mcp.")
    major, minor = (int(part) if part.isdigit() else 0 for part in f"{found}.0".split(".")[:2])
    return Diagnosis(
        "protocol",
        major == 2 and minor >= 3,
        f"MCP SDK {found}.",
        "Reinstall contextive-mcp: it needs mcp 2.3 or a newer 2.x.",
    )
