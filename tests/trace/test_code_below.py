"""How much code belongs to a citation comment."""

from __future__ import annotations

import pytest

from contextive.trace.code_below import MAX_LINE_CHARACTERS, MAX_LINES, code_below, enclosing_line

RUST = """\
impl Pot {
    fn fill(&mut self) {}

    //= specs/coffee.md#brewing
    //# The pot MUST brew coffee.
    //= specs/coffee.md#brewing
    //# The pot SHOULD keep it warm.
    /// Brews.
    #[inline]
    pub fn brew(
        &mut self,
    ) -> Coffee {
        let water = self.water();

        Coffee::from(water)
    }

    fn pour(&self) {}
}
"""
PYTHON = """\
class Pot:
    @@= specs/coffee.md#brewing
    @@% The pot MUST brew coffee.
    @cached
    def brew(self):
        if self.water:
            return Coffee()

        return None

    def pour(self):
        pass
""".replace("@@", "##")
STATEMENT = """\
fn brew() {
    //= specs/coffee.md#brewing
    //# The pot MUST brew coffee.
    let water = tap
        .open()
        .fill();
    boil(water);
    // About something else.
    pour();
}
"""
LAST = """\
fn brew() {
    boil();
    pour();
    //= specs/coffee.md#brewing
    //# The pot MUST brew coffee.
}

fn other() {}
"""


def code(text: str, first: int, last: int, most: int = MAX_LINES) -> list[str]:
    lines = text.split("\n")
    return code_below(lines, first - 1, last - 1, most).of(lines)


##= docs/spec/trace.md#get-citation-context
##= type=test
##% The code of a citation MUST reach from its comment to the end of the statement, block or function below it.
@pytest.mark.parametrize(
    ("text", "comment", "first", "last"),
    [
        (RUST, (4, 5), "    //= specs/coffee.md#brewing", "    }"),
        (PYTHON, (2, 3), f"    {'##'}= specs/coffee.md#brewing", "        return None"),
        (STATEMENT, (2, 3), "    //= specs/coffee.md#brewing", "    boil(water);"),
        (LAST, (4, 5), "    boil();", "    //# The pot MUST brew coffee."),
    ],
    ids=["function", "decorated", "statement", "nothing below"],
)
def test_code_reaches_from_the_comment_to_the_end_of_what_is_below_it(
    text: str, comment: tuple[int, int], first: str, last: str
) -> None:
    found = code(text, *comment)
    assert (found[0], found[-1]) == (first, last)
    assert not any("fn pour" in line or "fn other" in line or "def pour" in line for line in found)


def test_a_long_function_is_cut_and_says_how_much_is_left_out() -> None:
    text = "//= a#b\n//# C.\nfn f() {\n" + "    step();\n" * 200 + "}\n"
    lines = text.split("\n")
    found = code_below(lines, 0, 1)
    assert len(found.of(lines)) == 2 + MAX_LINES
    assert found.more == 202 - MAX_LINES
    assert "x" * (MAX_LINE_CHARACTERS + 1) not in code("//= a#b\n" + "x" * 1_000_000, 1, 1)[1]


@pytest.mark.parametrize("text", ["", "//= a#b", "//= a#b\n\n\n", "\t//= a#b\n}"])
def test_a_comment_at_the_end_of_a_file_has_no_code(text: str) -> None:
    assert len(code(text, 1, 1)) <= 1


def test_the_line_that_opens_a_block_is_the_nearest_one_with_less_indentation() -> None:
    lines = RUST.split("\n")
    assert lines[enclosing_line(lines, 12) or 0].strip() == "pub fn brew("
    assert lines[enclosing_line(lines, 9) or 0] == "impl Pot {"
    assert enclosing_line(lines, 0) is None
    assert enclosing_line(["    deep", "    deeper"], 1) is None


BLOCK_COMMENT = """\
int brew(void)
{
    /**
     *= specs/coffee.md#brewing
     *# The pot MUST brew coffee.
     */
    if (water == 0) {
        complain();
        return -1;
    }

    return 0;
}
"""


def test_the_code_of_a_block_comment_is_below_its_end() -> None:
    lines = BLOCK_COMMENT.split("\n")
    assert code_below(lines, 3, 4).of(lines) == lines[3:10]
    top = ["/*= specs/coffee.md#brewing", " *# The pot MUST brew coffee.", " */", "int brew(void);", ""]
    assert code_below(top, 0, 1).of(top)[-1] == "int brew(void);"
