"""`km-upload` in remote mode: a file of this machine is sent to the gateway as a text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contextive.packs.knowledge.documents import requester_of
from contextive.packs.knowledge.pack import DocumentsAndBackups
from contextive.registry import Context


##= docs/spec/gateway.md#remote-mode
##% In remote mode, `km-upload` MUST upload a text file of the local project, and otherwise a file of the gateway.
def upload_as_text(arguments: Mapping[str, Any], ctx: Context) -> tuple[str, dict[str, Any]] | None:
    """The call of `km-storetext` that stores a local file; None if there is no such file on this machine."""
    documents = ctx.service(DocumentsAndBackups).documents()
    found = documents.read_text(arguments["source_path"], requester_of(ctx))
    if found is None:
        return None
    name, text = found
    destination = arguments.get("destination") or f"{documents.settings.docs_subdir}/"
    if destination.endswith("/") or "." not in destination.rpartition("/")[2]:
        destination = f"{destination.rstrip('/')}/{name}"
    options = {key: arguments[key] for key in ("overwrite", "ingest") if key in arguments}
    return "km-storetext", {"content": text, "destination": destination, **options}
