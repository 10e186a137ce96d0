"""`token create | list | revoke`: manages the tokens of HTTP clients."""

from __future__ import annotations

import argparse
import json
import re
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from contextive.cli.load_project import open_host, token_key_path
from contextive.cli.parser import add_project_options
from contextive.cli.printing import print_data, print_line
from contextive.errors import UsageError
from contextive.registry import Scope

if TYPE_CHECKING:
    from contextive.server.host import Host
    from contextive.server.tokens import IssuedToken, TokenFile

_UNITS = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z")


def configure_token(parser: argparse.ArgumentParser) -> None:
    add_project_options(parser, profile=False)
    actions = ("create", "list", "revoke")
    parser.add_argument("action", choices=actions, metavar="ACTION", help=f"one of {', '.join(actions)}")
    parser.add_argument("name", nargs="?", metavar="NAME", help="name of the token; it appears in logs")
    parser.add_argument(
        "--scope",
        choices=[Scope.READER.value, Scope.MAINTAINER.value],
        metavar="SCOPE",
        help="with create: reader or maintainer (default: reader)",
    )
    parser.add_argument("--expires", metavar="WHEN", help="with create: 12h, 30d, 8w, or a date such as 2031-12-31")
    parser.add_argument(
        "--tool", action="append", default=[], metavar="TOOL", help="with create: allow only this tool; may be repeated"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run_token)


def run_token(options: argparse.Namespace) -> int:
    from contextive.server.tokens import TokenFile

    if options.action != "create" and (options.scope or options.expires or options.tool):
        raise UsageError("--scope, --expires and --tool are only for token create.")
    if (options.name is None) is (options.action != "list"):
        raise UsageError(
            "token list takes no name." if options.action == "list" else f"token {options.action} needs a name."
        )
    host = open_host(options)
    file = TokenFile(host.state_dir, token_key_path())
    match options.action:
        case "create":
            _create(host, file, options)
        case "revoke":
            revoked = file.revoke(options.name)
            if options.json:
                print_data(json.dumps(_token_to_dict(revoked)))
            else:
                print_line(f"{revoked.name} is revoked.")
        case _:
            _list(file.tokens(), as_json=options.json)
    return 0


def _create(host: Host, file: TokenFile, options: argparse.Namespace) -> None:
    if not _NAME.match(options.name):
        raise UsageError("A name must have 1 to 64 letters, digits, dots, dashes or underscores.")
    scope = Scope(options.scope or Scope.READER)
    offered = {tool.name: tool for pack in host.assembly.registry.packs.values() for tool in pack.tools}
    for name in options.tool:
        if name not in offered:
            raise UsageError(f"There is no tool {name[:60]!r}.", hint="See contextive-mcp tools --all.")
        if not scope.covers(offered[name].scope):
            raise UsageError(f"{name} needs --scope maintainer.")
    token = file.issue(
        options.name,
        scope,
        tools=options.tool or None,
        expires_at=parse_expiry(options.expires) if options.expires else None,
        taken=[token.name for token in host.config.auth.tokens],
    )
    if options.json:
        issued = next(item for item in reversed(file.tokens()) if item.name == options.name)
        print_data(json.dumps({**_token_to_dict(issued), "token": token}))
    else:
        print_line(token)
        print_line("Save it now: it is shown only once. Clients send it as Authorization: Bearer, over TLS.")


def parse_expiry(text: str, now: float | None = None) -> float:
    """The time of `30d`, `12h` or a date in seconds since the epoch; a date means its first moment in UTC."""
    now = time.time() if now is None else now
    if found := re.fullmatch(r"([0-9]{1,6})([mhdw])", text):
        moment = now + int(found[1]) * _UNITS[found[2]]
    else:
        try:
            parsed = datetime.fromisoformat(text)
        except ValueError:
            raise UsageError("--expires takes 12h, 30d, 8w, or a date such as 2031-12-31.") from None
        moment = (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
    if moment <= now:
        raise UsageError("--expires must be in the future.")
    return moment


def _list(tokens: tuple[IssuedToken, ...], *, as_json: bool) -> None:
    if as_json:
        print_data(json.dumps([_token_to_dict(token) for token in tokens], indent=2))
        return
    width = max((len(token.name) for token in tokens), default=0)
    for token in tokens:
        until = f", until {_date(token.expires_at)}" if token.expires_at is not None else ""
        tools = f", only {', '.join(token.tools)}" if token.tools is not None else ""
        state = token.state(time.time())
        print_line(
            f"{token.name:<{width}}  {token.scope.value:<10}  {state}, since {_date(token.created_at)}{until}{tools}"
        )
    if not tokens:
        print_line("There are no tokens.")


def _token_to_dict(token: IssuedToken) -> dict[str, Any]:
    """Everything except the hash."""
    return {
        "name": token.name,
        "scope": token.scope.value,
        "state": token.state(time.time()),
        "created_at": _date(token.created_at),
        "expires_at": _date(token.expires_at),
        "revoked_at": _date(token.revoked_at),
        "tools": None if token.tools is None else list(token.tools),
    }


def _date(moment: float | None) -> str | None:
    return None if moment is None else datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")
