"""What users run without a clone: the registry entry, the bundle, the container image and the GitHub action."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from packaging.utils import canonicalize_name

from contextive import __version__
from contextive.cli.parser import build_parser, parse
from contextive.ops.demo import example_folder
from contextive.packs import BUILTIN, load_builtin
from tests.processes import clean_environment
from tests.raw_clients import StdioClient

ROOT = Path(__file__).resolve().parents[2]


def tool(name: str) -> Any:
    """A module from the folder `tools`, which is not a package."""
    found = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


bundle = tool("bundle")
TEXT = {"type": "string", "minLength": 1}
TEXTS = {"type": "array", "items": TEXT}

# -- registry ----------------------------------------------------------------------------------------------------------

_INPUT = {
    "description": TEXT,
    "isRequired": {"type": "boolean"},
    "isSecret": {"type": "boolean"},
    "format": {"enum": ["string", "number", "boolean", "filepath"]},
    "value": {"type": "string"},
    "default": {"type": "string"},
}
_POSITIONAL = {
    "type": "object",
    "properties": {**_INPUT, "type": {"const": "positional"}, "valueHint": TEXT},
    "required": ["type"],
    "anyOf": [{"required": ["value"]}, {"required": ["valueHint"]}],
    "additionalProperties": False,
}
_NAMED = {
    "type": "object",
    "properties": {**_INPUT, "type": {"const": "named"}, "name": TEXT},
    "required": ["type", "name"],
    "additionalProperties": False,
}
SERVER_RULES: dict[str, Any] = {
    "type": "object",
    "required": ["$schema", "name", "description", "version", "packages"],
    "additionalProperties": False,
    "properties": {
        "$schema": {
            "pattern": r"^https://static\.modelcontextprotocol\.io/schemas/\d{4}-\d\d-\d\d/server\.schema\.json$"
        },
        "name": {"type": "string", "minLength": 3, "maxLength": 200, "pattern": r"^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$"},
        "title": {"type": "string", "minLength": 1, "maxLength": 100},
        "description": {"type": "string", "minLength": 1, "maxLength": 100},
        "version": {"type": "string", "maxLength": 255, "pattern": r"^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$"},
        "packages": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["registryType", "identifier", "version", "transport"],
                "additionalProperties": False,
                "properties": {
                    "registryType": {"enum": ["pypi", "npm", "oci", "nuget", "cargo", "mcpb"]},
                    "identifier": TEXT,
                    "version": {"type": "string", "minLength": 1, "not": {"const": "latest"}},
                    "runtimeHint": TEXT,
                    "transport": {"type": "object", "properties": {"type": {"const": "stdio"}}, "required": ["type"]},
                    "packageArguments": {"type": "array", "items": {"anyOf": [_POSITIONAL, _NAMED]}},
                    "environmentVariables": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {**_INPUT, "name": TEXT},
                            "required": ["name"],
                            "additionalProperties": False,
                        },
                    },
                },
            },
        },
    },
}
SERVER = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))


def test_the_registry_entry_is_valid() -> None:
    jsonschema.Draft202012Validator(SERVER_RULES).validate(SERVER)


def test_the_registry_entry_has_this_version_and_the_readme_names_it() -> None:
    (package,) = SERVER["packages"]
    assert SERVER["version"] == package["version"] == __version__
    assert canonicalize_name(package["identifier"]) == "contextive-mcp"
    assert f"mcp-name: {SERVER['name']} " in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_arguments_of_the_registry_entry_start_a_server(tmp_path: Path) -> None:
    words: list[str] = []
    for argument in SERVER["packages"][0]["packageArguments"]:
        words += [argument["name"]] if argument["type"] == "named" else [argument["value"]]
        words += [str(tmp_path)] if argument.get("isRequired") else []
    options = parse(build_parser(), words)
    assert (options.mode, options.project) == ("stdio", tmp_path)


# -- bundle ------------------------------------------------------------------------------------------------------------

MANIFEST_RULES: dict[str, Any] = {
    "type": "object",
    "required": ["manifest_version", "name", "version", "description", "author", "server"],
    "additionalProperties": False,
    "properties": {
        "manifest_version": {"const": "0.4"},
        **dict.fromkeys(("name", "display_name", "version", "description", "license"), TEXT),
        "keywords": TEXTS,
        "author": {"type": "object", "properties": {"name": TEXT}, "required": ["name"], "additionalProperties": False},
        "server": {
            "type": "object",
            "required": ["type", "entry_point", "mcp_config"],
            "additionalProperties": False,
            "properties": {
                "type": {"enum": ["python", "node", "binary", "uv"]},
                "entry_point": TEXT,
                "mcp_config": {
                    "type": "object",
                    "required": ["command"],
                    "additionalProperties": False,
                    "properties": {"command": TEXT, "args": TEXTS, "env": {"type": "object"}},
                },
            },
        },
        "user_config": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "required": ["type", "title", "description"],
                "additionalProperties": False,
                "properties": {
                    "type": {"enum": ["string", "number", "boolean", "directory", "file"]},
                    "title": TEXT,
                    "description": TEXT,
                    "required": {"type": "boolean"},
                },
            },
        },
        "tools": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name"],
                "additionalProperties": False,
                "properties": {"name": TEXT, "description": TEXT},
            },
        },
        "tools_generated": {"type": "boolean"},
        "compatibility": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "platforms": {"type": "array", "items": {"enum": ["darwin", "win32", "linux"]}},
                "runtimes": {"type": "object", "properties": {"python": TEXT}, "additionalProperties": False},
            },
        },
    },
}


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    with zipfile.ZipFile(bundle.write_bundle(folder / "dist")) as archive:
        archive.extractall(folder / "unpacked")
    return folder / "unpacked"


def test_the_manifest_of_the_bundle_is_valid(unpacked: Path) -> None:
    manifest = json.loads((unpacked / "manifest.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(MANIFEST_RULES).validate(manifest)
    assert manifest["version"] == __version__
    assert (unpacked / manifest["server"]["entry_point"]).is_file()
    known = {tool.name for pack in BUILTIN for tool in load_builtin(pack).tools}
    assert {tool["name"] for tool in manifest["tools"]} <= known
    used = re.findall(r"\$\{user_config\.(\w+)\}", json.dumps(manifest["server"]))
    assert used == list(manifest["user_config"])


def test_the_bundle_has_all_sources_and_no_local_files(unpacked: Path) -> None:
    names = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
    own = {path.relative_to(ROOT).as_posix() for path in (ROOT / "src").rglob("*.py")}
    assert own <= names
    assert {"manifest.json", "pyproject.toml", "README.md", "LICENSE"} <= names
    assert "packages/contextive-minilm/src/contextive_minilm/model.onnx" in names
    assert not [name for name in names if "__pycache__" in name or "/.contextive/" in name or name.startswith("tests/")]


def test_the_bundle_is_reproducible(tmp_path: Path) -> None:
    one, two = (bundle.write_bundle(tmp_path / name).read_bytes() for name in ("one", "two"))
    assert one == two


def test_the_server_in_the_bundle_starts(unpacked: Path, tmp_path: Path) -> None:
    manifest = json.loads((unpacked / "manifest.json").read_text(encoding="utf-8"))
    arguments = manifest["server"]["mcp_config"]["args"]
    words = [word.replace("${user_config.project}", str(tmp_path)) for word in arguments]
    server_words = words[words.index("contextive-mcp") + 1 :]
    with StdioClient(*server_words, cwd=tmp_path, env={"PYTHONPATH": str(unpacked / "src")}) as pipe:
        answer = pipe.initialize()
        assert answer["serverInfo"] == {**answer["serverInfo"], "name": "contextive-mcp", "version": __version__}


# -- image -------------------------------------------------------------------------------------------------------------

CONTAINERFILE = (ROOT / "Containerfile").read_text(encoding="utf-8")


def test_the_image_installs_by_hash_and_runs_unprivileged() -> None:
    instructions = [
        line for line in re.sub(r"\\\n\s*", "", CONTAINERFILE).splitlines() if line and not line.startswith("#")
    ]
    installs = [part for line in instructions for part in line.split("&&") if "pip install" in part]
    assert len(installs) == 3
    assert all("--require-hashes" in part or "/wheels/*.whl" in part for part in installs)
    assert all("--no-deps" in part for part in installs if "/wheels/*.whl" in part)
    last = instructions[instructions.index(next(line for line in instructions[1:] if line.startswith("FROM"))) :]
    assert "USER 10001" in last
    assert last.index("USER 10001") < last.index('ENTRYPOINT ["contextive-mcp"]')
    assert not re.search(r"(?i)token=|secret=|password=", CONTAINERFILE)


def test_files_that_the_image_copies_exist_and_are_not_ignored() -> None:
    copied = [
        word for line in re.findall(r"^COPY (?!--from)(.+)$", CONTAINERFILE, re.MULTILINE) for word in line.split()[:-1]
    ]
    allowed = (ROOT / ".containerignore").read_text(encoding="utf-8").splitlines()
    for name in copied:
        assert (ROOT / name).exists()
        assert f"!{name.split('/')[0]}" in allowed


def test_the_command_of_the_image_is_valid() -> None:
    words = json.loads(re.findall(r"^CMD (.+)$", CONTAINERFILE, re.MULTILINE)[0])
    assert parse(build_parser(), words).mode == "stdio"


def test_the_image_has_no_development_tools() -> None:
    last = CONTAINERFILE[CONTAINERFILE.rindex("\nFROM ") :]
    assert re.findall(r"-r (\S+)", last) == ["/wheels/requirements-runtime.lock"]


# -- action ------------------------------------------------------------------------------------------------------------

ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"] if "name" in step}


def run_step(name: str, folder: Path, temporary: Path, **inputs: str) -> tuple[int, dict[str, str], str]:
    """Run a shell step of the action like a runner: its exit code, its outputs, and what it printed."""
    output, summary = temporary / "output", temporary / "summary"
    output.write_text("", encoding="utf-8")
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", STEPS[name]["run"]],
        cwd=folder,
        env=clean_environment(
            {"CI": "true", "GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary),
             "RUNNER_TEMP": str(temporary), "GITHUB_ACTION_PATH": str(ROOT), **inputs}
        ),
        capture_output=True, encoding="utf-8", timeout=60,
    )  # fmt: skip
    outputs = dict(line.split("=", 1) for line in output.read_text(encoding="utf-8").splitlines())
    return done.returncode, outputs, done.stdout + done.stderr


def report(folder: Path, temporary: Path, gate: str, minimum: str = "0") -> tuple[int, dict[str, str], str]:
    code, outputs, printed = run_step(
        "Report", folder, temporary,
        BIN=str(Path(sys.executable).parent), GATE=gate, MINIMUM=minimum, CONFIG_PATH="", FETCH="false",
    )  # fmt: skip
    if "code" not in outputs:
        return code, outputs, printed
    assert code == 0, printed
    return run_step("Gate", folder, temporary, CODE=outputs["code"])[0], outputs, printed


@pytest.fixture
def traced(tmp_path: Path) -> Path:
    """The example with its invalid citation fixed: 12 of its 13 requirements are covered."""
    for path in example_folder().rglob("*"):
        if path.suffix in (".md", ".py", ".js") and "__pycache__" not in path.parts:
            target = tmp_path / "project" / path.relative_to(example_folder())
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(
                path.read_text(encoding="utf-8").replace("three seconds after", "two seconds after"), "utf-8"
            )
    return tmp_path / "project"


@pytest.mark.parametrize(
    ("gate", "minimum", "code"),
    [("tests", "0", 1), ("citations", "0", 1), ("valid", "0", 0), ("valid", "92", 0), ("valid", "93", 1)],
)
def test_the_gate_fails_according_to_its_inputs(
    traced: Path, tmp_path: Path, gate: str, minimum: str, code: int
) -> None:
    exit_code, outputs, printed = report(traced, tmp_path, gate, minimum)
    assert exit_code == code, printed
    assert outputs["covered"] == "92"
    sarif = json.loads(Path(outputs["sarif"]).read_text(encoding="utf-8"))
    assert sarif["version"] == "2.1.0"
    assert "12 of 13 requirements are covered (92 %)." in (tmp_path / "summary").read_text(encoding="utf-8")


def test_an_invalid_citation_fails_every_gate_and_is_in_the_report(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("##= gone.md#a\n##% Nothing.\n", encoding="utf-8")
    exit_code, outputs, printed = report(tmp_path, tmp_path, "valid")
    assert exit_code == 1
    assert "::error" in printed
    assert "sarif" in outputs


@pytest.mark.parametrize(("gate", "minimum"), [("most", "0"), ("valid", "ten"), ("valid", "")])
def test_an_invalid_input_is_an_error(tmp_path: Path, gate: str, minimum: str) -> None:
    exit_code, outputs, printed = report(tmp_path, tmp_path, gate, minimum)
    assert (exit_code, outputs) == (2, {})
    assert "::error::" in printed


def test_the_action_installs_by_hash(tmp_path: Path) -> None:
    """With a fake Python that records its arguments."""
    stand_in = tmp_path / "tools" / "python"
    stand_in.parent.mkdir()
    stand_in.write_text(
        '#!/bin/bash\necho "$@" >> "$RUNNER_TEMP/calls"\n'
        '[ "$2" != venv ] || { mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; }\n'
        '[ "$1" != -c ] || echo "$RUNNER_TEMP"\n',
        encoding="utf-8",
    )
    stand_in.chmod(0o755)
    path = os.pathsep.join([str(stand_in.parent), os.environ["PATH"]])
    code, outputs, printed = run_step("Install", tmp_path, tmp_path, PATH=path)
    assert code == 0, printed
    calls = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    assert f"--require-hashes -r {ROOT / 'requirements-runtime.lock'}" in calls[1]
    assert not [line for line in calls[2:] if "pip" in line]
    assert outputs == {"bin": str(tmp_path / "contextive" / "bin")}


def test_the_action_runs_from_its_source_and_imports_nothing_of_the_project(tmp_path: Path) -> None:
    """As installed: only a .pth file names the package, and the project has modules with the same names."""
    environment = tmp_path / "contextive"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", environment], check=True)
    (site,) = environment.glob("lib/python*/site-packages")
    packages = Path(yaml.__file__).parents[1]
    (site / "contextive.pth").write_text(f"{ROOT / 'src'}\n{packages}\n", encoding="utf-8")
    project = tmp_path / "project"
    for name in ("contextive/__init__.py", "contextive/__main__.py", "json.py", "sitecustomize.py", "argparse.py"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("print('TAKEN OVER')\n", encoding="utf-8")
    code, _, printed = run_step(
        "Report", project, tmp_path,
        BIN=str(environment / "bin"), GATE="valid", MINIMUM="0", CONFIG_PATH="", FETCH="false",
    )  # fmt: skip
    assert (code, "TAKEN OVER" in printed) == (0, False), printed
    assert "Scanned" in printed


def test_every_used_action_is_pinned_to_a_commit() -> None:
    used = re.findall(r"uses: (\S+)(.*)", (ROOT / "action.yml").read_text(encoding="utf-8"))
    assert len(used) == 2
    for action, note in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action)
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", note)


def test_inputs_reach_shell_steps_only_through_the_environment() -> None:
    assert [name for name, step in STEPS.items() if "${{" in step.get("run", "")] == []
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert [name for name in ACTION["inputs"] if f"| `{name}` |" not in page] == []
    assert [name for name in ACTION["outputs"] if f"`{name}`" not in page] == []
