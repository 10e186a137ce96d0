"""What is traced in a project that says nothing: the usual places of specifications, and code by its file endings."""

from __future__ import annotations

from contextive.trace.citation import CommentStyle
from contextive.trace.duvet_config import REQUIREMENT_PATTERNS, SourcePattern, SpecificationSource, TraceSettings
from contextive.workspace.folders import Folders
from contextive.workspace.globs import Allows, Glob

SPECIFICATION_PATTERNS = (
    "specs/**/*.md",
    "specs/**/*.txt",
    "spec/**/*.md",
    "docs/spec/**/*.md",
    "docs/specs/**/*.md",
    "**/*.requirements.md",
)
_SLASHES = CommentStyle("//=", "//#")
_STARS = CommentStyle("*=", "*#")
_HASHES = (CommentStyle("##=", "##%"), CommentStyle("#=", "#%"))
STYLES_BY_ENDING: dict[str, tuple[CommentStyle, ...]] = {
    **dict.fromkeys(
        ("rs", "go", "js", "jsx", "ts", "tsx", "mjs", "cs", "swift", "kt", "scala", "dart", "zig"), (_SLASHES,)
    ),
    **dict.fromkeys(("c", "h", "cc", "cpp", "cxx", "hpp", "java", "m", "php", "dfy"), (_SLASHES, _STARS)),
    **dict.fromkeys(("py", "pyi", "rb", "sh", "pl", "r", "yml", "yaml", "ex", "exs"), _HASHES),
    "lua": (CommentStyle("--=", "--#"),),
    "sql": (CommentStyle("--=", "--#"),),
}


##= docs/spec/trace.md#defaults
##% Without `.duvet/config.toml` the usual places of specifications and the source files of known languages MUST be
##% traced.
def settings_for(
    root: str,
    specifications: tuple[str, ...],
    sources: tuple[str, ...],
    allows: Allows | None = None,
    folders: Folders | None = None,
) -> TraceSettings:
    """Settings from our own configuration's `trace` section, with defaults for what it leaves open."""
    paths = _specifications(root, specifications, allows, folders or Folders())
    return TraceSettings(
        specifications=tuple(map(SpecificationSource, paths)),
        sources=tuple(_sources(sources)),
        requirement_patterns=REQUIREMENT_PATTERNS,
        automatic=not sources,
    )


def _specifications(root: str, wanted: tuple[str, ...], allows: Allows | None, folders: Folders) -> list[str]:
    found: dict[str, None] = {}
    for pattern in wanted or SPECIFICATION_PATTERNS:
        if "://" in pattern:
            found[pattern] = None
        else:
            glob = Glob(pattern, skip_generated=True)
            if allows is None or allows(glob.base):
                found |= dict.fromkeys(glob.walk(root, allows, folders))
    return list(found)


def _sources(wanted: tuple[str, ...]) -> list[SourcePattern]:
    if not wanted:
        return [
            SourcePattern(f"**/*.{ending}", style) for ending, styles in STYLES_BY_ENDING.items() for style in styles
        ]
    patterns = []
    for pattern in wanted:
        ending = pattern.rpartition(".")[2]
        styles = STYLES_BY_ENDING.get(ending, (_SLASHES, *_HASHES))
        patterns += [SourcePattern(pattern, style) for style in styles]
    return patterns
