"""What the tuner proposes hangs on what it was told, and on nothing else."""

import pytest

from bringup.search.parameters import Choice, Parameter, Space, Trial, Tuner

SPACE = Space(
    source="0" * 64,
    parameters=(
        Parameter(name="A", kind="block", function="f", line=1, choices=(32, 64, 128, 256, 512), present=64),
        Parameter(name="B", kind="block", function="f", line=2, choices=(1, 2, 4, 8, 16), present=1),
        Parameter(name="C", kind="operands", function="f", line=3, choices=("widened", "native"), present="widened"),
        Parameter(name="D", kind="programs", function="f", line=4, choices=(64, 256, 4096, 65535), present=65535),
    ),
)  # fmt: skip


def fitness(choice):
    """Best at A=256, B=4, C=native: 8; A=512 fails."""
    values = {one.name: one.present for one in SPACE.parameters} | choice.values
    if values["A"] == 512:
        return 0.0
    best = {"A": 256, "B": 4}
    steps = sum(abs(values[name].bit_length() - best[name].bit_length()) for name in best)
    return (2.0 if values["C"] == "native" else 1.0) * 4 / (1 + steps)


def run(count, tuner=None):
    tuner = tuner or Tuner(SPACE, seed=3)
    tuner.tell(Choice(), fitness(Choice()))
    for _ in range(count):
        choice = tuner.ask()
        if choice is None:
            break
        tuner.tell(choice, fitness(choice))
    return tuner


def test_the_best_choice_is_found_in_a_fifth_of_the_space():
    best = run(40).best()
    assert best is not None
    assert best.value == 8
    assert best.choice.values == {"A": 256, "B": 4, "C": "native"}


def test_the_first_proposals_change_one_parameter_to_its_neighbour():
    tuner = Tuner(SPACE, seed=3)
    first = []
    for _ in range(4):
        choice = tuner.ask()
        first.append(choice.values)
        tuner.tell(choice, 1.0)
    assert first == [{"C": "native"}, {"A": 128}, {"B": 2}, {"D": 4096}]


def test_a_killed_search_goes_on_as_it_would_have():
    whole = run(30)
    half = whole.trials[:15]
    again = Tuner(SPACE, seed=3, trials=[Trial.model_validate_json(one.model_dump_json()) for one in half])
    for _ in range(16):
        choice = again.ask()
        again.tell(choice, fitness(choice))
    assert again.trials == whole.trials[: len(again.trials)]


@pytest.mark.long
def test_nothing_is_asked_twice_and_the_whole_space_once():
    tuner = run(SPACE.size + 5)
    digests = [trial.choice.digest for trial in tuner.trials]
    assert len(digests) == len(set(digests)) == SPACE.size
    assert tuner.ask() is None


def test_what_another_worker_tries_is_not_asked():
    tuner = run(26)
    first = tuner.ask()
    second = tuner.ask(pending=[first])
    assert second is not None
    assert second != first
    assert tuner.ask() == first


def test_seeds_differ_where_there_is_chance():
    assert [t.choice for t in run(40).trials] != [t.choice for t in run(40, Tuner(SPACE, seed=4)).trials]


def test_a_parameter_that_changes_nothing_is_left():
    tuner = Tuner(SPACE, seed=0)
    tuner.tell(Choice(), 1.0)
    tuner.tell(Choice(values={"A": 128}), 1.0)
    tuner.tell(Choice(values={"B": 2}), 1.5)
    asked = [tuner.ask()]
    for _ in range(3):
        tuner.tell(asked[-1], 0.5)
        asked.append(tuner.ask())
    assert not any(set(choice.values) == {"A"} for choice in asked)


def test_the_best_of_nothing_that_works_is_nothing():
    tuner = Tuner(SPACE)
    tuner.tell(Choice(values={"A": 512}), 0.0)
    assert tuner.best() is None


def test_an_empty_space_asks_nothing():
    assert Tuner(Space(source="0" * 64)).ask() is None


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_a_fitness_that_is_none_is_refused(value):
    with pytest.raises(ValueError, match="a fitness is a number from 0 on"):
        Tuner(SPACE).tell(Choice(), value)


def test_trials_of_another_source_do_no_harm():
    tuner = Tuner(SPACE, trials=[Trial(choice=Choice(values={"X@9": 7}), value=2.0)] * 2 + run(26).trials)
    assert tuner.ask() is not None
