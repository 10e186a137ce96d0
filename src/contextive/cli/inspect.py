"""`check`, `describe`, `tools` and `schema`: show what the server would offer, without starting it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from contextive.cli.load_project import open_host
from contextive.cli.parser import add_project_options
from contextive.cli.printing import print_data, print_line
from contextive.cli.tables import print_rows
from contextive.registry import Scope


def configure_check(parser: argparse.ArgumentParser) -> None:
    add_project_options(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run_check)


def run_check(options: argparse.Namespace) -> int:
    from contextive.ops.config_check import configuration_problems

    host = open_host(options)
    loaded = host.loaded
    surface = host.surface(host.profile, host.owner.scope)
    report: dict[str, Any] = {
        "config": loaded.path.name if loaded.path else None,
        "source": loaded.source,
        "trusted": loaded.trusted,
        "overrides": list(loaded.overrides),
        "ignored": [{"key": item.key, "reason": item.reason} for item in loaded.ignored],
        "profile": host.profile.name,
        "scope": host.owner.scope.value,
        "packs": list(host.pack_names(host.profile)),
        "tools": list(surface.tools),
        "providers": {
            name: {"enabled": p.enabled, "model": p.default_model} for name, p in host.config.providers.items()
        },
        "plugins": {
            "loaded": list(host.assembly.plugins),
            "left_out": {problem.name: problem.reason for problem in host.assembly.problems},
        },
        "problems": list(configuration_problems(host)),
    }
    if options.json:
        print_data(json.dumps(report, indent=2))
    else:
        _print_check(report)
    return 1 if host.assembly.problems or report["problems"] else 0


def _print_check(report: dict[str, Any]) -> None:
    rows = [
        ("configuration", f"{report['config']} ({report['source']})" if report["config"] else "built-in defaults"),
        ("profile", f"{report['profile']}, scope {report['scope']}"),
        *((key, ", ".join(report[key]) or "none") for key in ("packs", "tools", "providers", "overrides")),
    ]
    rows += [
        ("ignored", f"{item['key']}: {item['reason']} (to allow it, run contextive-mcp trust)")
        for item in report["ignored"]
    ]
    rows += [("not loaded", f"plugin {name} {reason}") for name, reason in report["plugins"]["left_out"].items()]
    rows += [("problem", problem) for problem in report["problems"]]
    print_rows(rows)
    if report["problems"]:
        print_line("The format of the configuration is valid, but calls that use the parts above will fail.")
    else:
        print_line("The configuration is valid.")


def configure_describe(parser: argparse.ArgumentParser) -> None:
    add_project_options(parser)
    parser.add_argument("--json", action="store_true", help="print JSON (the default)")
    parser.set_defaults(run=run_describe)


def run_describe(options: argparse.Namespace) -> int:
    from contextive.server.description import describe_server

    host = open_host(options)
    print_data(json.dumps(describe_server(host, host.profile, host.owner.scope), indent=2, ensure_ascii=False))
    return 0


def configure_tools(parser: argparse.ArgumentParser) -> None:
    add_project_options(parser)
    parser.add_argument(
        "--all",
        action="store_true",
        help="also list tools that need another scope, and those that are only called by name",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, with the schemas")
    parser.set_defaults(run=run_tools)


def run_tools(options: argparse.Namespace) -> int:
    from contextive.server.description import describe_tool

    host = open_host(options)
    host.presence.refresh()
    listed = host.listed_surface(host.profile, host.owner)
    surface = host.surface(host.profile, Scope.MAINTAINER) if options.all else listed
    if options.json:
        print_data(json.dumps([describe_tool(tool) for tool in surface.tools.values()], indent=2, ensure_ascii=False))
        return 0
    print_rows([(tool.name, tool.scope.value, tool.description) for tool in surface.tools.values()])
    if not surface.tools:
        print_line(f"The profile {host.profile.name} offers no tools to the scope {host.owner.scope.value}.")
    return 0


def configure_schema(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output", type=Path, metavar="FILE", help="write to this file")
    parser.add_argument("--json", action="store_true", help="print JSON (the default)")
    parser.set_defaults(run=run_schema)


def run_schema(options: argparse.Namespace) -> int:
    from contextive.config import schema_text

    if options.output:
        options.output.write_text(schema_text(), encoding="utf-8")
    else:
        print_data(schema_text(), end="")
    return 0
