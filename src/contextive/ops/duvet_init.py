"""`duvet init`: writes a first `.duvet/config.toml` for the languages found in the project."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from contextive.trace.duvet_config import SCHEMA

_STARS = 'comment-style = { meta = "*=", content = "*#" }'
_HASHES = 'comment-style = { meta = "##=", content = "##%" }'
LANGUAGES: dict[str, tuple[str, str | None, tuple[str, ...]]] = {
    "c": ("src/**/*.c", _STARS, ("CMakeLists.txt",)),
    "cryptoverif": ("**/*.cv", _STARS, ()),
    "go": ("src/**/*.go", None, ("go.mod",)),
    "java": ("src/**/*.java", None, ("pom.xml", "build.gradle", "build.gradle.kts")),
    "javascript": ("src/**/*.js", None, ("package.json",)),
    "proverif": ("**/*.pv", _STARS, ()),
    "python": ("src/**/*.py", _HASHES, ("requirements.txt", "pyproject.toml", "setup.py")),
    "typescript": ("src/**/*.ts", None, ("tsconfig.json",)),
    "ruby": ("lib/**/*.rb", _HASHES, ("Gemfile",)),
    "rust": ("src/**/*.rs", None, ("Cargo.toml",)),
}
"""For each language: the pattern of its sources, the comment style, and the files by which it is detected."""


##= docs/spec/trace.md#other-commands
##% The command `duvet init` MUST NOT replace an existing file.
def initialise(
    root: Path, specifications: Sequence[str], languages: Sequence[str], progress: Callable[[str, str], None]
) -> None:
    """Write `config.toml` and `.gitignore` below `.duvet`; existing files are kept."""
    chosen = [name for name in LANGUAGES if name in languages] or [
        name for name, (_, _, markers) in LANGUAGES.items() if any((root / marker).exists() for marker in markers)
    ]
    folder = root / ".duvet"
    folder.mkdir(exist_ok=True)
    for name, text in (("config.toml", config_text(specifications, chosen)), (".gitignore", "reports/\n")):
        path = f".duvet/{name}"
        progress("Writing", path)
        try:
            with (folder / name).open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            progress("Skipping", f"{path} - already exists ")
        else:
            progress("Wrote", f"{path} ")


def config_text(specifications: Sequence[str], languages: Sequence[str]) -> str:
    lines = [f"'$schema' = {json.dumps(SCHEMA)}", ""]
    for language in languages:
        pattern, style, _ = LANGUAGES[language]
        lines += ["[[source]]", f"pattern = {json.dumps(pattern)}", *([style] if style else []), ""]
    if not languages:
        lines += ["# Specify source code patterns here", "# [[source]]", '# pattern = "src/**/*.rs"', ""]
    for specification in specifications:
        lines += ["[[specification]]", f"source = {json.dumps(specification)}"]
    if not specifications:
        lines += [
            "# Include required specifications here",
            "# [[specification]]",
            '# source = "https://www.rfc-editor.org/rfc/rfc2324"',
        ]
    lines += ["[report.html]", "enabled = true", ""]
    lines += ["# Enable snapshots to prevent requirement coverage regressions", "[report.snapshot]", "enabled = true"]
    return "\n".join(lines) + "\n"
