"""Random projects: odd specifications, citations of them, and every kind of wrong citation."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from contextive.trace.matching import Haystack, match_quote
from contextive.trace.specification import Format, Section, Specification, parse_specification
from tests.differential.specifications import ietf_text, markdown_text

ROOT = "@ROOT@"
"""A placeholder for the project directory until the project is written to disk."""
_SCHEMA = "'$schema' = \"https://awslabs.github.io/duvet/config/v0.4.0.json\"\n"
_STYLES = (
    ("//=", "//#"),
    ("//=", "//#"),
    ("*=", "*#"),
    ("##=", "##%"),
    ("# //=", "# //#"),
    ("//=", "//"),
    ("@", "|"),
    ("é", "ü "),
    ("--", "-- "),
)
_TYPES = ("implementation", "citation", "test", "exception", "todo", "implication", "spec", "TEST", "TODO", "EXCEPTION")
_GLOBS = ("src/**/*.rs", "src/*.rs", "./src/*.rs", "src/f0.rs", "**/*.rs", "src/f[0-1].rs", "src/?0.rs", "src/f[!0].rs")
_DEFAULT_TYPES = ("implementation", "spec", "test", "exception", "todo", "implication")
_FORMATS = ("auto", "AUTO", "ietf", "IETF", "markdown", "MARKDOWN", "md")
_INDENTS = ("", "", "    ", "\t", " \u00a0", "  \t")
_CODE = ("fn main() {}", "", "let x = 1; //= not at the start", "// a comment", "\x0c", "/*", "é = \u2028 1", "}")


def make_project(seed: int) -> dict[str, bytes]:
    """The project of a seed. The same seed always makes the same project."""
    return _ProjectMaker(Random(seed)).project()


class _ProjectMaker:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.valid_only = random.random() < 0.65
        self.files: dict[str, str] = {}
        self.specifications: list[tuple[str, Specification]] = []
        self.config = [_SCHEMA]

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def project(self) -> dict[str, bytes]:
        for number in range(self.random.choice((1, 1, 1, 2, 3))):
            self.add_specification(number)
        for number in range(self.random.choice((1, 1, 2, 3))):
            self.add_sources(number)
        if self.chance(0.4):
            self.add_toml(self.random.choice(("todos", "exceptions", "requirements")))
        if self.chance(0.1):
            self.config.append('[[requirement]]\npattern = "more/*.toml"\n')
            self.add_toml("../more")
        self.config.append("[report.html]\nenabled = false\n")
        self.files[".duvet/config.toml"] = "\n".join(self.config)
        if self.chance(0.05):
            self._move_a_specification()
        return {_resolve_dots(path): text.encode() for path, text in self.files.items()}

    def _move_a_specification(self) -> None:
        """Move one to a directory above the project or near a TOML file."""
        name, _ = self.random.choice(self.specifications)
        if "://" not in name:
            folder = self.random.choice(("..", ".duvet", ".duvet/todos", ".duvet/requirements"))
            self.files[f"{folder}/{name}"] = self.files.pop(name)

    def add_specification(self, number: int) -> None:
        random = self.random
        markdown = self.chance(0.5)
        text = markdown_text(random) if markdown else ietf_text(random)
        if self.chance(0.1):
            text = text.replace("\n", "\r\n")
        if self.chance(0.1):
            text = text.rstrip("\n")
        if self.chance(0.03):
            text = text.replace(" ", random.choice("\x1c\u2028\u3000"), random.randrange(9))
        name = self._specification_path(number, markdown, text)
        if self.chance(0.85):
            self.config.append(f'[[specification]]\nsource = "{name}"')
            if self.chance(0.2):
                self.config.append(f'format = "{random.choice(("ietf", "IETF", "markdown", "md"))}"')
            self.config.append("")
        self.specifications.append((name, parse_specification(text, Format.AUTO, self._parsed_name(name))))

    def _specification_path(self, number: int, markdown: bool, text: str) -> str:
        random = self.random
        if self.chance(0.2):
            host = random.choice(("example.com", "www.rfc-editor.org/rfc", "Example.ORG/a", "example.com:443/x"))
            page = random.choice((f"rfc{number + 1}", f"rfc{number + 1}.html", f"spec-v1.{number}", f"s{number}/"))
            stored = {"example.com:443/x": "example.com/x", "Example.ORG/a": "example.org/a"}.get(host, host)
            base = page.rstrip("/")
            base = base.rpartition(".")[0] or base
            self.files[f".duvet/specifications/{stored}/{base}.txt"] = text
            return f"https://{host}/{page}"
        folder = random.choice(("", "specs/", "specs/a.b/", "./", "d c/"))
        ending = random.choice((".md", ".markdown", ".md", ".txt", "")) if markdown else random.choice((".txt", ""))
        name = f"{folder}s{number}{ending}"
        self.files[name] = text
        return name

    def _parsed_name(self, name: str) -> str:
        return "x.txt" if "://" in name else name

    def add_sources(self, number: int) -> None:
        random = self.random
        meta, content = random.choice(_STYLES)
        block = [f'[[source]]\npattern = "{random.choice(_GLOBS)}"']
        if (meta, content) != ("//=", "//#"):
            block.append(f'comment-style = {{ meta = "{meta}", content = "{content}" }}')
        if self.chance(0.3):
            block.append(f'type = "{random.choice(_DEFAULT_TYPES)}"')
        if self.chance(0.2):
            block.append(f'blob-link = "https://b{random.randrange(2)}.example"')
        self.config.append("\n".join(block) + "\n")
        lines: list[str] = []
        for _ in range(random.choice((1, 2, 4, 8))):
            lines += self.citation(meta, content)
        name = f"src/f{number}.rs" if self.chance(0.8) else f"src/deep/é{number}.rs"
        ending = "\r\n" if self.chance(0.1) else "\n"
        self.files[name] = self.files.get(name, "") + ending.join(lines) + random.choice(("", ending))

    def citation(self, meta: str, content: str) -> list[str]:
        random = self.random
        target, section, specification = self.pick_section()
        quote = self.quote(section)
        if self.valid_only and quote and not _is_found(quote, section):
            quote = []
        pad = random.choice(_INDENTS)
        space = random.choice((" ", " ", "  ", "", "\t"))
        kind = random.choice(_TYPES) if self.chance(0.6) else ""
        fields = [f"{random.choice(('', '', '', 'source=', 'source = '))}{target}"]
        if kind:
            fields.append(f"type={kind}" if self.chance(0.7) else f"type = {kind} ")
        if self.chance(0.3):
            fields.append(f"level={random.choice(('MUST', 'SHOULD', 'MAY', 'AUTO'))}")
        if self.chance(0.05):
            fields.append(f"format={random.choice(_FORMATS) if not self.valid_only else specification.format.value}")
        effective = kind.lower()
        if effective in ("exception", "implication", "citation", "test", "implementation") and self.chance(0.3):
            fields += ["reason=because x", "reason= it = é \u3000"][: random.choice((1, 2))]
        if effective == "todo" and self.chance(0.5):
            fields += ["feature=f e", "tracking-issue=#12"][: random.choice((1, 2))]
        if not self.valid_only and self.chance(0.15):
            fields.append(self.broken_field())
        if self.chance(0.3):
            random.shuffle(fields)
        if not self.valid_only and self.chance(0.05):
            fields.remove(random.choice(fields))
        lines = [f"{pad}{meta}{space}{value}" for value in fields]
        lines += [f"{pad}{content}{space}{line}" for line in quote]
        if self.chance(0.1):
            lines.insert(random.randrange(len(lines) + 1), f"{pad}{content}")
        gap = random.choice(([""], ["", random.choice(_CODE)], [random.choice(_CODE)], []))
        return [*lines, *gap]

    def broken_field(self) -> str:
        return self.random.choice(
            (
                "type=nonsense",
                "type=",
                "type =   ",
                "level=must",
                "level=é",
                "format=txt",
                "unknown=1",
                "é=1",
                "type=test",
                "level=MAY",
                "reason=r",
                "feature=f",
                "tracking-issue=1",
                "source=other.md#x",
                "=",
                "",
                "nowhere.md#x",
                "type=Test",
            )
        )

    def pick_section(self) -> tuple[str, Section | None, Specification]:
        name, specification = self.random.choice(self.specifications)
        usable = [section for section in specification.sections if section.text_lines]
        if not usable:
            usable = list(specification.sections)
        if not usable or (not self.valid_only and self.chance(0.06)):
            section_id = self.random.choice(("none", "section-99", "", "a b", "é"))
            return f"{name}{self.random.choice(('#', '#', ''))}{section_id}", None, specification
        section = self.random.choice(usable)
        section_id = section.id
        if specification.format is Format.IETF and self.chance(0.03):
            prefix = self.random.choice(("", "section-", "appendix-", "section-section-"))
            section_id = prefix + section_id.partition("-")[2]
        path = name
        if "://" not in path and self.chance(0.04):
            path = f"{ROOT}/{path}"
        if not self.valid_only and self.chance(0.03):
            path = self.random.choice(("nowhere.md", "/nowhere.md", "https://127.0.0.1:9/x"))
        return f"{path}#{section_id}", section, specification

    def quote(self, section: Section | None) -> list[str]:
        random = self.random
        if section is None:
            return [] if self.chance(0.5) else ["some words"]
        if self.chance(0.1):
            return []
        text = Haystack.of(section).text
        if not text:
            return []
        if self.chance(0.1):
            start, end = 0, len(text)
        else:
            start = random.randrange(len(text))
            size = random.choice((1, 2, 3, 5, 8, 20, 40, 80, 200, 300))
            end = min(len(text), start + size)
        quote = text[start:end].strip()
        if self.chance(0.35):
            quote = self.alter(quote)
        words = quote.split(" ")
        lines: list[str] = []
        while words:
            count = random.choice((1, 3, 8, 30))
            lines.append(" ".join(words[:count]))
            del words[:count]
        return [line.replace("\n", " ") for line in lines]

    def alter(self, quote: str) -> str:
        random = self.random
        changes: list[Callable[[str, int], str]] = [
            lambda text, at: text[:at] + text[at + 1 :],
            lambda text, at: text[:at] + random.choice("xé. -日") + text[at:],
            lambda text, at: text[:at] + random.choice("xé. -") + text[at + 1 :],
            lambda text, at: text[:at] + random.choice((" ", "  ", "\t", "\u00a0")) + text[at:],
            lambda text, _: text.replace(" ", "  "),
            lambda text, _: text.replace(". ", "."),
            lambda text, _: text.replace(" ", ""),
            lambda text, at: text[:at] + text[at : at + 1].swapcase() + text[at + 1 :],
        ]
        position = random.choice((0, max(0, len(quote) - 1), len(quote), random.randrange(len(quote) + 1)))
        quote = random.choice(changes)(quote, position)
        return self.alter(quote) if self.chance(0.1) else quote

    def add_toml(self, folder: str) -> None:
        random = self.random
        lines: list[str] = []
        target, _, _ = self.pick_section()
        if self.chance(0.7):
            lines.append(f"{random.choice(('', ' '))}target = {_toml_string(random, target)}")
        kinds = {
            "todos": ("todo", "TODO", "todos"),
            "exceptions": ("exception", "exceptions"),
            "requirements": ("spec", "specs"),
        }.get(folder, ("spec", "todo", "exception"))
        name = random.choice(kinds)
        inline = self.chance(0.15)
        entries = []
        for _ in range(random.choice((1, 1, 2, 4))):
            own_target, section, _ = self.pick_section()
            quote = "\n".join(self.quote(section))
            if self.valid_only and quote and section is not None and not _is_found([quote], section):
                quote = ""
            fields = [f"quote = {_toml_string(random, quote, multiline=not inline)}"]
            if self.chance(0.8) or not lines or self.valid_only:
                fields.append(f'{random.choice(("target", "target", chr(34) + "target" + chr(34)))} = "{own_target}"')
            fields += self.toml_fields(name)
            if self.chance(0.3):
                random.shuffle(fields)
            entries.append(fields)
        if inline:
            separator = random.choice((", ", ",\n  "))
            tables = separator.join("{ " + ", ".join(fields) + " }" for fields in entries)
            lines.append(f"{name} = [{tables}]")
        else:
            for fields in entries:
                lines += [
                    random.choice(("", "# [[spec]]", "  ")),
                    random.choice((f"[[{name}]]", f"  [[ {name} ]] # x")),
                    *fields,
                ]
        self.files[f".duvet/{folder}/{random.choice(('a', 'b/c'))}.toml"] = "\n".join(lines) + "\n"

    def toml_fields(self, name: str) -> list[str]:
        random = self.random
        fields = []
        kind = name.lower().rstrip("s")
        if kind == "exception":
            fields.append('reason = "it is so"')
        if kind == "spec" and self.chance(0.5):
            fields.append(f'level = "{random.choice(("MUST", "MAY", "SHOULD", "AUTO"))}"')
        if kind == "todo":
            optional = ('feature = "f"', "tracking-issue = 'é 1'", 'reason = "r"', 'tags = ["b", "a", "b"]')
            fields += [field for field in optional if self.chance(0.4)]
        if not self.valid_only and self.chance(0.15):
            wrong = ('level = "must"', 'format = "x"', "unknown = 1", "quote = 1", "tags = 3", 'feature = "a"', "= 1")
            fields.append(random.choice(wrong))
        if not self.valid_only and self.chance(0.05):
            fields = fields[1:]
        return fields


def _is_found(quote: list[str], section: Section | None) -> bool:
    text = " ".join(" ".join(line.split()) for line in quote)
    return section is not None and match_quote(text, Haystack.of(section)) is not None


def _toml_string(random: Random, text: str, *, multiline: bool = True) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    clean = "".join(c if c in "\t\n" or c >= " " else " " for c in escaped)
    if not multiline:
        clean = clean.replace("\n", " ")
    elif "\n" in clean or random.random() < 0.4:
        return f'"""{random.choice(("", chr(10), chr(10) + "   "))}{clean}{random.choice(("", chr(10)))}"""'
    return f'"{clean}"'


def _resolve_dots(path: str) -> str:
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)
