"""`init` and `trust`: a project's own configuration, and whether its user stands behind it."""

from __future__ import annotations

import argparse
from pathlib import Path

from contextive.cli.parser import add_project_options
from contextive.cli.roots import project_of, trust_store
from contextive.config.discovery import FILE_NAMES
from contextive.errors import Conflict, UsageError
from contextive.ops.clients import client_snippets

TEMPLATE = """\
# Contextive configuration. Every key is optional; the values shown are the defaults.
# All keys: contextive-mcp schema, or docs/configuration.md. Check this file with: contextive-mcp check

server:
  mode: stdio            # stdio, or http for several clients
  profile: contextive    # contextive, duvet, spexus, nexus or duskmantle
  logLevel: info         # trace, debug, info, warn or error
  # host: 127.0.0.1      # any other address needs tokens
  # port: 8787

# Packs of tools. A pack that is not built in is a plugin: install it, name it here, and trust this file.
toolPacks:
  introspect:
    enabled: true
  # some-plugin:
  #   enabled: true
  #   mode: read-only    # or read-write, to offer the tools that change something
  #   allowedTools: [one_tool]
  #   blockedTools: [another_tool]

# Tokens for HTTP are best set as KM_READER_TOKEN and KM_ADMIN_TOKEN in the environment.

limits:
  toolTimeoutSeconds: 60
  rateRequests: 6000     # requests per caller and window; 0 turns the limit off
  rateWindowSeconds: 60
"""


def configure_init(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--project", type=Path, metavar="DIR", help="project directory (default: this one)")
    parser.add_argument("--force", action="store_true", help="replace an existing contextive.config.yaml")
    parser.set_defaults(run=run_init)


def run_init(options: argparse.Namespace) -> int:
    project = project_of(options)
    present = [name for name in FILE_NAMES if (project / name).exists()]
    target = project / "contextive.config.yaml"
    if present and not (options.force and present == [target.name]):
        raise Conflict(
            f"The project already has {present[0]}.", hint="Edit it, or remove it first; --force replaces YAML."
        )
    target.write_text(TEMPLATE, encoding="utf-8")
    print(f"Wrote {target.name}.\n\nAttach a client:")
    for snippet in client_snippets(project):
        print(f"\n# {snippet.client}: {snippet.where}\n{snippet.text}")
    return 0


def configure_trust(parser: argparse.ArgumentParser) -> None:
    add_project_options(parser, profile=False)
    parser.add_argument("--revoke", action="store_true", help="trust the file no longer")
    parser.add_argument("--list", action="store_true", help="show every file that is trusted")
    parser.set_defaults(run=run_trust)


def run_trust(options: argparse.Namespace) -> int:
    store = trust_store()
    if options.list:
        for entry in store.entries():
            print(entry.path)
        return 0
    file = options.config or _project_file(project_of(options))
    if options.revoke:
        store.revoke(file)
        print(f"{file.name} is no longer trusted.")
    else:
        store.trust(file)
        print(f"{file.name} is trusted as it is now. Change it, and it must be trusted again.")
    return 0


def _project_file(project: Path) -> Path:
    present = [name for name in FILE_NAMES if (project / name).is_file()]
    if len(present) != 1:
        found = " and ".join(present) if present else "no configuration file"
        raise UsageError(f"The project has {found}.", hint="There must be one contextive.config.* to trust.")
    return project / present[0]
