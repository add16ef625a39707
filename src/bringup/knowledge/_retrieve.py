"""Two-stage retrieval: choose by front matter (platform, then concern, then how specific), then fetch what fits.

Nothing here asks a model; the same question gives the same files.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from bringup.knowledge._base import Base
from bringup.knowledge._features import features_of
from bringup.knowledge._files import KnowledgeFile
from bringup.knowledge._search import scores
from bringup.knowledge._words import ANY, CONCERNS, Kind, kinds_of, platform_of

LIMIT = 4  # files
TOKENS = 3000  # of all files together, estimated
SAMPLES = 1  # at most: they are long, and one shows the form
_SPECIFIC = {"operator": 3.0, "device": 2.0, "platform": 1.0, "general": 0.0}


@dataclass(frozen=True)
class Question:
    """What is known of the kernel that knowledge is wanted for.

    Args:
        target: as commands take it: `vpe:pe64`, `cuda:sm_90`, or a platform: `nvidia`.
        device: what a measurement calls the device, "" if unknown.
        concerns: the bound of a diagnosis, or correctness, debugging; empty or `unknown`: any.
        operator: name, "" if unknown.
        source: the candidate's text: what it uses.
        text: a diagnosis, an error message: searched for as plain text.
        unreviewed: whether files from runs count that no person has read.
    """

    target: str
    device: str = ""
    concerns: tuple[str, ...] = ()
    operator: str = ""
    source: str = ""
    text: str = ""
    unreviewed: bool = True


@dataclass(frozen=True)
class Chosen:
    """A file that answers a question; `why` says in a few words each what speaks for it."""

    file: KnowledgeFile
    score: float
    why: tuple[str, ...]


@dataclass(frozen=True)
class Retrieved:
    """The answer: files, best first, and the paths that would have come next but for limit or budget."""

    chosen: tuple[Chosen, ...]
    left_out: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        """Estimated tokens of the text."""
        return sum(one.file.tokens for one in self.chosen)

    @property
    def text(self) -> str:
        """All files as one piece of a prompt; "" when there are none."""
        return "\n".join(_shown(one.file) for one in self.chosen)


def retrieve(
    base: Base,
    target: str,
    *,
    bound: str = "",
    operator: str = "",
    source: str = "",
    text: str = "",
    device: str = "",
    unreviewed: bool = True,
    limit: int = LIMIT,
    tokens: int = TOKENS,
) -> Retrieved:
    """Return the files that fit a kernel best, within `limit` files and `tokens` estimated tokens.

    `bound` is that of a diagnosis, or `correctness` or `debugging` (several: joined by commas). See `Question`.
    """
    concerns = tuple(one.strip() for one in bound.split(",") if one.strip())
    question = Question(target, device, concerns, operator, source, text, unreviewed)
    return fetch(candidates(base, question), limit, tokens)


def candidates(base: Base, question: Question) -> list[Chosen]:
    """First stage: the files that fit by their front matter, best first; after them what text search alone finds."""
    platform, device = platform_of(question.target, question.device)
    features = features_of(question.source)
    kinds = kinds_of(question.operator, features)
    concerns = frozenset(question.concerns) & frozenset(CONCERNS)
    relevance = scores(base.files, question.text)
    best = max(relevance, default=0.0) or 1.0
    fitting: list[Chosen] = []
    found: list[Chosen] = []
    for file, score in zip(base.files, relevance, strict=True):
        if not _serves(file, platform, device) or (file.front.unreviewed and not question.unreviewed):
            continue
        said = score / best
        why = _reasons(file, platform, device, concerns, question.operator, kinds, features)
        if why is not None:
            words = tuple(word for word, _ in why)
            total = sum(weight for _, weight in why) + 2 * said - (2 if file.front.unreviewed else 0)
            fitting.append(Chosen(file, total, (*words, "its text fits") if said > 0.5 else words))
        elif said > 0.5:
            found.append(Chosen(file, said, ("found by its text",)))
    return [*_sorted(fitting), *_sorted(found)]


def _sorted(chosen: Iterable[Chosen]) -> list[Chosen]:
    return sorted(chosen, key=lambda one: (-one.score, one.file.path))


def _serves(file: KnowledgeFile, platform: str, device: str) -> bool:
    front = file.front
    here = ANY in front.platforms or platform in front.platforms or platform == ANY
    return here and (not front.devices or not device or device in front.devices)


def _reasons(
    file: KnowledgeFile,
    platform: str,
    device: str,
    concerns: frozenset[str],
    operator: str,
    kinds: tuple[Kind, ...],
    features: tuple[str, ...],
) -> list[tuple[str, float]] | None:
    """Return what speaks for a file, with weights; None when its front matter says that it is about something else."""
    front = file.front
    named = [glob for glob in front.operators if operator and fnmatchcase(operator, glob)]
    of_kind = [kind for kind in front.kinds if kind in kinds]
    if (front.operators or front.kinds) and (operator or kinds) and not named and not of_kind:
        return None
    shared = [concern for concern in front.concerns if concern in concerns]
    if concerns and not shared:
        return None
    used = [feature for feature in front.features if feature in features]
    why: list[tuple[str, float]] = []
    if shared:
        why.append((f"concern {', '.join(shared)}", 4.0 - 0.5 * (len(front.concerns) - 1)))
    if named:
        why.append((f"operator {operator}", 4.0))
    elif of_kind:
        why.append((f"kind {', '.join(of_kind)}", 3.0))
    if used:
        why.append((f"uses {', '.join(used[:3])}", min(3.0, 1.5 * len(used))))
    if device and device in front.devices:
        why.append((f"device {device}", 2.0))
    elif platform in front.platforms:
        why.append((f"platform {platform}", 1.0))
    why.append((f"specificity {front.specificity}", _SPECIFIC[front.specificity] / 2))
    if front.evidence in {"measured", "tested"} or (front.evidence == "run" and front.reviewed):
        why.append((front.standing, 0.5))
    return why


def fetch(candidates: Iterable[Chosen], limit: int = LIMIT, tokens: int = TOKENS) -> Retrieved:
    """Second stage: take files in order while they fit; one that is too large makes room for the next."""
    taken: list[Chosen] = []
    left: list[str] = []
    room = tokens
    samples = 0
    for one in candidates:
        is_sample = one.file.section == "samples"
        if len(taken) < limit and one.file.tokens <= room and not (is_sample and samples >= SAMPLES):
            taken.append(one)
            room -= one.file.tokens
            samples += is_sample
        else:
            left.append(one.file.path)
    return Retrieved(tuple(taken), tuple(left))


def _shown(file: KnowledgeFile) -> str:
    if not file.front.unreviewed:
        return file.text
    note = "(Noted by a program from one run, reviewed by nobody: a hint, not a fact.)"
    return file.text.replace("\n\n", f"\n\n{note}\n\n", 1)
