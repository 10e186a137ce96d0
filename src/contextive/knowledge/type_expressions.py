"""Write types, as the code of any language states them, in the notation of `expressions`."""

from __future__ import annotations

import re
from functools import lru_cache

_MAX_CHARACTERS = 240
_MAX_DEPTH = 5
_MAX_ALTERNATIVES = 3
_TOKEN = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::)[A-Za-z_$][\w$]*)*|=>|->|[\[\]<>(){}|,;:=]")
_LIFETIME = re.compile(r"(?<=[&<, +])'\w+(?=[\s,>+])")

_PREFIXES_TEXT = """
const volatile struct enum class unsigned signed static mut dyn impl readonly ref final typename inline extern keyof
typeof is asserts abstract where chan
"""
_PREFIXES = frozenset(_PREFIXES_TEXT.split())
_WRAPPERS_TEXT = """
optional awaitable coroutine promise promiselike annotated classvar final required notrequired box rc arc option
result refcell cell mutex rwlock pin cow weak mutexguard ref refmut oncelock oncecell lazylock unique_ptr shared_ptr
weak_ptr readonly partial nonnullable awaited contextmanager asynccontextmanager abstractcontextmanager
abstractasynccontextmanager completablefuture future atomicreference union
"""
_WRAPPERS = frozenset(_WRAPPERS_TEXT.split())
"""Generic types whose values are used like values of their argument."""
_COLLECTIONS_TEXT = """
list sequence mutablesequence iterable iterator generator asynciterator asynciterable asyncgenerator set frozenset
tuple deque array readonlyarray vec vecdeque hashset btreeset vector collection abstractset linkedlist arraylist
stream intoiterator exactsizeiterator doubleendediterator slice arrayvec smallvec binaryheap queue
"""
_COLLECTIONS = frozenset(_COLLECTIONS_TEXT.split())
_MAPPINGS_TEXT = """
dict mapping mutablemapping defaultdict ordereddict map hashmap btreemap record indexmap unordered_map linkedhashmap
treemap concurrenthashmap weakmap
"""
_MAPPINGS = frozenset(_MAPPINGS_TEXT.split())
_EXTERNAL_TEXT = """
str int float bool bytes object none string number boolean void undefined null never symbol bigint char short long
double byte rune error u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 uint int8 int16 int32 int64 uint8
uint16 uint32 uint64 uintptr float32 float64 complex64 complex128 size_t nonetype true false noreturn literal
bytearray complex type callable function wchar_t uint8_t uint16_t uint32_t uint64_t int8_t int16_t int32_t int64_t
"""
_EXTERNAL = frozenset(_EXTERNAL_TEXT.split())
_UNKNOWN = frozenset(["any", "unknown", "var", "auto", "let", "typevar", "infer", "fn", "func"])


@lru_cache(maxsize=4096)
def type_expression(text: str) -> str:
    """The expression of a type: `Optional[Foo]` gives `Foo()`, `list[Foo]` gives `Foo()@`."""
    text = text[:_MAX_CHARACTERS].lstrip(": ")
    if text.isidentifier():
        return _named(text, [])
    if "'" in text:
        text = _LIFETIME.sub("", text)
    tokens = _TOKEN.findall(text)
    parts, _ = _alternatives(tokens, 0, 0)
    return _join(parts)


def _alternatives(tokens: list[str], at: int, depth: int) -> tuple[list[str], int]:
    """The alternatives of the type that begins at a token, and the position after it."""
    found: list[str] = []
    while at < len(tokens):
        before = at
        expression, at = _single(tokens, at, depth)
        if expression:
            found += expression.split("|")
        if at < len(tokens) and tokens[at] == "|":
            at += 1
        elif at == before or at >= len(tokens) or tokens[at] in ",;>)]}" or tokens[at] in ("=>", "->"):
            break
        else:
            break
    return found, at


def _single(tokens: list[str], at: int, depth: int) -> tuple[str, int]:
    while at < len(tokens) and tokens[at] in _PREFIXES:
        at += 1
    if at >= len(tokens) or depth > _MAX_DEPTH:
        return "?", len(tokens)
    first = tokens[at]
    if first == "[":
        return _bracketed(tokens, at, depth)
    if first == "(":
        inside, end = _arguments(tokens, at, depth)
        is_function = end < len(tokens) and tokens[end] in ("=>", "->")
        if is_function or len(inside) > 1:
            return "?", len(tokens)
        return (inside[0] if inside else "!"), end
    if not (first[0].isalpha() or first[0] in "_$"):
        return "?", at + 1
    if first == "map" and tokens[at + 1 : at + 2] == ["["]:  # Go
        _, end = _arguments(tokens, at + 1, depth)
        value, end = _single(tokens, end, depth + 1)
        return _collection(value), end
    arguments: list[str] = []
    end = at + 1
    if end < len(tokens) and tokens[end] == "(":  # a function type: fn(A) -> B
        return "?", len(tokens)
    if end < len(tokens) and tokens[end] in "<[" and tokens[end : end + 2] != ["[", "]"]:
        arguments, end = _arguments(tokens, end, depth)
    expression = _named(first.replace("::", "."), arguments)
    while tokens[end : end + 2] == ["[", "]"]:
        expression, end = _collection(expression), end + 2
    return expression, end


def _bracketed(tokens: list[str], at: int, depth: int) -> tuple[str, int]:
    """Go `[]Foo`, Rust `[Foo; 3]` and TypeScript `[Foo, Bar]`."""
    inside, end = _arguments(tokens, at, depth)
    if end < len(tokens) and tokens[end] not in ",;>)]}|" and tokens[end] not in ("=>", "->"):
        element, end = _single(tokens, end, depth + 1)
        return _collection(element), end
    return (_collection(inside[0]) if inside else "?"), end


def _arguments(tokens: list[str], at: int, depth: int) -> tuple[list[str], int]:
    """The types between brackets, and the position after the closing one."""
    found: list[str] = []
    at += 1
    while at < len(tokens) and tokens[at] not in ">)]}":
        if tokens[at] == ",":  # a lifetime was here
            at += 1
            continue
        parts, end = _alternatives(tokens, at, depth + 1)
        while end < len(tokens) and tokens[end] not in ",;>)]}":
            is_type = tokens[end] in ":="  # `Item = Foo` and `name: Foo` have the type last
            more, following = _alternatives(tokens, end + is_type, depth + 1)
            parts = more if is_type else parts
            end = max(following, end + 1)
        found.append(_join(parts))
        at = end + 1 if end < len(tokens) and tokens[end] in ",;" else end
    return found, at + 1


def _named(name: str, arguments: list[str]) -> str:
    last = name.rpartition(".")[2]
    folded = last.casefold()
    if folded == "type" and arguments:
        return arguments[0].removesuffix("()")
    if folded in _EXTERNAL and not (last[:1].isupper() and folded in ("error", "function", "symbol", "type")):
        return "" if folded in ("none", "null", "undefined") else "!"
    if folded in _UNKNOWN:
        return "?"
    if arguments:
        if folded in ("union", "coroutine"):
            return _join([arguments[-1]] if folded == "coroutine" else arguments)
        if folded in _WRAPPERS:
            return arguments[0]
        if folded in _COLLECTIONS:
            return _collection(arguments[0])
        if folded in _MAPPINGS:
            return _collection(arguments[-1])
        inner = arguments[0].partition("|")[0]
        if inner and inner[0] not in "?!":
            return f"{inner}~{name}"
    elif folded in _COLLECTIONS or folded in _MAPPINGS:
        return "!"
    if name in ("Self", "self", "this"):
        return "self"
    return f"{name}()"


def _collection(element: str) -> str:
    if not element or element[0] in "?!":
        return "!"
    return "|".join(f"{part}@" for part in element.split("|"))


def _join(parts: list[str]) -> str:
    flat = list(dict.fromkeys(item for part in parts for item in part.split("|") if item))
    known = [part for part in flat if part[0] not in "?!"]
    if known:
        return "|".join(known[:_MAX_ALTERNATIVES])
    return "?" if "?" in flat else flat[0] if flat else "!"
