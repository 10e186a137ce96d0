"""Every regular expression of the package, the methods it is used with, and texts that may make it slow."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from re import _constants as codes
from re import _parser as parser
from types import ModuleType
from typing import Any

from contextive.registry.uri import UriTemplate
from contextive.trace.citation import _INDENT as INDENT
from contextive.workspace.globs import _component as glob_component
from contextive.workspace.ignore import parse_rule

from .source_tree import Module, source_modules

METHODS = ("match", "search", "fullmatch", "sub", "split", "finditer")
"""The methods to test if the use of a pattern is not found."""
_LONGEST_FIRST = (("finditer", "sub", "split"), ("search",), ("match",))
"""Each method of a group takes about as long as the others, and at least as long as those of the next groups."""
_ALIKE = {"findall": "finditer", "subn": "sub", "scanner": "finditer"}
_KNOWN = frozenset({*METHODS, *_ALIKE})
_BLOCKS = ast.stmt | ast.ExceptHandler | ast.match_case
_FLAGS_AT = {
    "compile": 1,
    "match": 2,
    "search": 2,
    "fullmatch": 2,
    "findall": 2,
    "finditer": 2,
    "split": 3,
    "sub": 4,
    "subn": 4,
}


@dataclass(frozen=True)
class RegexUse:
    """A pattern and how it is used."""

    place: str
    pattern: re.Pattern[Any]
    methods: tuple[str, ...]

    @property
    def slowest_methods(self) -> tuple[str, ...]:
        """Return the methods to measure: if these take linear time on a text, the others do, too."""
        groups = [[method for method in group if method in self.methods] for group in _LONGEST_FIRST]
        slowest = next((group[:1] for group in groups if group), [])
        return (*slowest, *(["fullmatch"] if "fullmatch" in self.methods else []))


class NotFound(AssertionError):
    """A pattern is built from local values and has no examples in `LOCAL_VALUES`."""


USED_WITH = "used with"
"""The key for the methods of a pattern that a function builds and returns."""
RULE = parse_rule(b"**/*a*b/**/*c*d*")
assert RULE is not None
LOCAL_VALUES: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "src/contextive/trace/citation.py:_grammar": tuple(
        {"meta": re.escape(meta), "content": re.escape(content), "field_start": f"{INDENT}{re.escape(meta)}{INDENT}"}
        for meta, content in (("//=", "//#"), ("##=", "##%"), ("*=", "*#"), ("=", "#"))
    ),
    "src/contextive/knowledge/note_words.py:_position_of": tuple(
        {"wanted": text, "note": None} for text in ("a", "aab", " a", "[[")
    ),
    "src/contextive/trace/natural_references.py:candidate_pattern": ({"parts": ["FR-?\\d", "Requirement:|Scenario:"]},),
    "src/contextive/notes/front_matter.py:_set_line": ({"key": "a"},),
    "src/contextive/notes/front_matter.py:_set_toml_line": ({"key": "a"},),
    "src/contextive/notes/prose.py:_plain_prose": ({"mark": "```"}, {"mark": "~~~~~"}),
    "src/contextive/workspace/ignore.py:__post_init__": tuple(
        {"rule": parse_rule(line), USED_WITH: ("fullmatch",)}
        for line in (b"*a*b*c", b"**/a/**/b", b"?*?*x", b"a/**/*b*/c", b"[a-z]*[!a]*b", b"a")
    ),
    "src/contextive/workspace/ignore.py:_any_of": (
        {"joined": b"(?:" + RULE.source + b")|(?:" + RULE.source + b"b)", USED_WITH: ("fullmatch",)},
    ),
    "src/contextive/workspace/globs.py:_component": tuple(
        {"text": glob_component(part, part).pattern.removesuffix(r"\Z"), USED_WITH: ("match",)}
        for part in ("*a*b*c", "?*?*x", "[a-z]*[!a]*b", "a")
    ),
    "src/contextive/registry/uri.py:_pattern": (
        {
            "pattern": "duvet:///citations/(?P<id>.+)/x/(?P<name>[^/?#]+)",
            "self": UriTemplate(""),
            "end": 0,
            USED_WITH: ("match",),
        },
    ),
}
"""Example values of local variables, by function, for patterns that are built at run time."""


def uses(local_values: Mapping[str, tuple[Mapping[str, Any], ...]] = LOCAL_VALUES) -> Iterator[RegexUse]:
    """Yield every pattern of the package. `local_values` has examples for patterns built from local variables."""
    modules = tuple(module for module in source_modules() if not module.name.endswith("__main__"))
    for module in modules:
        loaded = importlib.import_module(module.name)
        for statement, function in _statements(module.tree):
            if function is None and isinstance(statement, ast.Assign | ast.AnnAssign):
                yield from _assigned(module, loaded, statement, modules)
            for call, name, method in _calls(statement):
                if name != "compile" or function is not None:
                    methods = (
                        _methods_of_local(module, statement, call) if method is None else (_ALIKE.get(method, method),)
                    )
                    place = f"{module}:{function or ''}"
                    for values in local_values.get(place, ({},)):
                        pattern = _evaluated(place, name, call, loaded, values)
                        yield RegexUse(place, pattern, values.get(USED_WITH, methods))


def _statements(tree: ast.Module) -> Iterator[tuple[ast.stmt, str | None]]:
    """Yield the simple statements of a module, each with its enclosing function."""
    waiting: list[tuple[ast.AST, str | None]] = [(node, None) for node in reversed(tree.body)]
    while waiting:
        node, function = waiting.pop()
        inner = [child for child in ast.iter_child_nodes(node) if isinstance(child, _BLOCKS)]
        if isinstance(node, ast.stmt):
            yield node, function
        name = node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else function
        waiting += [(child, name) for child in reversed(inner)]


def _calls(statement: ast.stmt) -> Iterator[tuple[ast.Call, str, str | None]]:
    """Yield the calls of `re` in a statement, without nested ones: the function and the method used on its result."""
    waiting: list[ast.AST] = [statement]
    used: dict[int, str] = {}
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Attribute):
            used[id(node.value)] = node.attr
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_re(node.func.value):
            if node.func.attr == "compile":
                yield node, "compile", used.get(id(node))
            elif node.func.attr in _KNOWN:
                yield node, node.func.attr, node.func.attr
        waiting += [child for child in ast.iter_child_nodes(node) if not isinstance(child, _BLOCKS)]


def _is_re(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "re"


def _assigned(
    module: Module, loaded: ModuleType, statement: ast.Assign | ast.AnnAssign, modules: Iterable[Module]
) -> Iterator[RegexUse]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    for name in (node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)):
        found = list(patterns_in(getattr(loaded, name, None)))
        if found:
            methods = _methods_of(module, name, modules)
            yield from (RegexUse(f"{module}:{name}", pattern, methods) for pattern in found)


def patterns_in(value: object, depth: int = 4) -> Iterator[re.Pattern[Any]]:
    """Yield the compiled patterns in a value, also inside containers and dataclasses."""
    if isinstance(value, re.Pattern):
        yield value
    elif depth and isinstance(value, Mapping):
        for each in (*value.keys(), *value.values()):
            yield from patterns_in(each, depth - 1)
    elif depth and isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from patterns_in(each, depth - 1)
    elif depth and is_dataclass(value) and not isinstance(value, type):
        for each in (getattr(value, field.name, None) for field in fields(value)):
            yield from patterns_in(each, depth - 1)


def _methods_of_local(module: Module, statement: ast.stmt, call: ast.Call) -> tuple[str, ...]:
    """Return the methods of a pattern that a function assigns to a variable, or to a field of the same name."""
    names, found = _names_of(module), set[str]()
    if isinstance(statement, ast.Assign) and statement.value is call and isinstance(statement.targets[0], ast.Name):
        name = statement.targets[0].id
        found = (names.methods.get(name, set()) | names.methods_of_fields.get(name, set())) & _KNOWN
        if name in names.fields_passed_on:
            found |= names.methods_of_parameters or set(METHODS)
    return tuple(sorted({_ALIKE.get(method, method) for method in found})) or METHODS


def _methods_of(module: Module, name: str, modules: Iterable[Module]) -> tuple[str, ...]:
    """Return the methods that a module's pattern is used with, in all modules; all methods if one use is unclear."""
    found: set[str] = set()
    for user in modules:
        names = _names_of(user)
        for known_as in {name} if user is module else names.imported.get((module.name, name), set()):
            found |= {_ALIKE.get(method, method) for method in names.methods.get(known_as, set()) & _KNOWN}
            if known_as in names.passed_on:
                found |= names.methods_of_parameters or set(METHODS)
    return tuple(sorted(found)) or METHODS


@dataclass(frozen=True)
class _Names:
    """How a module uses names: the methods called on them, their use as plain values, and import aliases."""

    methods: Mapping[str, set[str]]
    passed_on: frozenset[str]
    imported: Mapping[tuple[str, str], set[str]]
    methods_of_fields: Mapping[str, set[str]]
    fields_passed_on: frozenset[str]
    methods_of_parameters: set[str]
    """The methods that its functions call on patterns they get as parameters."""


@cache
def _names_of(user: Module) -> _Names:
    methods: dict[str, set[str]] = {}
    imported: dict[tuple[str, str], set[str]] = {}
    of_parameters: set[str] = set()
    of_fields: dict[str, set[str]] = {}
    clear: set[int] = set()
    read: list[ast.Name] = []
    fields_read: list[ast.Attribute] = []
    for node in ast.walk(user.tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            methods.setdefault(node.value.id, set()).add(node.attr)
            clear.add(id(node.value))
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute):
            of_fields.setdefault(node.value.attr, set()).add(node.attr)
            clear.add(id(node.value))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_re(node.func.value):
            clear |= {id(argument) for argument in node.args}  # it is tested in the called function
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            read.append(node)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                imported.setdefault((node.module or "", alias.name), set()).add(alias.asname or alias.name)
        elif isinstance(node, ast.FunctionDef):
            parameters = {a.arg for a in node.args.args if a.annotation and "Pattern" in ast.unparse(a.annotation)}
            of_parameters |= {
                _ALIKE.get(inner.attr, inner.attr)
                for inner in ast.walk(node)
                if isinstance(inner, ast.Attribute)
                and isinstance(inner.value, ast.Name)
                and inner.value.id in parameters
            }
        if isinstance(node, ast.Attribute):
            fields_read.append(node)
    passed_on = frozenset(node.id for node in read if id(node) not in clear)
    fields_passed_on = frozenset(node.attr for node in fields_read if id(node) not in clear)
    return _Names(methods, passed_on, imported, of_fields, fields_passed_on, of_parameters & set(METHODS))


def _evaluated(place: str, name: str, call: ast.Call, loaded: ModuleType, values: Mapping[str, Any]) -> re.Pattern[Any]:
    flags = next((keyword.value for keyword in call.keywords if keyword.arg == "flags"), None)
    if flags is None and len(call.args) > _FLAGS_AT[name]:
        flags = call.args[_FLAGS_AT[name]]
    try:
        pattern = _value(call.args[0], loaded, values)
        flag_value = _value(flags, loaded, values) if flags is not None else 0
    except NameError as error:
        raise NotFound(f"{place} builds a pattern; add examples of its values to LOCAL_VALUES: {error}") from None
    return pattern if isinstance(pattern, re.Pattern) else re.compile(pattern, flag_value)


def _value(node: ast.expr, loaded: ModuleType, values: Mapping[str, Any]) -> Any:
    return eval(compile(ast.Expression(node), "pattern", "eval"), {**vars(loaded), **values})


# -- texts ---------------------------------------------------------------------------------------------------------------

UNITS = (
    *" \t`[](){}<>\"'|\n\r#=*-./\\&~+:,;%$!?_@^aA1",
    "\r\n", "\n ", " \n", "\n\n", "a ", "a\n", "a.", "a. ", "aB", "1.", "a/", "a-", "a:", "[[", "]]", "](", "[a](", "<!--", "-->",
    "{%", "${", "`a`", "`a` [[", "```\n", "---\n", "# a\n", "- ", "> ", "| ", "|-", '"""', "'''", "/*", "*/", "//", "#=", "a=",
    "\u00e9", "\u4e16", "\u00a0", "\u2028",
)  # fmt: skip
"""The texts to repeat."""
TAILS = ("", "x", "\0", "\n", "!")
_LONGEST = 12


@dataclass(frozen=True)
class Hostile:
    """A text of any size: a beginning, a repeated unit, and an end that should not match."""

    begin: str
    unit: str
    end: str

    def text(self, size: int) -> str:
        return self.begin + self.unit * max(1, (size - len(self.begin) - len(self.end)) // len(self.unit)) + self.end


GENERIC = tuple(Hostile(begin, unit, end) for unit in UNITS for begin, end in (("", "x"), ("x", "\0")))


def hostile_to(pattern: re.Pattern[Any]) -> Iterator[Hostile]:
    """Yield texts made for a pattern: a match for what it repeats, after a match for what comes before."""
    source = pattern.pattern.decode("latin-1") if isinstance(pattern.pattern, bytes) else pattern.pattern
    flags = pattern.flags & ~re.UNICODE if isinstance(pattern.pattern, bytes) else pattern.flags
    tree = parser.parse(source, flags)
    seen: set[Hostile] = set()
    for begin, unit in _pumps(tree, ""):
        for hostile in (
            *(Hostile(begin, unit, end) for end in TAILS),
            *(Hostile("", begin + unit, end) for end in ("", "\0")),
            *(Hostile("", unit + begin, end) for end in ("", "\0")),
            *(Hostile("", begin, end) for end in ("", "\0") if begin),
            *(Hostile(begin + unit, begin, end) for end in ("", "\0") if begin),
            *(Hostile(begin, unit + other, "\0") for other in " \n"),
        ):
            if hostile not in seen:
                seen.add(hostile)
                yield hostile


def _pumps(tree: Any, before: str) -> Iterator[tuple[str, str]]:
    """Yield for each repetition a text that may precede it and a text that it repeats."""
    for code, value in tree:
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            _, most, body = value
            if most > _LONGEST:
                for unit in _examples(body):
                    yield before, unit or " "
            yield from _pumps(body, before)
        elif code is codes.SUBPATTERN:
            yield from _pumps(value[3], before)
        elif code is codes.ATOMIC_GROUP:
            yield from _pumps(value, before)
        elif code is codes.BRANCH:
            for branch in value[1]:
                yield from _pumps(branch, before)
        elif code in (codes.ASSERT, codes.ASSERT_NOT):
            yield from _pumps(value[1], before)
        before += _examples([(code, value)])[0]
    if before:
        yield "", before


def _examples(tree: Any) -> list[str]:
    """Return a few short texts that match a parsed pattern."""
    found = [""]
    for code, value in tree:
        found = [text + more for text in found[:3] for more in _example_of(code, value)[:4]]
    return list(dict.fromkeys(found)) or [""]


def _example_of(code: Any, value: Any) -> list[str]:
    match code:
        case codes.LITERAL:
            return [chr(value)]
        case codes.NOT_LITERAL:
            return [c for c in "a \n`[" if ord(c) != value][:2]
        case codes.ANY:
            return ["a", " "]
        case codes.IN:
            return _examples_of_set(value)
        case codes.MAX_REPEAT | codes.MIN_REPEAT | codes.POSSESSIVE_REPEAT:
            return [text * max(1, min(value[0], 60)) for text in _examples(value[2])]
        case codes.SUBPATTERN:
            return _examples(value[3])
        case codes.ATOMIC_GROUP:
            return _examples(value)
        case codes.BRANCH:
            return [text for branch in value[1] for text in _examples(branch)[:1]]
        case codes.CATEGORY:
            return [_CATEGORIES[value]]
    return [""]


_CATEGORIES = {
    codes.CATEGORY_DIGIT: "1", codes.CATEGORY_NOT_DIGIT: "a", codes.CATEGORY_SPACE: " ", codes.CATEGORY_NOT_SPACE: "a",
    codes.CATEGORY_WORD: "a", codes.CATEGORY_NOT_WORD: " ",
}  # fmt: skip
_SAMPLES = " a1\t\n[`.-_/A(<\"'=#*,:;|{\u4e16\u0085"


def _examples_of_set(members: Any) -> list[str]:
    fits = _fits(members)
    found = [c for c in _SAMPLES if fits(c)]
    found += [chr(v) for k, v in members if k is codes.LITERAL] + [chr(v[0]) for k, v in members if k is codes.RANGE]
    return list(dict.fromkeys(c for c in found if fits(c)))[:5] or ["\0"]


def _fits(members: Any) -> Callable[[str], bool]:
    negated = bool(members) and members[0][0] is codes.NEGATE
    inner = members[1:] if negated else members
    tree = [(codes.IN, inner)]
    text = "".join(_set_text(k, v) for k, v in tree[0][1])
    compiled = re.compile(f"[{'^' if negated else ''}{text}]", re.DOTALL)
    return lambda c: compiled.match(c) is not None


def _set_text(code: Any, value: Any) -> str:
    if code is codes.LITERAL:
        return re.escape(chr(value))
    if code is codes.RANGE:
        return f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
    return {
        codes.CATEGORY_DIGIT: r"\d", codes.CATEGORY_NOT_DIGIT: r"\D", codes.CATEGORY_SPACE: r"\s",
        codes.CATEGORY_NOT_SPACE: r"\S", codes.CATEGORY_WORD: r"\w", codes.CATEGORY_NOT_WORD: r"\W",
    }[value]  # fmt: skip
