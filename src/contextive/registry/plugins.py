"""Packs from other installed packages: entry points of the group `contextive.packs`, loaded only when configured.

A plugin is somebody else's code. One that raises, hangs, prints, exits or takes a known name is reported and left out;
the server runs. What a plugin's handlers do later is contained by the dispatcher.
"""

from __future__ import annotations

import contextlib
import io
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

from contextive.registry.declaration import Pack
from contextive.registry.registry import conflicts

GROUP = "contextive.packs"


@dataclass(frozen=True, slots=True)
class PluginProblem:
    """A plugin that was left out, and why, in words fit for a log and for `check`."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class LoadedPlugins:
    """The packs that are fit to serve, and the plugins that are not."""

    packs: tuple[Pack, ...]
    problems: tuple[PluginProblem, ...]


##= docs/spec/host.md#discovery
##% Packs of installed packages MUST be found through entry points in the group `contextive.packs`.
def installed_plugins() -> dict[str, list[EntryPoint]]:
    """Every entry point of the group by name; a name that two packages claim has two."""
    found: dict[str, list[EntryPoint]] = {}
    for entry in entry_points(group=GROUP):
        found.setdefault(entry.name, []).append(entry)
    return found


##= docs/spec/host.md#broken-plugins
##% A plugin that declares a name already in use MUST be left out.
##= docs/spec/host.md#broken-plugins
##% A plugin that is left out MUST NOT prevent the rest of the server from working.
def load_plugins(names: Sequence[str], present: Iterable[Pack], timeout_seconds: float) -> LoadedPlugins:
    """Load the named plugins one after the other, each under the time limit."""
    installed = installed_plugins() if names else {}
    packs: list[Pack] = []
    problems: list[PluginProblem] = []
    present = list(present)
    for name in names:
        outcome = _load(name, installed.get(name, []), timeout_seconds)
        if isinstance(outcome, Pack):
            taken = conflicts(outcome, [*present, *packs])
            if taken:
                outcome = f"takes names that are already in use: {', '.join(taken)}"
        if isinstance(outcome, Pack):
            packs.append(outcome)
        else:
            problems.append(PluginProblem(name, outcome))
    return LoadedPlugins(tuple(packs), tuple(problems))


##= docs/spec/host.md#broken-plugins
##% A plugin that raises an exception, ends the process, prints, or hangs while it loads MUST be left out.
##= docs/spec/host.md#broken-plugins
##% A plugin that two installed packages claim MUST be left out.
def _load(name: str, entries: Sequence[EntryPoint], timeout_seconds: float) -> Pack | str:
    """The plugin's pack, or why there is none."""
    if not entries:
        return f"is not installed: no entry point {name!r} in the group {GROUP}"
    if len(entries) > 1:
        owners = ", ".join(sorted(entry.dist.name if entry.dist else "?" for entry in entries))
        return f"is claimed by more than one package: {owners}"
    outcome: list[Pack | str] = []
    printed = io.StringIO()
    # A thread and not a process: a pack is made of functions. It is a daemon, so that a hanging one cannot hold the exit.
    worker = threading.Thread(target=lambda: outcome.append(_import_pack(entries[0])), daemon=True)
    with contextlib.redirect_stdout(printed):
        worker.start()
        worker.join(timeout_seconds)
    if not outcome:
        return f"did not load within {timeout_seconds:g} seconds"
    if printed.getvalue():
        return "prints while it loads; standard output belongs to the protocol"
    return outcome[0]


def _import_pack(entry: EntryPoint) -> Pack | str:
    try:
        loaded = entry.load()
        pack = loaded() if callable(loaded) and not isinstance(loaded, Pack) else loaded
    except SystemExit:
        return "tries to end the process while it loads"
    except BaseException as failure:  # noqa: BLE001 - the border to somebody else's code
        return f"fails to load ({type(failure).__name__})"
    if not isinstance(pack, Pack):
        return f"does not give a Pack but {type(pack).__name__}"
    if pack.name != entry.name:
        return f"calls its pack {pack.name!r}; the entry point says {entry.name!r}"
    return pack
