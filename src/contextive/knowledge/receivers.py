"""Find out what an expression is: a module, a class, an instance of one, or a function of the project.

The result depends only on the symbols, hints and paths that are looked up on the way. All of these lookups are by
name, and the names are recorded: as long as nothing of these names changes in the project, neither does the result.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import Final

from contextive.knowledge.file_hints import ALL_MEMBERS, all_members_key
from contextive.knowledge.languages import family_of, language_of
from contextive.knowledge.project_names import DeclaredSymbol, ProjectNames, SameName
from contextive.knowledge.rust_modules import child_modules, crate_root, parent_module
from contextive.knowledge.symbol import Symbol

_MAX_DEPTH = 7
"""The limit of hints that lead from one to the next. It also ends circular ones."""
_MAX_BASES = 8
_MAX_PACKAGE_FILES = 60
_HEAD = re.compile(r"<[^<>]*>|#?[A-Za-z_$@][\w$]*|[?!]")
_OPERATOR = re.compile(r"\.([\w$#~]+)|(\(\))|(\[\])|(@)|~([\w$.]+)")

_SAME_COLLECTION_TEXT = """
iter iter_mut into_iter values values_mut drain filter rev skip take chain clone cloned copied by_ref as_slice to_vec
slice reverse concat copy stream peekable step_by skip_while take_while toSorted as_ref as_mut unwrap expect lock
borrow borrow_mut read write to_owned parallelStream sorted limit distinct
"""
_SAME_COLLECTION = frozenset(_SAME_COLLECTION_TEXT.split())
_ELEMENT_TEXT = """
next first last get get_mut pop pop_front pop_back nth find at shift remove popleft peek min_by_key max_by_key front
back getFirst getLast setdefault findFirst findAny next_back poll take swap_remove entry
"""
_ELEMENT = frozenset(_ELEMENT_TEXT.split())
_SAME_VALUE_TEXT = """
unwrap expect unwrap_or unwrap_or_else unwrap_or_default clone cloned copied borrow borrow_mut lock read write as_ref
as_mut as_deref as_deref_mut ok ok_or ok_or_else map_err take get get_mut to_owned into upgrade into_inner deref
deref_mut or_else or inspect_err get_or_insert_with orElse orElseThrow orElseGet load join
"""
_SAME_VALUE = frozenset(_SAME_VALUE_TEXT.split())
"""Methods of wrappers such as Option, Result and Arc that return the wrapped value."""
_BARE_MEMBERS = frozenset({"java", "c family"})
"""Languages in which a member of the class around the code can be used by its bare name."""
_CLASS_KINDS = frozenset({"class", "interface", "type"})


@dataclass(frozen=True, slots=True)
class Module:
    """A module or package: its files, and its name as the file at `importer` wrote it."""

    files: tuple[str, ...]
    name: str
    importer: str


@dataclass(frozen=True, slots=True)
class Class:
    path: str
    symbol: Symbol


@dataclass(frozen=True, slots=True)
class Instance:
    cls: Class


@dataclass(frozen=True, slots=True)
class Super:
    """An instance that is seen as one of its base classes."""

    cls: Class


@dataclass(frozen=True, slots=True)
class Function:
    path: str
    symbol: Symbol
    receiver: Class | None = None


@dataclass(frozen=True, slots=True)
class Collection:
    element: Value


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A value in a generic type of the project."""

    outer: Class
    inner: Value


@dataclass(frozen=True, slots=True)
class Returning:
    """A method that does not belong to the project, but returns a value that does."""

    value: Value


@dataclass(frozen=True, slots=True)
class Opaque:
    """A value of which nothing is known, except perhaps that it does not come from the project."""

    is_external: bool


Value = Module | Class | Instance | Super | Function | Collection | Wrapped | Returning | Opaque
UNKNOWN: Final = Opaque(is_external=False)
EXTERNAL: Final = Opaque(is_external=True)


class TypeResolver:
    """Evaluates the expressions of one file."""

    def __init__(self, path: str, project: ProjectNames) -> None:
        self.names: set[str] = set()
        """The names that were looked up in the project."""
        self.family = family_of(language_of(path) or "")
        self.path = path
        self.project = project
        self._values: dict[tuple[str, str, str, int], Value] = {}
        self._found: dict[tuple[str, str, str, int], Value] = {}

    def value(self, expression: str, owner: str) -> Value:
        """The value of an expression in the code of `owner`, the qualified name of a symbol of the file."""
        return self._value(expression, self.path, owner, 0)

    def name(self, name: str, owner: str) -> Value:
        """The value of a bare name in the code of `owner`."""
        return self._name(name, self.path, owner, 0)

    def member(self, value: Value, name: str) -> Value:
        """The member of a value."""
        return self._member(value, name, 0)

    def named(self, name: str) -> SameName:
        """All symbols of the project with this name."""
        self.names.add(name)
        return self.project.symbols[name]

    # Expressions

    def _value(self, expression: str, path: str, owner: str, depth: int) -> Value:
        if depth > _MAX_DEPTH:
            return UNKNOWN
        key = (expression, path, owner, depth)
        found = self._values.get(key)
        if found is None:
            found = UNKNOWN
            for alternative in expression.split("|"):
                value = self._chain(alternative, path, owner, depth)
                if not isinstance(value, Opaque):
                    found = value
                    break
                if value.is_external:
                    found = value
            self._values[key] = found
        return found

    def _first(self, expressions: tuple[str, ...], path: str, owner: str, depth: int) -> Value:
        return self._value("|".join(expressions), path, owner, depth) if expressions else UNKNOWN

    def _chain(self, expression: str, path: str, owner: str, depth: int) -> Value:
        head = _HEAD.match(expression)
        if head is None:
            return UNKNOWN
        value = self._head(head.group(), path, owner, depth)
        for operator in _OPERATOR.finditer(expression, head.end()):
            if isinstance(value, Opaque):
                if operator.group(5) is None:
                    return value
                continue
            value = self._apply(operator, value, path, owner, depth)
        return value

    def _apply(self, operator: re.Match[str], value: Value, path: str, owner: str, depth: int) -> Value:
        match operator.lastindex:
            case 1:
                return self._member(value, operator.group(1), depth)
            case 2:
                return self._call(value, depth)
            case 3:
                return self._element(value, depth)
            case 4:
                return Collection(value)
            case _:
                outer = self._chain(operator.group(5), path, owner, depth)
                if isinstance(outer, Class):
                    return Wrapped(outer, value)
                return value if family_of(language_of(path) or "") == "rust" else UNKNOWN

    def _head(self, head: str, path: str, owner: str, depth: int) -> Value:
        match head:
            case "?":
                return UNKNOWN
            case "!":
                return EXTERNAL
            case "self" | "this":
                around = self._class_around(path, owner, depth)
                if around is None and language_of(path) == "rust":
                    return Module((path,), "self", path)
                return Instance(around) if around else UNKNOWN
            case "Self" | "cls":
                return self._class_around(path, owner, depth) or UNKNOWN
            case "super":
                if language_of(path) == "rust":
                    return self._module(parent_module(path, self.project.known), "super", path)
                around = self._class_around(path, owner, depth)
                return Super(around) if around else UNKNOWN
        if head[0] == "<":
            return self._origin(head[1:-1], path, depth)
        if head[0] == "#":
            return self._fixture_value(head[1:], path, depth)
        return self._name(head, path, owner, depth)

    def _class_around(self, path: str, owner: str, depth: int) -> Class | None:
        """The class in whose code the owner is. Its own declaration may be in another file."""
        prefix = owner
        while prefix:
            name = prefix.rpartition(".")[2]
            symbol = self.named(name).places.get((path, prefix))
            if symbol is not None and symbol.kind in _CLASS_KINDS:
                return Class(path, symbol)
            prefix = prefix.rpartition(".")[0]
            if symbol is None and prefix == "" and name != owner:
                found = self._name(name, path, "", depth + 1)
                return found if isinstance(found, Class) else None
        return None

    # Calls and elements

    def _call(self, value: Value, depth: int) -> Value:
        match value:
            case Class():
                return Instance(value)
            case Returning():
                return value.value
            case Function():
                return self._result(value, depth)
            case Super():
                return value  # `super()` in Python
            case _:
                return UNKNOWN

    def _result(self, function: Function, depth: int) -> Value:
        symbol = function.symbol
        results = self.project.hints(function.path).results.get(symbol.qualified_name, ())
        self.names.add(symbol.name)
        if function.receiver is not None:
            for expression in results:
                if expression == "self":
                    return Instance(function.receiver)
        return self._first(results, function.path, symbol.qualified_name, depth + 1)

    def _element(self, value: Value, depth: int) -> Value:
        match value:
            case Collection():
                return value.element
            case Function():
                return self._element(self._result(value, depth), depth)
            case Instance() | Super():
                for method in ("__iter__", "__getitem__", "__aiter__"):
                    found = self._class_member(value.cls, method, depth + 1)
                    if isinstance(found, Function):
                        result = self._result(found, depth + 1)
                        return result.element if isinstance(result, Collection) else result
                return UNKNOWN
            case Wrapped():
                return self._element(value.inner, depth)
            case _:
                return UNKNOWN

    # Members

    def _member(self, value: Value, name: str, depth: int) -> Value:
        if depth > _MAX_DEPTH:
            return UNKNOWN
        match value:
            case Module():
                return self._module_member(value, name, depth)
            case Class() | Instance():
                return self._member_or_same(value, name, depth)
            case Super():
                return self._inherited(value.cls, name, depth + 1) or EXTERNAL
            case Collection():
                if name in _SAME_COLLECTION:
                    return Returning(value)
                return Returning(value.element) if name in _ELEMENT else EXTERNAL
            case Function():
                return self._member(self._result(value, depth), name, depth + 1)  # a property
            case Wrapped():
                found = self._class_member(value.outer, name, depth)
                return found or self._member(value.inner, name, depth)
            case _:
                return value if isinstance(value, Opaque) else UNKNOWN

    def _member_or_same(self, value: Class | Instance, name: str, depth: int) -> Value:
        cls = value.cls if isinstance(value, Instance) else value
        found = self._class_member(cls, name, depth)
        if found is not None:
            return found
        if cls.symbol.language == "rust":
            if isinstance(value, Class) and cls.symbol.kind == "type" and name[:1].isupper():
                return cls  # a variant of an enum
            if name in _SAME_VALUE:
                return Returning(value)
        elif cls.symbol.language == "java" and name in _SAME_VALUE:
            return Returning(value)
        return EXTERNAL

    def _class_member(self, cls: Class, name: str, depth: int) -> Value | None:
        """A method, nested class or field of a class or its base classes."""
        if depth > _MAX_DEPTH:
            return None
        key = (name, cls.path, cls.symbol.qualified_name, depth)
        if key in self._found:
            found = self._found[key]
            return None if found is UNKNOWN else found
        member = self._own_member(cls, name, depth)
        if member is None or (isinstance(member, Opaque) and not member.is_external):
            member = self._inherited(cls, name, depth + 1) or member
        self._found[key] = member or UNKNOWN
        return member

    def _own_member(self, cls: Class, name: str, depth: int) -> Value | None:
        qualified = f"{cls.symbol.qualified_name}.{name}"
        same_name = self.named(name)
        symbol = same_name.places.get((cls.path, qualified))
        if symbol is not None:
            return _value_of(cls.path, symbol, cls)
        values = self.project.hints(cls.path).values.get((cls.symbol.qualified_name, name), ())
        if values:
            return self._first(values, cls.path, cls.symbol.qualified_name, depth + 1)
        return self._declared_elsewhere(cls, name, same_name, depth)

    def _declared_elsewhere(self, cls: Class, name: str, same_name: SameName, depth: int) -> Value | None:
        """A method that is declared in another file than its class: in Go, Rust and C++."""
        if cls.symbol.language not in ("go", "rust", "cpp", "c"):
            return None
        tail = f"{cls.symbol.name}.{name}"
        found: dict[str, Value] = {}
        for path, symbol in same_name.declared:
            if path == cls.path or not (symbol.qualified_name == tail or symbol.qualified_name.endswith(f".{tail}")):
                continue
            if cls.symbol.language == "go":
                is_same = posixpath.dirname(path) == posixpath.dirname(cls.path)
            elif cls.symbol.language == "rust":
                is_same = self._name(cls.symbol.name, path, "", depth + 1) == cls
            else:
                is_same = symbol.language in ("cpp", "c")
            if is_same:
                found.setdefault(path, _value_of(path, symbol, cls))
        return next(iter(found.values())) if len(found) == 1 else None

    def _inherited(self, cls: Class, name: str, depth: int) -> Value | None:
        bases = self.project.hints(cls.path).bases.get(cls.symbol.qualified_name, ())
        self.names.add(cls.symbol.name)
        if depth > _MAX_DEPTH:
            return None
        around = cls.symbol.qualified_name.rpartition(".")[0]
        for expression in bases[:_MAX_BASES]:
            base = self._value(expression, cls.path, around, depth)
            if isinstance(base, Wrapped):
                base = base.outer
            if isinstance(base, (Class, Instance)):
                base_class = base if isinstance(base, Class) else base.cls
                if base_class != cls and (found := self._class_member(base_class, name, depth)) is not None:
                    if isinstance(found, Function):
                        return Function(found.path, found.symbol, cls)
                    return found
        return None

    # Names

    def _name(self, name: str, path: str, owner: str, depth: int) -> Value:
        if depth > _MAX_DEPTH:
            return UNKNOWN
        key = (name, path, owner, -1 - depth)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._look_up(name, path, owner, depth)
        return found

    def _look_up(self, name: str, path: str, owner: str, depth: int) -> Value:
        """The value of a name: from the scopes around the owner, the file, its imports, its package."""
        places = self.named(name).places
        family = family_of(language_of(path) or "")
        prefix = owner
        while prefix and places:
            symbol = places.get((path, f"{prefix}.{name}"))
            if symbol is not None and (symbol.kind != "method" or prefix == owner or family in _BARE_MEMBERS):
                return _value_of(path, symbol)
            prefix = prefix.rpartition(".")[0]
        if family in _BARE_MEMBERS and owner:
            around = self._class_around(path, owner, depth)
            member = self._class_member(around, name, depth) if around else None
            if member is not None and not isinstance(member, Opaque):
                return member
        found = self._file_member(name, path, depth)
        if found is None and family in ("go", "java"):
            found = self._package_member(name, path, depth)
        if found is None and family == "c family":
            found = self._linked(name, owner)
        if found is None and family == "rust":
            found = self._rust_module(name, path)
        if found is None:
            found = self._from_all_members(name, path, depth)
        if found is not None:
            return found
        return EXTERNAL if name[:1].isupper() and family != "c family" else UNKNOWN

    def _file_member(self, name: str, path: str, depth: int) -> Value | None:
        """What a file calls by this name: a symbol, a variable or an import."""
        symbol = self.named(name).places.get((path, name))
        if symbol is not None:
            return _value_of(path, symbol)
        hints = self.project.hints(path)
        values = hints.values.get(("", name))
        if values is not None:
            return self._first(values, path, "", depth + 1)
        origins = hints.imports.get(name)
        if origins is None:
            return None
        found: Value = UNKNOWN
        for origin in origins:
            found = self._origin(origin, path, depth + 1)
            if not isinstance(found, Opaque):
                return found
        return found

    def _package_member(self, name: str, path: str, depth: int) -> Value | None:
        """A name from another file of the same folder."""
        folder = posixpath.dirname(path)
        for other, symbol in self.named(name).declared:
            is_member = other != path and symbol.qualified_name == name and posixpath.dirname(other) == folder
            if is_member and family_of(symbol.language) == self.family:
                return _value_of(other, symbol)
        if self.family == "go":
            return self._variable_of_package(name, self.project.known.by_folder.get(folder, ()), depth)
        return None

    def _variable_of_package(self, name: str, files: tuple[str, ...], depth: int) -> Value | None:
        for other in files[:_MAX_PACKAGE_FILES]:
            if other.endswith(".go") and (values := self.project.hints(other).values.get(("", name))):
                return self._first(values, other, "", depth + 1)
        return None

    def _linked(self, name: str, owner: str) -> Value | None:
        """A name of C or C++, where every file can call what another one defines."""
        found: dict[tuple[str, str], Symbol] = {}
        for (path, qualified), symbol in self.named(name).places.items():
            scope = qualified.rpartition(".")[0]
            is_in_scope = not scope or owner.startswith(f"{scope}.")
            if is_in_scope and symbol.kind != "method" and family_of(symbol.language) == "c family":
                found[path, qualified] = symbol
        if len(found) == 1:
            ((path, _), symbol) = next(iter(found.items()))
            return _value_of(path, symbol)
        return None

    def _from_all_members(self, name: str, path: str, depth: int) -> Value | None:
        """A name from a module of which all members are imported."""
        self.names.add(all_members_key(path))
        if depth >= _MAX_DEPTH:
            return None
        for origin in self.project.hints(path).imports.get(ALL_MEMBERS, ()):
            module = self._origin(origin, path, depth + 1)
            if isinstance(module, (Module, Class)):
                found = self._member(module, name, depth + 1)
                if not isinstance(found, Opaque):
                    return found
        return None

    def fixture(self, name: str) -> DeclaredSymbol | None:
        """A pytest fixture that the file can use: its own, or the one in the nearest conftest.py above it."""
        return self._fixture(name, self.path)

    def _fixture(self, name: str, path: str) -> DeclaredSymbol | None:
        places = self.named(name).places
        folder = posixpath.dirname(path)
        candidates = [path]
        while places:
            candidates.append(f"{folder}/conftest.py" if folder else "conftest.py")
            if not folder:
                break
            folder = posixpath.dirname(folder)
        for candidate in candidates:
            symbol = places.get((candidate, name))
            if symbol is not None and symbol.kind == "function":
                return candidate, symbol
        return None

    def _fixture_value(self, name: str, path: str, depth: int) -> Value:
        found = self._fixture(name, path)
        if found is None:
            return UNKNOWN
        result = self._result(Function(*found), depth)
        return result.element if isinstance(result, Collection) else result

    # Modules

    def _module(self, path: str | None, name: str, importer: str) -> Value:
        return Module((path,), name, importer) if path is not None else EXTERNAL

    def _origin(self, origin: str, path: str, depth: int) -> Value:
        """What an import refers to."""
        if depth > _MAX_DEPTH:
            return UNKNOWN
        if language_of(path) == "rust":
            return self._rust_path(origin, path, depth)
        module_name, _, member = origin.partition(":")
        files = self.project.files_of(path, module_name)
        self.names.add(_last_part(module_name))
        if language_of(path) == "java" and len(files) == 1 and not member:
            return self._file_member(_last_part(module_name), files[0], depth) or UNKNOWN
        module = Module(files, module_name, path)
        if not member or member == ALL_MEMBERS:
            return module if files or language_of(path) == "python" else EXTERNAL
        return self._module_member(module, member, depth)

    def _module_member(self, module: Module, name: str, depth: int) -> Value:
        if depth > _MAX_DEPTH:
            return UNKNOWN
        family = family_of(language_of(module.importer) or "")
        if family == "java" and len(module.files) == 1:
            outer = self._file_member(posixpath.basename(module.files[0]).partition(".")[0], module.files[0], depth)
            return self._member(outer, name, depth) if isinstance(outer, Class) else UNKNOWN
        for path in module.files[:_MAX_PACKAGE_FILES]:
            found = self._file_member(name, path, depth)
            if found is not None:
                return found
        if family == "python":
            separator = "/" if "/" in module.name else "."
            inner = self._origin(f"{module.name}{separator}{name}", module.importer, depth)
            if isinstance(inner, Module) and inner.files:
                return inner
        elif family == "rust" and len(module.files) == 1:
            self.names.add(name)
            for child in child_modules(module.files[0], name):
                if child in self.project.known.paths:
                    return Module((child,), name, child)
        elif family == "ecmascript" and name == "default" and module.files:
            return module
        for path in module.files[:_MAX_PACKAGE_FILES]:
            found = self._from_all_members(name, path, depth)
            if found is not None:
                return found
        return UNKNOWN if module.files else EXTERNAL

    def _rust_path(self, origin: str, path: str, depth: int) -> Value:
        """The item at a dotted path, as `use` names it."""
        first, *rest = origin.split(".")
        known = self.project.known
        value: Value
        match first:
            case "crate":
                value = self._module(crate_root(path, known), first, path)
            case "super":
                value = self._module(parent_module(path, known), first, path)
            case "self":
                value = Module((path,), first, path)
            case _:
                value = self._crate(first) if first in self.project.packages else self._own_item(first, path, depth)
        self.names.add(first)
        for part in rest:
            if isinstance(value, Opaque):
                break
            value = self._member(value, part, depth)
        return value

    def _rust_module(self, name: str, path: str) -> Value | None:
        """A crate, or a module that the file declares."""
        if name == "crate":
            return self._module(crate_root(path, self.project.known), name, path)
        if name in self.project.packages:
            return self._crate(name)
        child = self.project.known.exact(child_modules(path, name))
        return Module((child,), name, child) if child else None

    def _crate(self, name: str) -> Value:
        root = self.project.packages[name]
        return Module((root,), name, root)

    def _own_item(self, name: str, path: str, depth: int) -> Value:
        """The first part of a path that is neither a keyword nor a crate: an item of the file that uses it."""
        origins = self.project.hints(path).imports.get(name, ())
        others = [origin for origin in origins if origin.partition(".")[0] != name]
        if others:
            return self._origin(others[0], path, depth + 1)
        found = self._module_member(Module((path,), "self", path), name, depth + 1) if not origins else EXTERNAL
        return EXTERNAL if isinstance(found, Opaque) else found


def _value_of(path: str, symbol: Symbol, receiver: Class | None = None) -> Value:
    if symbol.kind in _CLASS_KINDS:
        return Class(path, symbol)
    return Function(path, symbol, receiver)


def _last_part(name: str) -> str:
    return name[max(name.rfind("."), name.rfind("/")) + 1 :]
