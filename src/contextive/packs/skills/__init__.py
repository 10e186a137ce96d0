"""The skills pack: how to do common tasks with these tools, as skills, as resources and as prompts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from contextive.packs.skills.catalog import Skill, all_skills
from contextive.registry import Context, Pack, PromptMessage, ResourceBody, Text

pack = Pack("skills", title="Skills", description="How to do common tasks with these tools, step by step.")

_MIME_TYPE: Final = "text/markdown"
_NEEDS: Final[Mapping[str, str]] = {
    "contextive-implement": "specifications",
    "contextive-cite": "specifications",
    "contextive-notes": "notes",
}
"""What the project must have before the default profile lists a skill."""


##= docs/spec/host.md#skills
##% Each skill MUST also be a resource and a prompt with the same text.
def _declare(skill: Skill) -> None:
    title, needs = skill.title, _NEEDS.get(skill.name, "")

    @pack.resource(
        skill.uri, name=skill.name, title=title, description=skill.description, mime_type=_MIME_TYPE, needs=needs
    )
    def read(_variables: Mapping[str, str], _ctx: Context) -> ResourceBody:
        return ResourceBody(skill.uri, skill.content.decode("utf-8"), _MIME_TYPE)

    @pack.prompt(skill.name, title=title, description=skill.description, needs=needs)
    def render(_arguments: Mapping[str, str], _ctx: Context) -> list[PromptMessage]:
        return [PromptMessage("user", Text(skill.instructions))]


for _skill in all_skills():
    _declare(_skill)
