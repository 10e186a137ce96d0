"""Node ids of the form `Label:key`, split at the first colon."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from contextive.errors import InvalidIdentifier, InvalidRequest
from contextive.knowledge.artifact import ArtifactType
from contextive.knowledge.graph import LABELS, Label

ARTIFACT_LABELS: Final[dict[ArtifactType, Label]] = {
    "code": "SourceFile",
    "proto": "SourceFile",
    "doc": "DesignDoc",
    "test": "TestCase",
    "config": "ConfigFile",
    "other": "Artifact",
}
"""The label of an artifact's node, by its type."""
_FILES: Final[tuple[Label, ...]] = tuple(dict.fromkeys(ARTIFACT_LABELS.values()))
ALIASES: Final[dict[str, tuple[Label, ...]]] = {
    "Code": ("SourceFile",),
    "Doc": ("DesignDoc",),
    "Test": ("TestCase",),
    "Config": ("ConfigFile",),
    "File": _FILES,
}
"""Other names that are accepted for labels, and the labels that each may mean, in order."""
_LABELS_BY_NAME: Final = {label.lower(): (label,) for label in LABELS} | {
    label.lower(): labels for label, labels in ALIASES.items()
}
_MAX_CHARACTERS = 4096
_HINT = (
    f"Write Label:key, as in DesignDoc:docs/README.md. Labels: {', '.join(LABELS)}; "
    f"{', '.join(ALIASES)} are also accepted as labels of files."
)


@dataclass(frozen=True, slots=True)
class NodeName:
    """A node as a caller named it: a key, and the labels that it may have."""

    labels: tuple[Label, ...]
    key: str

    @property
    def ids(self) -> tuple[str, ...]:
        """The possible ids, the most likely one first."""
        return tuple(node_id(label, self.key) for label in self.labels)


def labels_named(names: Iterable[str]) -> tuple[Label, ...]:
    """The labels with these names or aliases, in any case. Raises InvalidRequest for an unknown one."""
    found: dict[Label, None] = {}
    for name in names:
        labels = _LABELS_BY_NAME.get(name.strip().lower())
        if labels is None:
            raise InvalidRequest(f"There is no label {name[:50]!r}.", hint=f"Labels: {', '.join((*LABELS, *ALIASES))}.")
        found.update(dict.fromkeys(labels))
    return tuple(found)


def node_id(label: Label, key: str) -> str:
    """The id of a node."""
    return f"{label}:{key}"


def artifact_node_id(path: str, artifact_type: ArtifactType) -> str:
    return node_id(ARTIFACT_LABELS[artifact_type], path)


##= docs/spec/knowledge.md#km-graph-node
##% Labels MUST be case-insensitive, and `Code`, `Doc`, `Test`, `Config` and `File` are accepted for files.
##= docs/spec/knowledge.md#km-graph-node
##% A text that is not a node id MUST be refused with `invalid_identifier`.
def parse_node_id(text: str) -> NodeName:
    """Parse an id. Labels are case-insensitive. Raises InvalidIdentifier for anything else."""
    label, colon, key = text.partition(":")
    if not colon:
        raise InvalidIdentifier("The node identifier has no colon.", hint=_HINT)
    labels = _LABELS_BY_NAME.get(label.strip().lower())
    if labels is None:
        raise InvalidIdentifier("The node identifier has an unknown label.", hint=_HINT)
    if not key.strip():
        raise InvalidIdentifier("The node identifier has no key after the colon.", hint=_HINT)
    if len(key) > _MAX_CHARACTERS or "\0" in key:
        raise InvalidIdentifier(f"The node identifier is longer than {_MAX_CHARACTERS} characters, or contains a NUL.")
    return NodeName(labels, key)
