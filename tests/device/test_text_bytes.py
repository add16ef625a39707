"""What a text says beside constants: little where it repeats itself, as much as it can carry where it chooses."""

from __future__ import annotations

import random
import time

from bringup.device.choices import ENDLESS, MOST_BITS, Said, text_bytes


def calls(letters: list[int]) -> str:
    alphabet = "".join(f"%c{n} = arith.constant {n} : i32\n" for n in range(16))
    operands = [", ".join(f"%c{n}" for n in letters[i : i + 32]) for i in range(0, len(letters), 32)]
    return alphabet + "".join(f"tt.call @put({line}) : () -> ()\n" for line in operands)


def test_operands_of_calls_cost_what_they_can_carry() -> None:
    chance = random.Random(7)
    letters = [chance.randrange(16) for _ in range(8200)]
    carried = len(letters) * 4 // 8
    assert carried < text_bytes(calls(letters)) < 1.6 * carried


def test_which_function_is_called_counts_as_well() -> None:
    functions = "".join(f"tt.func private @put{n}() {{ tt.return }}\n" for n in range(256))
    chance = random.Random(8)
    chosen = [chance.randrange(256) for _ in range(512)]
    text = functions + "".join(f"tt.call @put{n}() : () -> ()\n" for n in chosen)
    assert text_bytes(text) > 0.8 * 512


def test_the_one_of_several_results_counts() -> None:
    chance = random.Random(12)
    text = "%x:256 = tt.call @f() : () -> ()\n" + "".join(f"tt.store %x#{chance.randrange(256)}\n" for _ in range(500))
    assert text_bytes(text) > 500


def test_strings_and_definitions_name_nothing() -> None:
    text = '%a = tt.get_program_id x : i32\n%b = "tt.%a"() {prefix = "PREFIX"} : () -> i32\n'
    assert text_bytes(text.replace("PREFIX", "")) == text_bytes(text.replace("PREFIX", '\\"% %'))


def test_a_chain_costs_three_bits_an_operation() -> None:
    text = "%v0 = tt.get_program_id x : i32\n" + "".join(
        f"%v{n + 1} = arith.addi %v{n}, %v{n} : i32\n" for n in range(400)
    )
    assert 400 * 3 // 8 <= text_bytes(text) <= 400 * 3 // 8 + 10  # its kind, its types, its operands


def lines(parts: list[str]) -> str:
    return "".join(f"%v{n} = {part} : i32\n" for n, part in enumerate(parts))


def test_which_kind_an_operation_is_costs_what_it_can_carry() -> None:
    chance = random.Random(9)
    kinds = [f"arith.kind{chance.randrange(64)} %a, %b" for _ in range(4000)]
    assert text_bytes(lines(kinds)) > 4000 * 6 / 8
    assert text_bytes(lines(["arith.addi %a, %b"] * 4000)) < 4000 * 3 / 8 + 20


def test_attributes_and_types_cost_what_they_can_carry() -> None:
    chance = random.Random(10)
    orders = [chance.sample(range(8), 8) for _ in range(1000)]
    turned = "".join(f"%v = tt.trans %a {{order = array<i32: {', '.join(map(str, one))}>}} : !t\n" for one in orders)
    assert text_bytes(turned) > 1000 * 15.3 / 8  # log2(8!)
    types = "".join(f"%v = arith.extsi %a : i{1 + chance.randrange(256)}\n" for _ in range(1000))
    assert text_bytes(types) > 1000
    numbers = "".join(f"%v = tt.op %a {{n = {chance.getrandbits(64)}}}\n" for _ in range(100))
    assert text_bytes(numbers) > 800


def test_nothing_is_hidden_behind_comments_locations_strings_or_by_lines_that_are_joined() -> None:
    chance = random.Random(11)
    kinds = [f"arith.kind{chance.randrange(64)} %a, %b" for _ in range(500)]
    plain = text_bytes(lines(kinds))
    assert text_bytes(lines(kinds).replace("\n", ' loc("a.py":1:2)\n')) == plain
    assert text_bytes('// loc( "\n' + lines(kinds)) == plain
    assert text_bytes('%s = tt.op {text = " loc("}\n' + lines(kinds)) >= plain
    assert text_bytes("#alias = 1 " + lines(kinds).replace("\n", " #alias = 1 ")) > 0.8 * plain


def test_constants_are_counted_elsewhere_and_names_by_naming() -> None:
    same = text_bytes(lines(["arith.constant 1", "arith.constant dense<3.5>"] * 9))
    assert same == text_bytes(lines([f"arith.constant {n}" for n in range(18)]))
    assert text_bytes("%a = tt.op %b\n" * 9) == text_bytes("%c = tt.op %d\n" * 9)


def test_a_text_like_an_earlier_one_says_little_more() -> None:
    text = lines([f"arith.kind{n} %a, %b" for n in range(50)])
    said = Said()
    first, again = said.add(text), said.add(text)
    assert again < first
    assert first // 8 == text_bytes(text)


def test_a_long_text_of_ever_new_words_takes_no_longer_than_its_length() -> None:
    text = lines([f"arith.kind{n} %a" for n in range(20000)])
    assert text_bytes(text) >= 20000 * 10 / 8


def test_what_no_call_may_say_is_not_counted_to_its_end() -> None:
    """Counting takes seconds a megabyte, in the process of whoever calls."""
    chance = random.Random(3)
    word = [f"w{chance.randrange(1 << 30)}" for _ in range(1000)]
    lines = "\n".join(" ".join(chance.choices(word, k=50)) for _ in range(20_000))
    said = Said()
    begin = time.process_time()
    assert said.add(lines) == said.add(lines) == ENDLESS
    assert said.add(lines.replace("\n", " ")) == ENDLESS
    assert time.process_time() - begin < 10
    assert Said().add(lines[:20_000]) < MOST_BITS
