"""The code that a citation covers, in each language."""

from __future__ import annotations

import pytest

from contextive.review.code_units import CodeUnit, SourceCode

RUST = """\
impl Door {
    fn evening(&self, count: u8) -> u8 {
        let mut left = count;
        //= spec#a
        //# quote
        if left > 0 { left -= 1; }
        left
        //= spec#end
    }
}

//= spec#b
//# quote
#[test]
// a comment
fn locks() { assert_eq!(evening(1), 0); }

const A: u8 = 1;
"""
GO = "package a\n\n//= spec#a\nfunc F(a int) int {\n\t//= spec#b\n\tx, y := a, 1\n\treturn x + y\n}\n"
JAVA = "class A {\n  //= spec#a\n  int f(int a) {\n    int x = 1; // c\n    return x + a;\n  }\n}\n"
TYPESCRIPT = "//= spec#a\nexport const f = (a: number) => {\n  return a + 1\n}\n"
C = "//= spec#a\nint f(int a) {\n  int *x = &a; /* c */\n  return *x;\n}\n"
LUA = "--= spec#a\nfunction f(a)\n  return a + 1\nend\n\nfunction g() end\n"


def unit(path: str, text: str, first: int, last: int | None = None) -> CodeUnit:
    return SourceCode(path, text).unit_below(first, last or first)


def words(found: CodeUnit) -> str:
    return " ".join(token.lstrip("\0") for token in found.code.tokens)


##= docs/spec/review.md#code-under-a-citation
##% The code under a citation MUST be the statement or function below it, without comments and layout.
@pytest.mark.parametrize(
    ("path", "text", "line", "expected", "symbol"),
    [
        ("a.rs", RUST, 4, "if left > 0 { left -= 1 ; }", "Door.evening"),
        ("a.rs", RUST, 12, "# [ test ] fn locks ( ) { assert_eq ! ( evening ( 1 ) , 0 ) ; }", "locks"),
        ("a.go", GO, 3, "func F ( a int ) int { x , y := a , 1 return x + y }", "F"),
        ("a.go", GO, 5, "x , y := a , 1", "F"),
        ("a.java", JAVA, 2, "int f ( int a ) { int x = 1 ; return x + a ; }", "A.f"),
        ("a.ts", TYPESCRIPT, 1, "export const f = ( a : number ) => { return a + 1 }", ""),
        ("a.c", C, 1, "int f ( int a ) { int * x = & a ; return * x ; }", "f"),
        ("a.lua", LUA, 1, "function f ( a ) return a + 1 end", ""),
    ],
)
def test_a_citation_covers_the_statement_or_function_below_it(
    path: str, text: str, line: int, expected: str, symbol: str
) -> None:
    last = line + 1 if text is RUST else line
    found = unit(path, text, line, last)
    assert (words(found), found.symbol) == (expected, symbol)


def test_a_citation_at_the_end_of_a_block_covers_the_function_around_it() -> None:
    assert words(unit("a.rs", RUST, 8)).startswith("fn evening (")
    python = "def f():\n    a = 1\n    #= spec#a\n\n\ndef g():\n    pass\n"
    assert words(unit("a.py", python, 3)) == "def f ( ) : { a = 1 }"


def test_a_citation_above_the_first_statement_of_a_python_function_covers_that_statement() -> None:
    assert words(unit("a.py", "def f():\n    #= spec#a\n    a = 1\n    return a\n", 2)) == "a = 1"


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("a.rs", 'fn f() { let a = 1; println!("{a}"); }', 'fn f() { let b = 1; println!("{b}"); }'),
        ("a.rs", "fn f() { call(|x| x + 1) }", "fn f() {\n    call(\n        |y| y + 1,\n    )\n}"),
        ("a.go", "func f() { for i, v := range q { g(i, v) } }", "func f() { for n, v := range q { g(n, v) } }"),
        ("a.java", "int f(int a) { for (int i : q) { g(i); } }", "int f(int b) { for (int k : q) { g(k); } }"),
        ("a.ts", "function f() { const a = 'x'; return a }", 'function f() {\n  const b = "x";\n  return b;\n}'),
        ("a.c", "int f(int *a) { int x = 1; return x + *a; }", "int f(int *b) { int y = 1; return y + *b; }"),
        ("a.py", "@d\ndef f():\n    x = g()\n    return x", "@d\ndef f():\n    y = g()\n    return y"),
        ("a.ts", "export function f() { let a = 1; return a }", "export function f() { let b = 1; return b }"),
        ("a.py", "def f():\n    x = a + b\n    return x", "def f():\n    y = (\n        a + b\n    )\n    return y"),
    ],
)
def test_formatting_and_names_of_local_variables_do_not_matter(path: str, old: str, new: str) -> None:
    first, second = (
        unit(path, f"//= spec\n{text}\n".replace("//=", "#=" if path == "a.py" else "//="), 1) for text in (old, new)
    )
    assert first.code.is_same_as(second.code)


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("a.rs", "fn f() { a(1); b(2) }", "fn f() { b(1); a(2) }"),
        ("a.rs", "fn f(a: u8, b: u8) { g(a, b) }", "fn f(a: u8, b: u8) { g(b, a) }"),
        ("a.rs", "fn f() { x; }", "fn f() { x }"),
        ("a.py", "def f(a):\n    return a.size", "def f(a):\n    return a.count"),
        ("a.py", "def f(a):\n    return g(size=a)", "def f(a):\n    return g(count=a)"),
        ("a.py", "def f():\n    return 'a'", "def f():\n    return 'b'"),
        ("a.py", "def f():\n    return LIMIT", "def f():\n    return OTHER"),
        ("a.py", "def f(a, b, c):\n    return (a + b) * c", "def f(a, b, c):\n    return a + b * c"),
    ],
)
def test_what_means_something_else_is_different(path: str, old: str, new: str) -> None:
    first, second = (
        unit(path, f"//= spec\n{text}\n".replace("//=", "#=" if path == "a.py" else "//="), 1) for text in (old, new)
    )
    assert not first.code.is_same_as(second.code)
