"""The typed configuration of a run: YAML, overridden by flags. Every default is the paper's or is argued here."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bringup.errors import ConfigError, did_you_mean, not_yaml


class Section(BaseModel):
    """Base of all sections: unknown fields are errors, values are frozen."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ClientConfig(Section):
    """Which client answers, and how it samples. Keys come from the environment only."""

    name: str = "recorded"  # recorded, openai, anthropic, mailbox, scripted or a plug-in
    model: str | None = None  # as the endpoint calls it
    base_url: str | None = None  # of the endpoint; None: the provider's own
    key_variable: str | None = None  # name of the environment variable that holds the key
    temperature: float | None = 1.0  # this and the next three: None leaves the provider's default
    top_p: float | None = None  # nucleus sampling
    max_tokens: int | None = None  # of one reply
    reasoning_effort: Literal["minimal", "low", "medium", "high"] | None = None  # for models that reason
    system_prompt: str | None = None  # text before every dialog; None: the one that ships with bringup, "": none
    stream: bool = True  # read replies as they are written
    concurrency: int = Field(default=32, ge=1)  # calls in flight at once
    retries: int = Field(default=6, ge=0)  # after 429, 5xx, time-outs and broken replies, with growing pauses
    timeout_seconds: float = Field(default=600.0, gt=0)  # of one call
    path: str | None = None  # recorded: dialogs; mailbox: directory; scripted: script
    options: dict[str, Any] = Field(default_factory=dict)  # for plug-in clients

    @property
    def title(self) -> str:
        """Client and model, as `--client` takes them: `openai:MODEL`, or the client alone."""
        return f"{self.name}:{self.model}" if self.model else self.name


class AttemptsConfig(Section):
    """How hard a session tries: the paper's 3 attempts of at most 15 calls."""

    attempts: int = Field(default=3, ge=1)  # per operator
    calls: int = Field(default=15, ge=1)  # model calls of one attempt
    context_tokens: int = Field(default=131_072, ge=1024)  # what the model can read and write in one dialog
    # A new dialog starts when the next prompt would leave less than this share of the context for the reply.
    context_reserve: float = Field(default=0.15, gt=0, lt=1)
    whole_replies: int = Field(default=3, ge=1)  # latest replies of a dialog that are sent whole, older ones in a line
    from_scratch: bool = True  # attempts after the first start anew; False: from the latest candidate


class StatesConfig(Section):
    """Switches of the states, for ablations."""

    lint: bool = True  # refuse candidates that break the dialect's rules before they are judged
    lint_rules: Literal["full", "paper"] = "full"  # paper: the published, narrower rules
    compile: bool = True  # the compile for further toolchains (judge.compile_for); the target's own is always done
    debug: bool = True  # tell the model what the target's debugger says about a crash
    summarise: bool = False  # have long compiler logs summarised; needs `summariser`


class PromptsConfig(Section):
    """What prompts say, and which answers they ask for; switches for ablations."""

    examples: bool = True  # show worked examples of other operators
    # The docstrings shown: the operator's and those that it refers to (graph), its own alone (own), or none.
    documentation: Literal["graph", "own", "none"] = "graph"
    patches: bool = True  # take edits of the module before in the place of a whole one, and say so


DEVICES = "BRINGUP_DEVICES"  # variable with the user's CUDA_VISIBLE_DEVICES, for processes that themselves see no GPU
NO_CACHE = "none"  # in the place of the folder of compiled kernels


class JudgeLimits(Section):
    """What one candidate may use, and must stand."""

    case_seconds: float = Field(default=30.0, gt=0)  # wall time of one case
    candidate_seconds: float = Field(default=600.0, gt=0)  # wall time of all cases
    memory_mb: int = Field(default=4096, ge=256)  # above the fork server's
    processes: int = Field(default=64, ge=1)  # that the candidate may have at once
    output_kb: int = Field(default=64, ge=1)  # what is kept of stdout and stderr
    compile_seconds: float = Field(default=120.0, gt=0)  # for one kernel specialisation
    rehearsals: int = Field(default=800, ge=60)  # calls that nothing runs for, by which its state is looked for

    @property
    def unusual_bounds(self) -> dict[str, int]:
        """The bounds of a process that it can feel itself, where they are not the usual ones, which hold in use."""
        usual = JudgeLimits()
        return {
            name: getattr(self, name)
            for name in ("memory_mb", "processes")
            if getattr(self, name) != getattr(usual, name)
        }


class JudgeConfig(JudgeLimits):
    """Limits on one candidate's process, what it is compiled for, and who judges."""

    keep_going: bool = False  # judge every case, not only up to the first failure
    failures: int = Field(default=3, ge=1, le=8)  # different failures that one report to the model tells of
    compile_for: tuple[str, ...] | None = None  # toolchains that must also compile every kernel; None: the target's
    kernel_cache: str = ""  # folder of compiled kernels; "": under ~/.cache, `none`: no folder
    fresh_seed: int | None = Field(default=None, ge=0)  # of guards that draw; None: drawn anew for each verdict
    without_guards: tuple[str, ...] = ()  # guards that are switched off, by id, for ablations
    # who judges: `local`, `file:FOLDER` (a device that is reached by files), or a plug-in's NAME[:OPTION]
    executor: str = "local"

    @property
    def limits(self) -> JudgeLimits:
        """What one candidate may use."""
        return JudgeLimits(**{name: getattr(self, name) for name in JudgeLimits.model_fields})


class BudgetConfig(Section):
    """When a run stops by itself, resumable. None: no limit."""

    tokens: int | None = Field(default=None, ge=1)  # read and written, all calls together
    money: float | None = Field(default=None, gt=0)  # in the currency of `prices`
    seconds: float | None = Field(default=None, gt=0)  # at work, pauses between processes left out


class SearchConfig(Section):
    """How faster versions of one operator's kernel are searched for (`bringup tune`)."""

    policy: str = "greedy"  # what is expanded next: a policy of `bringup policies list`
    options: dict[str, Any] = Field(default_factory=dict)  # the policy's parameters
    nodes: int = Field(default=50, ge=1)  # candidates beside the start; the paper: 50, 300 for one hard operator
    drafts: int = Field(default=10, ge=0)  # of them first, independent samples without memory; the paper's number
    memory: Literal["none", "parent", "siblings", "both"] = "both"  # what an expansion is told of others
    restart: int | None = Field(default=10, ge=1)  # nodes without a better one after which a node begins with no memory
    stall: int | None = Field(default=None, ge=1)  # nodes without a better one after which the search ends
    target_speedup: float | None = Field(default=None, gt=0)  # fitness at which it ends
    workers: int = Field(default=1, ge=1)  # nodes under way at once in this process
    calls: int = Field(default=5, ge=1)  # model calls of one node: the first, and repairs
    # Which candidates must pass the whole gate; the timed cases are passed by all. The best one always has.
    gate: Literal["always", "improvements"] = "always"
    cases: dict[str, tuple[int, ...]] = Field(default_factory=dict)  # that are timed, by dtype; empty: chosen
    # How much each of them counts in the fitness, as in `cases`; of a dtype that is not named all count alike: 1.
    weights: dict[str, tuple[float, ...]] = Field(default_factory=dict)
    against: tuple[str, ...] = ()  # baselines: eager, compile, start; empty: the target's usual ones
    diagnose: bool = (
        True  # say of each candidate what bounds its times: on a GPU minutes, where several workers share one
    )
    start: str | None = None  # file of the kernel to start from; None: the best stored one
    warm: int = Field(default=3, ge=0)  # further stored kernels of the same problem that join the graph at the start
    remember: bool = True  # a model call sums up what was tried, and says what to do next, before an expansion
    look_up: bool = True  # a model call chooses files of the knowledge base, before an expansion
    knowledge: tuple[str, ...] = ()  # further folders of knowledge
    helper: ClientConfig | None = None  # who makes those two calls; None: `client`


class Price(Section):
    """Price of a model in the user's currency per million tokens."""

    input: float = Field(ge=0)  # tokens read
    output: float = Field(ge=0)  # tokens written, reasoning included
    cached_input: float | None = Field(default=None, ge=0)  # tokens read from the provider's cache; None: as `input`


ALONE = "alone"  # in the place of a file of additions: the suite's own cases and no others


class RunConfig(Section):
    """Everything that defines a run."""

    suite: str = "opinfo"  # source of operators
    ops: tuple[str, ...] = ("all",)  # globs, @file, all, recorded, chosen, @plan[:file][:number]
    skip: tuple[str, ...] = ()  # operators left out, as in `ops`
    dtypes: tuple[str, ...] = ("float32", "bfloat16", "float16", "int32", "int64")  # of the gate
    seed: int = 0  # of the cases' inputs
    additions: str | None = None  # file of cases that join the gate after the shipped ones; `alone`: OpInfo's only
    target: str = "vpe:pe64"  # NAME or NAME:PROFILE
    jobs: int | None = Field(default=None, ge=1)  # judge workers; None: as many as suit the machine and the target
    sessions: int = Field(default=64, ge=1)  # sessions under way at once (they mostly wait for the model)
    client: ClientConfig = ClientConfig()  # who writes the kernels
    then: tuple[ClientConfig, ...] = ()  # who makes the second attempt, the third ...; the last one all further ones
    summariser: ClientConfig | None = None  # who summarises long compiler logs
    attempts: AttemptsConfig = AttemptsConfig()  # how hard each session tries
    states: StatesConfig = StatesConfig()  # which states take part
    prompts: PromptsConfig = PromptsConfig()  # what the model is shown
    judge: JudgeConfig = JudgeConfig()  # limits on candidates
    budget: BudgetConfig = BudgetConfig()  # when the run stops by itself
    prices: dict[str, Price] = Field(default_factory=dict)  # model name -> price
    refine_from: str | None = None  # folder of OP.py files, library or run id: sessions start from these candidates
    search: SearchConfig | None = None  # the run is a search for faster kernels of its operator (`bringup tune`)

    @property
    def chain(self) -> tuple[ClientConfig, ...]:
        """Who makes the first attempt, the second, and so on; the last one makes all that are left."""
        return (self.client, *self.then)

    @property
    def suite_spec(self) -> str:
        """The suite as `get_suite` takes it: with the additions file, if there is one."""
        return suite_with(self.suite, self.additions)


def suite_with(suite: str, additions: str | None) -> str:
    """Return a suite's name as `get_suite` takes it, with a file of additions or `alone`."""
    if not additions:
        return suite
    return f"{suite}:{additions if additions == ALONE else Path(additions).resolve()}"


def load_config(path: Path | None, overrides: dict[str, Any] | None = None) -> RunConfig:
    """Read a run configuration; raises ConfigError naming file, line and field.

    `overrides` maps dotted fields ("client.model") to values; they win over the file.
    """
    data: Any = {}
    lines: dict[str, int] = {}
    source = "command line" if path is None else str(path)
    if path is not None:
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise ConfigError(source, f"cannot be read: {error.strerror}") from error
        try:
            node = yaml.compose(text, Loader=yaml.SafeLoader)
            data = yaml.safe_load(text) or {}
        except yaml.YAMLError as error:
            raise ConfigError(source, not_yaml(error)) from error
        if not isinstance(data, dict):
            raise ConfigError(source, "line 1: must be a mapping of fields", "see `docs/configuration.md`")
        if node is not None:
            _field_lines(node, "", lines)
    for dotted, value in (overrides or {}).items():
        _set(data, dotted, value)
    try:
        return RunConfig.model_validate(data)
    except ValidationError as error:
        problems = []
        for item in error.errors():
            field = ".".join(str(part) for part in item["loc"])
            line = next((lines[p] for p in _prefixes(field) if p in lines), None)
            where = f"line {line}: " if line is not None else ""
            problem = _unknown(item["loc"]) if item["type"] == "extra_forbidden" else item["msg"]
            problems.append(f"{where}field {field}: {problem}")
        raise ConfigError(source, "; ".join(problems)) from error


def _unknown(place: tuple[int | str, ...]) -> str:
    """Say that there is no such field, and which one of its section may be meant."""
    section: Any = RunConfig
    for part in place[:-1]:
        section = _section_at(section, part)
    fields = sorted(section.model_fields) if isinstance(section, type) and issubclass(section, BaseModel) else []
    hint = did_you_mean(str(place[-1]), fields) or (f"; there are {', '.join(fields)}" if fields else "")
    return f"no such field{hint}"


def _section_at(section: Any, part: int | str) -> Any:
    """Return the class of the sections at a part of a field's place; an index or a key leaves it as it is."""
    if not (isinstance(section, type) and issubclass(section, BaseModel) and part in section.model_fields):
        return section
    found = section.model_fields[str(part)].annotation
    inner = (found, *get_args(found))
    return next((kind for kind in inner if isinstance(kind, type) and issubclass(kind, BaseModel)), found)


def _set(data: dict[str, Any], dotted: str, value: Any) -> None:
    *parents, last = dotted.split(".")
    for parent in parents:
        child = data.get(parent)
        if not isinstance(child, dict):
            child = data[parent] = {}
        data = child
    data[last] = value


def _prefixes(field: str) -> list[str]:
    parts = field.split(".")
    return [".".join(parts[:n]) for n in range(len(parts), 0, -1)]


def _field_lines(node: yaml.Node, prefix: str, lines: dict[str, int]) -> None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            field = f"{prefix}{key.value}"
            lines[field] = key.start_mark.line + 1
            _field_lines(value, f"{field}.", lines)
