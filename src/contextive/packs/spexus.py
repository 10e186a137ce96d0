"""The spexus pack: prompts for writing and reviewing requirements."""

from __future__ import annotations

from collections.abc import Mapping

from contextive.registry import Context, Pack, PromptArgument, PromptMessage, Text

pack = Pack(
    "spexus",
    title="Requirements work",
    description="Prompts for writing, reviewing and breaking down requirements.",
)


def _user(text: str) -> list[PromptMessage]:
    return [PromptMessage("user", Text(text))]


##= docs/spec/spexus.md#prompts
##% Text that a caller passes to a prompt MUST be marked as quoted text.
def _quoted(text: str) -> str:
    """The text of a caller as a quote, so that a model does not take it as instructions."""
    return "\n".join(f"> {line}" for line in text.strip().splitlines())


_LEVELS = ("MUST", "SHOULD", "MAY")


async def _complete_level(prefix: str, _others: Mapping[str, str], _ctx: Context) -> list[str]:
    return [level for level in _LEVELS if level.startswith(prefix.upper())]


##= docs/spec/spexus.md#prompts
##% The profile MUST offer prompts for writing, reviewing and breaking down requirements.
@pack.prompt(
    "write_requirement",
    title="Write a requirement",
    description="Turn an intention into one testable requirement with acceptance criteria.",
    arguments=(
        PromptArgument("intention", "What should be true, in your own words", required=True),
        PromptArgument("level", "MUST, SHOULD or MAY; default MUST", complete=_complete_level),
    ),
)
async def write_requirement(arguments: Mapping[str, str], _ctx: Context) -> list[PromptMessage]:
    level = arguments.get("level", "").upper() or "MUST"
    level = level if level in _LEVELS else "MUST"
    return _user(
        f"Write one requirement of level {level} for this intention:\n\n{_quoted(arguments['intention'])}\n\n"
        f"Use one sentence with exactly one {level} and one observable subject. Say what happens, not how. "
        "Then give two to five acceptance criteria in the form WHEN … THE system SHALL …, each with a check that can fail. "
        "List every ambiguous word and say which meaning you chose."
    )


@pack.prompt(
    "review_requirements",
    title="Review requirements",
    description="Find what is ambiguous, untestable, contradictory or missing in a set of requirements.",
    arguments=(PromptArgument("text", "The requirements, as text", required=True),),
)
async def review_requirements(arguments: Mapping[str, str], _ctx: Context) -> list[PromptMessage]:
    return _user(
        f"Review these requirements:\n\n{_quoted(arguments['text'])}\n\n"
        "For each one say whether a test could fail on it. List these problems and quote the sentence of each: ambiguous words, "
        "two demands in one sentence, contradictions between sentences, missing error cases, missing limits. "
        "End with the corrected text of every requirement that you changed. Do not change what is already clear."
    )


@pack.prompt(
    "break_down_story",
    title="Break down a user story",
    description="Split a user story into requirements small enough to implement and test one by one.",
    arguments=(PromptArgument("story", "The user story", required=True),),
)
async def break_down_story(arguments: Mapping[str, str], _ctx: Context) -> list[PromptMessage]:
    return _user(
        f"Break this user story down:\n\n{_quoted(arguments['story'])}\n\n"
        "Give the smallest set of requirements that together fulfil it. One sentence and one level (MUST, SHOULD, MAY) each, "
        "in the order in which they can be built, with the dependencies of each. List what the story leaves open as questions."
    )
