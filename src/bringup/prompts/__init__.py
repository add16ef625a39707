"""Prompts: one template a situation, rendered from typed contexts, with the template's digest for the store."""

from bringup.dialect import EXAMPLES, Example, load_examples
from bringup.prompts import samples
from bringup.prompts._contexts import CONTEXTS, SITUATIONS, Shown, Situation, Tried
from bringup.prompts._render import LIMITS, Prompt, PromptError, asked, render, template_digest
from bringup.prompts._writer import (
    SITUATION_OF,
    PromptBook,
    again_prompt,
    feedback_prompt,
    first_prompt,
    refine_prompt,
    summarise_prompt,
    system_prompt,
)

__all__ = [
    "CONTEXTS",
    "EXAMPLES",
    "LIMITS",
    "SITUATIONS",
    "SITUATION_OF",
    "Example",
    "Prompt",
    "PromptBook",
    "PromptError",
    "Shown",
    "Situation",
    "Tried",
    "again_prompt",
    "asked",
    "feedback_prompt",
    "first_prompt",
    "load_examples",
    "refine_prompt",
    "render",
    "samples",
    "summarise_prompt",
    "system_prompt",
    "template_digest",
]
