"""A project's first configuration, from what was found in it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from contextive.ops.survey import PatternMatch, Survey

_HEAD = """\
# Contextive configuration. Every key is optional; keys that are commented out show their defaults.
# All keys: contextive-mcp schema, or docs/configuration.md. Check this file with: contextive-mcp check

server:
  mode: stdio            # stdio, or http for several clients
  profile: contextive    # contextive, duvet, spexus, nexus or duskmantle
  # logLevel: info       # trace, debug, info, warn or error
  # host: 127.0.0.1      # any other address needs tokens
  # port: 8787
"""
_TAIL = """\
# Packs of tools. A pack that is not built in is a plugin: install it, name it here, and trust this file.
# toolPacks:
#   some-plugin:
#     mode: read-only    # or read-write, to offer the tools that change something

# Tokens for HTTP are best set as KM_READER_TOKEN and KM_ADMIN_TOKEN in the environment.
"""


def config_text(survey: Survey) -> str:
    """The file's text: what was found is set, and everything else is left as it is by itself."""
    return "\n".join([_HEAD, *_trace(survey), *_notes(survey), _TAIL])


def _trace(survey: Survey) -> Iterator[str]:
    if survey.has_duvet_config:
        yield "# Requirements are traced as .duvet/config.toml says.\n"
        return
    if not survey.specifications:
        yield "# No specification was found. Write one with MUST and SHOULD sentences, such as docs/spec/NAME.md."
        yield '# trace:\n#   specifications: ["docs/spec/*.md"]\n'
        return
    yield "trace:\n  specifications:"
    yield from _pattern_lines(survey.specifications, "requirements")
    if survey.sources:
        yield "  sources:"
        yield from _pattern_lines(survey.sources, "")
    yield ""


def _notes(survey: Survey) -> Iterator[str]:
    if not survey.notes:
        yield '# notes:\n#   paths: ["notes/**/*.md"]\n'
        return
    yield "notes:\n  paths:"
    yield from _pattern_lines(survey.notes, "")
    yield ""


def _pattern_lines(found: Iterable[PatternMatch], what: str) -> Iterator[str]:
    for one in found:
        yield f"    - {json.dumps(one.pattern, ensure_ascii=False)}  # {describe_match(one, what)}"


def describe_match(found: PatternMatch, what: str) -> str:
    """How much a pattern stands for."""
    if "://" in found.pattern:
        return f"cited {found.count} {'time' if found.count == 1 else 'times'}"
    files = f"{found.files} {'file' if found.files == 1 else 'files'}"
    return f"{files}, {found.count} {what}" if what else files
