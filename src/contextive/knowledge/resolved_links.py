"""Find the files and symbols that a document or a settings file refers to."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Sequence

from contextive.knowledge.classification import artifact_type_of
from contextive.knowledge.known_paths import KnownPaths, shared_folders
from contextive.knowledge.project_names import DeclaredSymbol
from contextive.knowledge.support_code import is_product_code
from contextive.knowledge.symbol import Reference, Symbol

_CAPITALISED_KINDS = frozenset({"class", "interface", "type"})


##= docs/spec/knowledge.md#nodes-and-edges
##% A name MUST be resolved only if it is unambiguous.
def resolve_links(
    path: str, references: Iterable[Reference], known: KnownPaths, declared: Callable[[str], Sequence[DeclaredSymbol]]
) -> Iterator[str]:
    """Paths of files and ids of symbols that a file links to or mentions. `declared` returns symbols by bare name."""
    for reference in references:
        if reference.kind not in ("link", "mention"):
            continue
        if reference.name in known.paths:
            yield reference.name
        elif reference.kind == "link" and reference.name.endswith("/*"):
            yield from known.by_folder.get(reference.name[:-2], ())
        elif reference.kind == "mention":
            name = reference.name.replace("::", ".").replace("#", ".")
            if target := _mentioned_symbol(path, name, declared(name.rpartition(".")[2])):
                yield target.id
            elif "." in name and (file := _mentioned_file(path, reference.name, known)):
                yield file


def _mentioned_file(path: str, name: str, known: KnownPaths) -> str | None:
    """The file with this path relative to the document, or the nearest one whose path ends with it."""
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
    return beside if beside in known.paths else known.nearest(path, [posixpath.normpath(name)])


def _mentioned_symbol(path: str, name: str, declared: Sequence[DeclaredSymbol]) -> Symbol | None:
    """The only symbol that a name can mean in a document: code nearby takes precedence, then product code."""
    fitting = [item for item in declared if _means(name, *item)]
    if len(fitting) > 1:
        most = max(shared_folders(path, other) for other, _ in fitting)
        fitting = [item for item in fitting if shared_folders(path, item[0]) == most]
    if len(fitting) > 1:
        product = [
            item for item in fitting if artifact_type_of(item[0]) in ("code", "proto") and is_product_code(item[0])
        ]
        fitting = product or fitting
    if len({(path, symbol.qualified_name) for path, symbol in fitting}) != 1:
        return None
    return fitting[0][1]


def _means(name: str, path: str, symbol: Symbol) -> bool:
    """Whether a document means a symbol by a name."""
    if "." not in name:
        # The name of a product is also the name of its main class, but documents mean the product.
        is_product = f"/{name.lower()}/" in f"/{path.lower()}"
        return not is_product and (not name[:1].isupper() or symbol.kind in _CAPITALISED_KINDS)
    return is_name_of(name, path, symbol)


def is_name_of(name: str, path: str, symbol: Symbol) -> bool:
    """Whether a dotted name is that of a symbol: its qualified name, the end of it, or that with its module in front."""
    qualified = symbol.qualified_name
    if qualified == name or qualified.endswith(f".{name}"):
        return True
    module, found, rest = name.rpartition(f".{qualified}")
    return bool(found) and not rest and _module_of(path).endswith(f"/{module.replace('.', '/')}")


def _module_of(path: str) -> str:
    """The path of a module without suffix, with a slash in front."""
    return "/" + posixpath.splitext(path)[0].removesuffix("/__init__")
