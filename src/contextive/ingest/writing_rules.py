"""Names and texts that no tool may write, for notes and for documents.

Notes and documents are read later by people and by agents. So a tool must not write a file that an agent or a program
takes instructions from, in any case or spelling of its name, nor a text with a private key or a token. Files that a
person wrote stay readable; a tool that changes such a file has to leave out the secret, or is refused.
"""

from __future__ import annotations

import re
from typing import Final

from contextive.errors import Forbidden
from contextive.workspace.directory_handles import fold_name
from contextive.workspace.secrets import contains_secret, is_secret_name

DATA_ENDINGS: Final = frozenset({"json", "jsonl", "yaml", "yml", "toml"})
"""Formats that programs use for settings."""
_INSTRUCTIONS: Final = frozenset(
    {
        ".aider.conf.yml", ".clinerules", ".cursorrules", ".goosehints", ".roorules", ".rules", ".windsurfrules",
        "agent.local.md", "agent.md", "agents.local.md", "agents.md", "agents.override.md", "claude.local.md", "claude.md",
        "codex.md", "copilot-instructions.md", "crush.md", "gemini.md", "goose.md", "llms-full.txt",
        "llms.txt", "qwen.md", "skill.md", "warp.md",
    }
)  # fmt: skip
"""Case-folded names of files that agents read as instructions."""
_SETTINGS: Final = frozenset(
    {
        "_config", "action", "angular", "app", "appveyor", "azure-pipelines", "bitbucket-pipelines", "book", "bower", "buf",
        "buildspec", "bunfig", "cargo", "chart", "circle", "claude_desktop_config", "clippy", "cloudbuild",
        "cmakepresets", "cmakeuserpresets", "codecov", "composer", "compose", "conda", "crush", "deno", "dependabot",
        "devcontainer", "devfile", "docker-compose", "environment", "extensions", "firebase", "fly", "galaxy",
        "global", "heroku", "hooks", "hugo", "jsconfig", "jsr", "kustomization", "launch", "lefthook", "lerna",
        "manifest", "marketplace", "mcp", "mise", "mkdocs", "netlify", "npm-shrinkwrap", "nx", "opencode", "package",
        "package-lock", "pdm", "pixi", "playbook", "plugin", "pnpm-lock", "pnpm-workspace", "poetry", "project",
        "pubspec", "pyproject", "pytest", "railway", "render", "renovate", "ruff", "rush", "rust-toolchain",
        "rustfmt", "samconfig", "server", "serverless", "settings", "site", "skaffold", "taskfile", "tasks",
        "template", "tox", "tsconfig", "turbo", "uv", "values", "vcpkg", "vercel", "workspace", "wrangler",
    }
)  # fmt: skip
"""Names, without extension, of JSON, YAML and TOML files that configure tools."""
_BUILD_TEXTS: Final = frozenset({"cmakelists.txt", "meson_options.txt"})
_PINNED: Final = frozenset({"requirements", "constraints"})
"""Words in the names of text files that list packages to install, such as `requirements-dev.txt`."""
_WORD_END: Final = re.compile(r"[-_.]")
_INSTRUCTION_ENDINGS: Final = (".mdc", ".instructions.md", ".prompt.md", ".agent.md", ".chatmode.md")
_CONFIGURATION: Final = re.compile(r"contextive\.config\..*")
_SETTINGS_PATTERN: Final = re.compile(
    r"(?:.*\.config|.*rc|(?:tsconfig|docker-compose|compose|azure-pipelines)[.-].*|mcp[-_.].*)\.(?:json|jsonl|ya?ml|toml)"
)
_SHORT_NAME: Final = re.compile(r"~[0-9]")


##= docs/spec/gateway.md#document-rules
##% A file that controls a tool or an agent MUST NOT be written.
##= docs/spec/notes.md#writing-rules
##% A note MUST NOT be written under a file name that agents read as instructions, regardless of case.
def check_name(name: str) -> None:
    """Raise Forbidden if no tool may write a file with this name."""
    if reason := reason_to_refuse(name):
        raise Forbidden(f"{reason} It is not written.", hint="Choose another title, slug or file name.")


##= docs/spec/gateway.md#document-rules
##% Text that contains a secret MUST NOT be stored.
##= docs/spec/notes.md#writing-rules
##% A note that contains a private key or a token MUST NOT be written.
def check_text(text: str) -> None:
    """Raise Forbidden if a text contains a private key or a token."""
    if contains_secret(text):
        raise Forbidden("The content contains a private key or a token.", hint="Remove it first.")


def may_write(name: str, text: str) -> bool:
    """Whether a file with this name and text may be written."""
    return not reason_to_refuse(name) and not contains_secret(text)


def reason_to_refuse(name: str) -> str:
    """Why no tool may write a file with this name; empty if it may be written."""
    if is_protected(name):
        return "Agents or programs take instructions from a file with this name."
    if is_secret_name(name) or is_secret_name(fold_name(name)) or contains_secret(name):
        return "A file with this name contains secrets."
    if has_short_form(name):
        return "On Windows this can be the short form of another name."
    return ""


def is_protected(name: str) -> bool:
    """Whether a file with this name controls a tool or an agent."""
    folded = fold_name(name)
    stem, _, ending = folded.rpartition(".")
    return (
        folded in _INSTRUCTIONS
        or (ending in DATA_ENDINGS and (stem in _SETTINGS or _SETTINGS_PATTERN.fullmatch(folded) is not None))
        or folded in _BUILD_TEXTS
        or (ending == "txt" and not _PINNED.isdisjoint(_WORD_END.split(stem)))
        or folded.endswith(_INSTRUCTION_ENDINGS)
        or is_configuration(name)
    )


def is_configuration(name: str) -> bool:
    """Whether a file with this name is a configuration of Contextive, which may contain tokens."""
    return _CONFIGURATION.fullmatch(fold_name(name)) is not None


def has_short_form(name: str) -> bool:
    """Whether the name could be a Windows short name: CLAUDE~1.md opens CLAUDE.md."""
    return _SHORT_NAME.search(name) is not None
