"""Refuses a state directory with symbolic links. It may come with a cloned project, and a link would redirect our writes."""

from __future__ import annotations

import os
from pathlib import Path

from contextive.errors import ConfigError


##= docs/spec/host.md#trust
##% The server MUST NOT start if a state directory inside the project is a link that leads out of the project, or
##% contains a link.
def check_state_directory(project: Path, state_path: str) -> None:
    """Raise ConfigError if writing into the state directory could change files outside the project.

    A configured path outside the project is allowed: only the user can set it, not an untrusted file.
    """
    root = os.path.abspath(project)  # noqa: PTH100 - without following links, which is the point
    directory = os.path.normpath(os.path.join(root, state_path))  # noqa: PTH118
    if os.path.commonpath((root, directory)) != root:
        return
    real_root, real = os.path.realpath(root), os.path.realpath(directory)
    if os.path.commonpath((real_root, real)) != real_root or _contains_link(directory):
        raise ConfigError(
            "The state directory of the project is a symbolic link that leads out of it, or contains a symbolic link.",
            hint="Remove the link, or set store.statePath to the target directory.",
        )


def _contains_link(directory: str) -> bool:
    return any(
        os.path.islink(os.path.join(folder, name))  # noqa: PTH114, PTH118
        for folder, folders, files in os.walk(directory)
        for name in (*folders, *files)
    )
