"""Packs from other installed packages: entry points of the group `contextive.packs`, loaded only when configured.

A plugin that raises, hangs, prints, exits or uses a name that is taken is reported and left out, and the server still starts.
Errors in its handlers are handled by the dispatcher.
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
    """A plugin that was left out, and the reason, for the log and `check`."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class LoadedPlugins:
    """The packs that were loaded, and the plugins that were left out."""

    packs: tuple[Pack, ...]
    problems: tuple[PluginProblem, ...]


##= docs/spec/host.md#discovery
##% Packs of installed packages MUST be found through entry points in the group `contextive.packs`.
def installed_plugins() -> dict[str, list[EntryPoint]]:
    """All entry points of the group by name. Two packages can use the same name."""
    found: dict[str, list[EntryPoint]] = {}
    for entry in entry_points(group=GROUP):
        found.setdefault(entry.name, []).append(entry)
    return found


##= docs/spec/host.md#broken-plugins
##% A plugin that declares a name already in use MUST be left out.
##= docs/spec/host.md#broken-plugins
##% A plugin that is left out MUST NOT prevent the rest of the server from working.
def load_plugins(names: Sequence[str], builtin: Iterable[Pack], timeout_seconds: float) -> LoadedPlugins:
    """Load the named plugins one after another, each with the time limit."""
    installed = installed_plugins() if names else {}
    packs: list[Pack] = []
    problems: list[PluginProblem] = []
    builtin = list(builtin)
    for name in names:
        outcome = _load(name, installed.get(name, []), timeout_seconds)
        if isinstance(outcome, Pack):
            taken = conflicts(outcome, [*builtin, *packs])
            if taken:
                outcome = f"declares names that are already in use: {', '.join(taken)}"
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
    """The pack of the plugin, or the reason why it cannot be loaded."""
    if not entries:
        return f"is not installed: no entry point {name!r} in the group {GROUP}"
    if len(entries) > 1:
        owners = ", ".join(sorted(entry.dist.name if entry.dist else "?" for entry in entries))
        return f"is claimed by more than one package: {owners}"
    outcome: list[Pack | str] = []
    printed = io.StringIO()
    # A thread, because functions cannot come from another process. A daemon, so that a hanging plugin cannot delay the exit.
    worker = threading.Thread(target=lambda: outcome.append(_import_pack(entries[0])), daemon=True)
    with contextlib.redirect_stdout(printed):
        worker.start()
        worker.join(timeout_seconds)
    if not outcome:
        return f"did not load within {timeout_seconds:g} seconds"
    if printed.getvalue():
        return "prints while it loads; standard output is reserved for the protocol"
    return outcome[0]


def _import_pack(entry: EntryPoint) -> Pack | str:
    try:
        loaded = entry.load()
        pack = loaded() if callable(loaded) and not isinstance(loaded, Pack) else loaded
    except SystemExit:
        return "tries to end the process while it loads"
    except BaseException as failure:  # noqa: BLE001 - third-party code can raise anything
        return f"fails to load ({type(failure).__name__})"
    if not isinstance(pack, Pack):
        return f"is not a Pack but {type(pack).__name__}"
    if pack.name != entry.name:
        return f"names its pack {pack.name!r}, but its entry point {entry.name!r}"
    return pack
