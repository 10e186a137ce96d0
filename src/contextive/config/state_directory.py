"""The state directory may come with a cloned project. A link in its place, or inside it, would have us write somewhere else."""

from __future__ import annotations

import os
from pathlib import Path

from contextive.errors import ConfigError


##= docs/spec/host.md#trust
##% The server MUST NOT start if a state directory inside the project is a link that leads out of the project, or
##% contains a link.
def check_state_directory(project: Path, state_path: str) -> None:
    """Raise ConfigError where writing below the state directory could lead out of the project.

    A path that is written as one outside was chosen by the user: an untrusted file cannot name it.
    """
    root = os.path.abspath(project)  # noqa: PTH100 - without following links, which is the point
    directory = os.path.normpath(os.path.join(root, state_path))  # noqa: PTH118
    if os.path.commonpath((root, directory)) != root:
        return
    real_root, real = os.path.realpath(root), os.path.realpath(directory)
    if os.path.commonpath((real_root, real)) != real_root or _holds_link(directory):
        raise ConfigError(
            "The state directory of the project is a link that leads out of it, or holds a link.",
            hint="Remove the link, or set store.statePath to the directory that is meant.",
        )


def _holds_link(directory: str) -> bool:
    return any(
        os.path.islink(os.path.join(folder, name))  # noqa: PTH114, PTH118
        for folder, folders, files in os.walk(directory)
        for name in (*folders, *files)
    )
