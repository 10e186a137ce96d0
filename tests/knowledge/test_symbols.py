"""The symbols extracted from each language."""

from __future__ import annotations

import threading

import pytest

from contextive.knowledge.extraction import extract_names
from contextive.knowledge.languages import LANGUAGES, language_of, language_parser


def declared_symbols(path: str, text: str) -> list[tuple[str, str, int, int]]:
    names = extract_names(path, text, language_of(path), "code")
    return [(symbol.kind, symbol.qualified_name, symbol.line_start, symbol.line_end) for symbol in names.symbols]


def kinds_by_name(path: str, text: str) -> dict[str, str]:
    return {name: kind for kind, name, _, _ in declared_symbols(path, text)}


##= docs/spec/knowledge.md#chunks-and-symbols
##% Symbols MUST be extracted from Python, TypeScript, TSX, JavaScript, Go, Rust, Java, C and C++ code.
@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("a.py", "python"),
        ("a.PYI", "python"),
        ("a.d.ts", "typescript"),
        ("a.mts", "typescript"),
        ("a.cts", "typescript"),
        ("a.tsx", "tsx"),
        ("a.jsx", "javascript"),
        ("a.cjs", "javascript"),
        ("a.go", "go"),
        ("a.rs", "rust"),
        ("a.java", "java"),
        ("a.h", "c"),
        ("a.hh", "cpp"),
        ("a.cxx", "cpp"),
        ("a.md", None),
        ("Makefile", None),
    ],
)
def test_the_language_is_chosen_by_suffix(path: str, language: str | None) -> None:
    assert language_of(path) == language


def test_python_declarations_include_decorators_and_have_qualified_names() -> None:
    text = (
        "@first\n@second(1)\ndef outer():\n    def inner(): pass\n\n"
        "class A(B):\n    @property\n    def m(self):\n        return 1\n    class N:\n        def k(self): pass\n"
    )
    assert declared_symbols("p/a.py", text) == [
        ("function", "outer", 1, 4),
        ("function", "outer.inner", 4, 4),
        ("class", "A", 6, 11),
        ("method", "A.m", 7, 9),
        ("class", "A.N", 10, 11),
        ("method", "A.N.k", 11, 11),
    ]


def test_repeated_declarations_have_numbered_ids() -> None:
    names = extract_names("a.py", "def f(): pass\ndef f(): pass\ndef f(): pass\n", "python", "code")
    assert [symbol.id for symbol in names.symbols] == ["a.py::f", "a.py::f#2", "a.py::f#3"]
    assert {symbol.qualified_name for symbol in names.symbols} == {"f"}


def test_typescript_declarations_are_found() -> None:
    text = """
export const arrow = async () => 1;
@Component({ a: 1 })
export class K<T> { m() {} #p() {} held = () => 1; }
export abstract class Q { abstract go(): void }
interface I { mm(): void }
type T1 = string
enum E { A }
namespace N { export function nf() {} export const held = () => 2 }
declare function ambient(a: string): void
function outer() { const local = () => 2 }
"""
    assert kinds_by_name("a.ts", text) == {
        "arrow": "function",
        "K": "class",
        "K.m": "method",
        "K.#p": "method",
        "K.held": "method",
        "Q": "class",
        "Q.go": "method",
        "I": "interface",
        "I.mm": "method",
        "T1": "type",
        "E": "type",
        "N.nf": "function",
        "N.held": "function",
        "ambient": "function",
        "outer": "function",
    }
    assert ("class", "K", 3, 4) in declared_symbols("a.ts", text)


def test_functions_assigned_in_javascript_are_declarations() -> None:
    text = """
var q = function() {};
Foo.prototype.bar = function() {};
module.exports.baz = () => 1;
exports.x = 1;
function* g() {}
"""
    assert kinds_by_name("a.js", text) == {"q": "function", "Foo.bar": "method", "baz": "function", "g": "function"}


def test_go_methods_belong_to_their_receiver() -> None:
    text = """package p
type S struct { a int }
type G[T any] struct {}
type I interface { Do(x int) error }
type F func(int)
type A = S
func (s *S) M() {}
func (g G[T]) N() {}
func (g *G[T]) O() {}
func Top() {}
"""
    assert kinds_by_name("a.go", text) == {
        "S": "class",
        "G": "class",
        "I": "interface",
        "I.Do": "method",
        "F": "type",
        "A": "type",
        "S.M": "method",
        "G.N": "method",
        "G.O": "method",
        "Top": "function",
    }


def test_rust_methods_belong_to_the_type_of_their_impl_block() -> None:
    text = """
pub struct S<T> { a: T }
enum E { A }
trait Tr { fn sig(&self); fn given(&self) {} }
type X = u8;
impl<T> Tr for S<T> { fn sig(&self) {} }
impl a::b::Other<u8> { fn new() {} }
mod inner { pub fn deep() {} }
macro_rules! mac { () => {} }
fn top() {}
"""
    assert kinds_by_name("a.rs", text) == {
        "S": "class",
        "E": "type",
        "Tr": "interface",
        "Tr.sig": "method",
        "Tr.given": "method",
        "X": "type",
        "S.sig": "method",
        "Other.new": "method",
        "inner.deep": "function",
        "mac": "function",
        "top": "function",
    }


def test_nested_java_types_have_qualified_names() -> None:
    text = """package a;
public class A { A() {} int m() { return 1; } class In { void k() {} }
  enum E { X } interface I { void q(); } record R(int a) {} }
"""
    assert kinds_by_name("A.java", text) == {
        "A": "class",
        "A.A": "method",
        "A.m": "method",
        "A.In": "class",
        "A.In.k": "method",
        "A.E": "type",
        "A.I": "interface",
        "A.I.q": "method",
        "A.R": "class",
    }


def test_c_definitions_and_both_names_of_a_typedef_are_symbols() -> None:
    text = """#define M(x) x
typedef struct foo_s { int a; } foo_t;
typedef struct Same { int a; } Same;
typedef struct { int z; } Anon;
typedef int (*callback)(int);
enum E { A };
static int *f(int a) { return 0; }
int prototype(void);
"""
    assert kinds_by_name("a.c", text) == {
        "M": "function",
        "foo_s": "class",
        "foo_t": "type",
        "Same": "class",
        "Anon": "class",
        "callback": "type",
        "E": "type",
        "f": "function",
    }


def test_cpp_names_include_namespace_and_class() -> None:
    text = """namespace a::b {
template <typename T>
class K { public: ~K() {} int m() { return 1; } bool operator==(const K& o) { return true; } };
using V = int;
}
int a::b::K<int>::q() { return 1; }
template <class U> U& A::r() { }
enum class Colour { R };
"""
    assert kinds_by_name("a.cpp", text) == {
        "a.b.K": "class",
        "a.b.K.~K": "method",
        "a.b.K.m": "method",
        "a.b.K.operator==": "method",
        "a.b.V": "type",
        "a.b.K.q": "method",
        "A.r": "method",
        "Colour": "type",
    }
    assert ("class", "a.b.K", 2, 3) in declared_symbols("a.cpp", text)


def test_lines_are_correct_after_multibyte_characters() -> None:
    assert declared_symbols("a.py", "é = 'ü'\n\ndef größe():\n    pass\n") == [("function", "größe", 3, 4)]


def test_declarations_next_to_a_syntax_error_are_kept() -> None:
    assert "good" in kinds_by_name("a.py", "def good(): pass\n\ndef bad(:\n  ((\n\nclass Fine:\n    pass\n")


def test_every_thread_has_its_own_parser() -> None:
    parsers: list[object] = []
    found: list[int] = []

    def read() -> None:
        parsers.append(language_parser("python").parser)
        found.append(len(extract_names("a.py", "def f(): pass\n" * 50, "python", "code").symbols))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert found == [50] * 4
    assert len({id(parser) for parser in parsers}) == 4


##= docs/spec/knowledge.md#chunks-and-symbols
##% When a grammar hangs or fails on a file, the file MUST be indexed by lines.
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "\0\0\n",
        "(" * 10_000,
        "[\n" * 10_000 + "]\n" * 10_000,
        "var a=function(b){return c.d(e)};" * 62_500,
        "a" + ".b()" * 20_000,
        "def f():\r\n  g()\r\n" * 300,
    ],
    ids=["empty", "NUL", "brackets", "bracket lines", "minified", "chain", "CRLF"],
)
def test_unusual_text_is_parsed_without_errors(language: str, text: str) -> None:
    names = extract_names("a", text, language, "test")
    assert [symbol.line_start for symbol in names.symbols] == sorted(symbol.line_start for symbol in names.symbols)
    assert len(names.references) <= 2_000


def test_thousands_of_nodes_do_not_crash_the_process() -> None:
    text = "".join(f"def f{number}(x):\n    return g{number}(x).h(a.b(x))\n" for number in range(2_000))
    for _ in range(5):
        assert len(extract_names("a.py", text, "python", "code").symbols) == 2_000


def test_deeply_nested_declarations_are_named_up_to_a_limit() -> None:
    text = "function f() {\n" * 3_000 + "}\n" * 3_000
    assert 1 <= len(extract_names("a.js", text, "javascript", "code").symbols) <= 100
