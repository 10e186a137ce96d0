"""The configuration that `init` writes, based on the survey of the project."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from contextive.ops.survey import PatternMatch, Survey

_HEAD = """\
# Contextive configuration. Every key is optional; the commented keys show the defaults.
# All keys: contextive-mcp schema. Check this file with: contextive-mcp check

server:
  mode: stdio            # stdio for one client, http for several
  profile: contextive    # set of tools: contextive, duvet, spexus, nexus or duskmantle
  # logLevel: info       # trace, debug, info, warn or error
  # host: 127.0.0.1      # any other address needs tokens
  # port: 8787
"""
_TAIL = """\
# Plugins add tools. Install the plugin, name it here, and trust this file with: contextive-mcp trust
# toolPacks:
#   some-plugin:
#     mode: read-only    # or read-write, to also offer tools that change something

# Set tokens for HTTP in the environment: KM_READER_TOKEN and KM_ADMIN_TOKEN.
"""


def config_text(survey: Survey) -> str:
    """The text of the file. Only what was found is set; everything else keeps its default."""
    return "\n".join([_HEAD, *_trace(survey), *_notes(survey), _TAIL])


def _trace(survey: Survey) -> Iterator[str]:
    if survey.has_duvet_config:
        yield "# Specifications and sources are configured in .duvet/config.toml.\n"
        return
    if not survey.specifications:
        yield "# No specification was found. To trace requirements, write one with MUST and SHOULD sentences."
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
    for match in found:
        yield f"    - {json.dumps(match.pattern, ensure_ascii=False)}  # {describe_match(match, what)}"


def describe_match(found: PatternMatch, what: str) -> str:
    """The number of files, requirements or citations of a pattern, as text."""
    if "://" in found.pattern:
        return f"cited {found.count} {'time' if found.count == 1 else 'times'}"
    files = f"{found.files} {'file' if found.files == 1 else 'files'}"
    return f"{files}, {found.count} {what}" if what else files
