"""Every answer reflects the current files, and only changed files are parsed again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Lock, Semaphore

import pytest

from contextive.ingest.trace_service import TraceService
from contextive.ingest.trace_sources import SourceFile
from contextive.ingest.traced_project import TracedProject, TraceState
from contextive.trace.target import Target
from contextive.workspace.directory_listings import DirectoryListings
from tests.ingest.projects import (
    BOIL,
    BREW,
    COFFEE,
    MILK,
    TEA,
    WARM,
    Project,
    Work,
    citations_of,
    cite,
    record_work,
    statuses,
    view_to_dict,
)


def fresh_view_to_dict(project: Project) -> dict[str, object]:
    return view_to_dict(project.service().view())


# -- an answer reflects every save before the call ---------------------------------------------------------------------


def test_the_first_answer_is_correct(project: Project) -> None:
    assert statuses(project.service().view()) == {
        BREW: "missing_test",
        WARM: "not_started",
        MILK: "not_started",
        BOIL: "missing_test",
    }


##= docs/spec/trace.md#freshness
##% An answer MUST reflect every file saved before the call.
def test_a_saved_test_is_in_the_next_answer(project: Project) -> None:
    service = project.service()
    assert statuses(service.view())[BREW] == "missing_test"
    project.write("tests/coffee.rs", cite("specs/coffee.md#brewing", BREW))
    assert statuses(service.view())[BREW] == "complete"


def test_a_hundred_quick_saves_with_the_same_size_are_all_seen(project: Project) -> None:
    service = project.service()
    for turn in range(100):
        quote = (BREW, "The pot MUST brew coffeE.")[turn % 2]
        project.write(
            "src/coffee.rs", cite("specs/coffee.md#serving" if turn % 4 > 1 else "specs/coffee.md#brewing", quote)
        )
        found = [c.target for c in service.view().catalog.analysis.citations if c.source == "src/coffee.rs"]
        assert found == ["specs/coffee.md#serving" if turn % 4 > 1 else "specs/coffee.md#brewing"]


def test_a_changed_requirement_is_in_the_next_answer(project: Project) -> None:
    service = project.service()
    service.view()
    project.write("specs/coffee.md", COFFEE.replace("A cup MAY hold milk.", "A cup MUST hold coffee."))
    assert "A cup MUST hold coffee." in statuses(service.view())
    assert MILK not in statuses(service.view())


@pytest.mark.parametrize("kind", ["exception", "todo"])
def test_changes_of_exceptions_and_todos_in_toml_are_seen(kind: str, project: Project) -> None:
    service = project.service()
    service.view()
    path = f".duvet/{kind}s/tea.toml"
    body = f'target = "specs/tea.md#steeping"\n[[{kind}]]\nquote = "{BOIL}"\nreason = "x"\n'
    project.write(path, body)
    project.remove("src/tea.rs")
    assert statuses(service.view())[BOIL] == kind
    project.remove(path)
    assert statuses(service.view())[BOIL] == "not_started"


def test_new_renamed_and_removed_sources_are_seen(project: Project) -> None:
    service = project.service()
    service.view()
    project.write("src/deep/new.rs", cite("specs/coffee.md#serving", MILK))
    assert statuses(service.view())[MILK] == "missing_test"
    (project.root / "src/deep/new.rs").rename(project.root / "src/renamed.rs")
    assert citations_of(service.view(), MILK) == ["src/renamed.rs:1"]
    project.remove("src/renamed.rs")
    assert statuses(service.view())[MILK] == "not_started"
    assert view_to_dict(service.view()) == fresh_view_to_dict(project)


def test_a_removed_specification_is_reported_until_it_is_back(project: Project) -> None:
    service = project.service()
    service.view()
    project.remove("specs/tea.md")
    view = service.view()
    assert BOIL not in statuses(view)
    assert [problem.code for problem in view.state.problems] == ["specification_not_found"] * 2
    assert [problem.location.path for problem in view.state.problems] == [".duvet/config.toml", "src/tea.rs"]
    assert list(view.state.specification_problems.values()) == ["specs/tea.md does not exist"]
    project.write("specs/tea.md", TEA)
    assert statuses(service.view())[BOIL] == "missing_test"
    assert service.view().state.problems == ()


def test_a_specification_that_appears_next_to_its_toml_file_is_found(project: Project) -> None:
    project.write(".duvet/todos/x.toml", f'target = "local.md#part"\n[[todo]]\nquote = "{MILK}"\n')
    service = project.service()
    assert [p.code for p in service.view().state.problems] == ["specification_not_found"]
    project.write(".duvet/todos/local.md", f"# Part\n\n{MILK}\n")
    assert service.view().state.problems == ()
    project.write("local.md", "# Other\n")
    assert [p.code for p in service.view().state.problems] == ["section_not_found"]
    assert view_to_dict(service.view()) == fresh_view_to_dict(project)


def test_a_stored_copy_of_a_url_is_found_as_soon_as_it_exists(project: Project) -> None:
    url = "https://example.org/specs/pot.md"
    project.write("src/pot.rs", cite(f"{url}#lid", "A lid MUST close."))
    service = project.service()
    assert service.view().state.specification_problems
    project.write(".duvet/specifications/example.org/specs/pot.txt", "# Lid\n\nA lid MUST close.\n")
    view = service.view()
    assert view.state.problems == ()
    assert view.catalog.resolve(url) is not None


# -- only changed files are parsed again -------------------------------------------------------------------------------


def test_without_changes_the_state_is_the_same_object_and_nothing_is_parsed(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = record_work(monkeypatch)
    service = project.service()
    first = service.view()
    assert sorted(work.since().sources) == ["src/coffee.rs", "src/tea.rs"]
    second = service.view()
    assert second is first
    assert second.state is first.state
    assert work.since() == Work()


@pytest.mark.parametrize("problem", ["missing specification", "missing url", "not utf-8", "bad toml", "pipe"])
def test_without_changes_the_state_is_the_same_object_even_with_problems(problem: str, project: Project) -> None:
    match problem:
        case "missing specification":
            project.remove("specs/tea.md")
        case "missing url":
            project.write("src/url.rs", cite("https://example.org/x#y", "A lid."))
        case "not utf-8":
            project.write("src/latin.rs", b"//= \xe9")
        case "bad toml":
            project.write(".duvet/todos/x.toml", "[[")
        case _:
            (project.root / "specs/tea.md").unlink()
            (project.root / "specs/tea.md").symlink_to("/dev/zero")
    service = project.service()
    first = service.view()
    assert service.view() is first


##= docs/spec/trace.md#freshness
##% An unchanged file SHOULD NOT be parsed or matched again.
def test_only_the_changed_file_is_parsed_and_matched_again(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    service = project.service()
    service.view()
    work = record_work(monkeypatch)
    project.write("src/coffee.rs", cite("specs/coffee.md#brewing", WARM) + cite("specs/coffee.md#brewing", BREW))
    service.view()
    assert work.since() == Work(sources=["src/coffee.rs"], quotes=[])  # both sentences are known as requirements
    project.write("src/coffee.rs", cite("specs/coffee.md#brewing", "The pot") + cite("specs/coffee.md#brewing", BREW))
    service.view()
    assert work.since() == Work(sources=["src/coffee.rs"], quotes=["The pot"])


def test_moved_citations_have_their_new_lines_in_the_next_answer(project: Project) -> None:
    project.write("src/a.rs", cite("specs/coffee.md#brewing", BREW) + "\n" + cite("specs/tea.md#steeping", BOIL))
    service = project.service()
    assert citations_of(service.view(), BOIL) == ["src/a.rs:4", "src/tea.rs:1"]
    for lines in (3, 0, 1):
        text = "\n" * lines + cite("specs/coffee.md#brewing", BREW) + "\n" + cite("specs/tea.md#steeping", BOIL)
        project.write("src/a.rs", text)
        assert citations_of(service.view(), BOIL) == [f"src/a.rs:{lines + 4}", "src/tea.rs:1"]
        assert view_to_dict(service.view()) == fresh_view_to_dict(project)


def test_an_edit_outside_citations_does_not_change_the_state(project: Project) -> None:
    service = project.service()
    before = service.view()
    project.write("src/coffee.rs", cite("specs/coffee.md#brewing", BREW) + "fn brew() { boil(); }\n")
    assert service.view() is before
    project.write("src/coffee.rs", "\n" + cite("specs/coffee.md#brewing", BREW))
    assert citations_of(service.view(), BREW) == ["src/coffee.rs:2"]


def test_an_earlier_view_is_not_changed_by_later_saves(project: Project) -> None:
    service, expected = project.service(), fresh_view_to_dict(project)
    first = service.view()
    project.write("src/another.rs", cite("specs/tea.md#steeping", BOIL) + "\n" + cite("specs/tea.md#x", "nowhere"))
    project.write("src/coffee.rs", "")
    project.write("specs/tea.md", TEA.replace("MUST NOT", "SHOULD NOT"))
    second = service.view()
    assert view_to_dict(second) == fresh_view_to_dict(project)
    assert view_to_dict(first) == expected
    assert view_to_dict(second) == fresh_view_to_dict(project)


def test_a_changed_specification_rematches_only_its_citations(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = project.service()
    service.view()
    work = record_work(monkeypatch)
    project.write("specs/tea.md", TEA + "\nMore.\n")
    service.view()
    assert work.since() == Work(specifications=["specs/tea.md"], quotes=[BOIL])


def test_only_the_changed_requirement_file_is_parsed(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        project.write(f".duvet/todos/{name}.toml", f'target = "specs/coffee.md#serving"\n[[todo]]\nquote = "{MILK}"\n')
    service = project.service()
    assert [r.todo_count for r in service.view().catalog.requirements if r.text == MILK] == [2]
    work = record_work(monkeypatch)
    project.write(".duvet/todos/b.toml", "")
    assert [r.todo_count for r in service.view().catalog.requirements if r.text == MILK] == [1]
    assert work.since() == Work(requirement_files=[".duvet/todos/b.toml"])


def test_a_touched_file_does_not_change_the_answer(project: Project) -> None:
    service = project.service()
    before = view_to_dict(service.view())
    for path in ("src/coffee.rs", "specs/tea.md", ".duvet/config.toml"):
        (project.root / path).touch()
    assert view_to_dict(service.view()) == before


def test_generations_count_states(project: Project) -> None:
    service = project.service()
    assert [service.view().generation, service.view().generation] == [1, 1]
    project.write("src/new.rs", cite("specs/coffee.md#serving", MILK))
    assert service.view().generation == 2


def test_removed_files_are_dropped_from_the_caches(project: Project) -> None:
    """A server that runs for weeks must not keep the texts of removed files."""
    service = project.service()
    for turn in range(20):
        project.write(f"src/turn{turn}.rs", cite("specs/coffee.md#serving", MILK))
        project.write("specs/tea.md", TEA + f"{turn}\n")
        service.view()
        project.remove(f"src/turn{turn}.rs")
    service.view()
    traced = service._project
    assert traced is not None
    kept = {key.path for key in traced._cache._entries if isinstance(key, SourceFile | Target)}
    assert kept == {"src/coffee.rs", "src/tea.rs", "specs/coffee.md", "specs/tea.md"}
    assert len(traced._cache._entries) == 4
    assert len(service.files._cache) <= 5


# -- concurrent callers ------------------------------------------------------------------------------------------------


##= docs/spec/trace.md#freshness
##% Concurrent calls on an unchanged project MUST get equal answers.
def test_ten_callers_at_once_get_equal_answers_and_one_refresh(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, barrier = project.service(), Barrier(10)
    work = record_work(monkeypatch)

    def view(_: int) -> object:
        barrier.wait(10)
        return service.view()

    with ThreadPoolExecutor(10) as pool:
        views = list(pool.map(view, range(10)))
    assert len({id(view) for view in views}) == 1
    assert sorted(work.sources) == ["src/coffee.rs", "src/tea.rs"]


def test_all_callers_that_wait_share_the_next_refresh(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    service = project.service()
    service.view()
    reads: list[TracedProject] = []
    waiting = Semaphore(0)
    read = TracedProject.read

    def slow(self: TracedProject, folders: DirectoryListings | None = None) -> TraceState:
        reads.append(self)
        if len(reads) == 1:
            for _ in range(10):
                assert waiting.acquire(timeout=10)
        return read(self, folders)

    monkeypatch.setattr(TracedProject, "read", slow)

    class CountingLock:
        """The lock of a refresh, which counts the callers that wait for it."""

        def __init__(self) -> None:
            self._lock = Lock()

        def __enter__(self) -> None:
            waiting.release()
            self._lock.acquire()

        def __exit__(self, *_: object) -> None:
            self._lock.release()

    service._shared_refresh._lock = CountingLock()  # type: ignore[assignment]
    with ThreadPoolExecutor(10) as pool:
        views = list(pool.map(lambda _: service.view(), range(10)))
    assert len({id(view) for view in views}) == 1
    assert len(reads) <= 2


def test_a_folder_that_becomes_a_link_out_of_the_project_is_reported_until_it_is_removed(project: Project) -> None:
    service = project.service()
    assert [problem.code for problem in service.view().state.problems] == []
    (project.root / "src").rename(project.root / "kept")
    (project.root / "src").symlink_to(project.root.parent)
    assert [problem.code for problem in service.view().state.problems] == ["outside_project"]
    (project.root / "src").unlink()
    assert [problem.code for problem in service.view().state.problems] == []
    (project.root / "kept").rename(project.root / "src")
    assert view_to_dict(service.view()) == fresh_view_to_dict(project)


def test_each_answer_during_changes_is_consistent(project: Project) -> None:
    service = project.service()
    allowed = {"missing_test", "complete"}

    def view_often(_: int) -> set[str]:
        return {statuses(service.view())[BREW] for _ in range(20)}

    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(view_often, number) for number in range(8)]
        for turn in range(40):
            project.write("tests/coffee.rs", cite("specs/coffee.md#brewing", BREW) if turn % 2 else "")
        assert all(future.result() <= allowed for future in futures)
    assert view_to_dict(service.view()) == fresh_view_to_dict(project)


# -- notifications of subscribers --------------------------------------------------------------------------------------


def _uri(service: TraceService, text: str) -> str:
    catalog = service.view().catalog
    return next(f"duvet://{catalog.full_path(r)}" for r in catalog.requirements if r.text == text)


def test_a_changed_status_is_reported_once(project: Project) -> None:
    service = project.service()
    assert service.changed_resources() == []
    project.write("tests/coffee.rs", cite("specs/coffee.md#brewing", BREW))
    uri = _uri(service, BREW)
    section = uri.rpartition("/")[0]
    specification = section.partition("/sections/")[0]
    everything = {"duvet:///citations", "duvet:///requirements"}
    assert set(service.changed_resources()) == {uri, f"{uri}/citations", section, specification} | everything
    assert service.changed_resources() == []


def test_a_change_without_a_new_status_is_not_reported(project: Project) -> None:
    service = project.service()
    service.changed_resources()
    project.write("src/other.rs", "fn nothing() {}\n")
    assert service.changed_resources() == []


def test_new_and_removed_requirements_are_reported(project: Project) -> None:
    service = project.service()
    service.changed_resources()
    old = _uri(service, MILK)
    project.write("specs/coffee.md", COFFEE.replace(MILK, "A cup MUST hold coffee."))
    assert set(service.changed_resources()) >= {old, _uri(service, "A cup MUST hold coffee.")}
