"""Many sentences through one process: the script that measures it, and what it has to find."""

import math
import os
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import tiny
from fairseq.dataclass.configs import FairseqConfig
from fairseq_cli import interactive
from omegaconf import OmegaConf
from test_benchmarks import script, scripts  # noqa: F401

from lev_plugins.errors import UserError

ROW = re.compile(
    r"^(\w+) +(\w+) +(\d+) +([\d.]+) +([\d.]+) +(-?[\d.]+) +(\d+|inf) +(\d+|inf)  (yes|no)$", re.M
)
GROWTH = 7.0  # MiB; half a kibibyte a sentence that is never given back is more, in 15,000


load = script("load")


def test_an_interface_is_measured_and_the_table_says_how_it_went(load, capsys):
    words = "--sentences 400 --updates 2 --system levenshtein --interface python"
    assert load.main(words.split()) == 0
    (row,) = ROW.findall(capsys.readouterr().out)
    assert row[:3] == ("levenshtein", "python", "400") and row[-1] == "yes"
    early, late, growth = map(float, row[3:6])
    assert early > 50 and growth <= late - early + 0.2


@pytest.mark.long
def test_memory_is_flat_the_pace_steady_and_the_order_kept(load, capsys, monkeypatch):
    # oneDNN keeps a kernel for each of the last thousand shapes: a bound that this never reaches
    monkeypatch.setenv("LEV_PLUGINS_ONEDNN", "0")
    words = "--sentences 15000 --updates 50 --system levenshtein,gated,enct5 --clock cpu"
    assert load.main(words.split()) == 0
    rows = ROW.findall(capsys.readouterr().out)
    assert len(rows) == 10
    for _, interface, *_, growth, second, last, order in rows:
        assert order == "yes" and float(growth) < GROWTH
        # answers of correct and predict come by buffers of lines: their tenths are too coarse
        assert interface not in ("generate", "interactive") or float(last) > 0.5 * float(second)


def test_interactive_keeps_no_buffer_that_it_has_answered():
    """fairseq keeps all; where it does no longer, compat/interactive.py need not forget them."""
    task = tiny.task()
    cfg = OmegaConf.structured(FairseqConfig())

    def kept(make_batches: Callable[..., Iterator[Any]]) -> int:
        task.dataset_to_epoch_iter.clear()
        for line in ("a b", "c", "d"):
            batches = list(make_batches([line] * 5, cfg, task, (64, 64), lambda text: text))
            assert sum(len(batch.ids) for batch in batches) == 5
        return len(task.dataset_to_epoch_iter)

    assert kept(interactive.make_batches) == 0
    assert kept(interactive.make_batches.__wrapped__) == 3


def test_sentences_spell_their_numbers(load):
    assert load.sentence(90) == "zero zero zero zero zero zero nine zero"
    drafts = [load.draft(number) for number in range(60)]
    assert len(set(drafts)) == 60
    assert 10 < sum(load.sentence(n) != one for n, one in enumerate(drafts)) < 60


def test_answers_at_a_wrong_place_or_lost_are_noticed(load):
    def lines(*numbers: int) -> list[tuple[int, str]]:
        printed = (f"S-{n}\t{load.draft(n)}\nT-{n}\tx\nH-{n}\t-1\ty" for n in numbers)
        return list(load.numbered(iter("\n".join(printed).split("\n"))))

    for interface in ("generate", "interactive"):
        assert load.numbers_in_order(interface, lines(0, 1, 2), 3)
        assert not load.numbers_in_order(interface, lines(0, 1), 3)
        assert not load.numbers_in_order(interface, lines(0, 1, 1, 2), 3)
        assert not load.numbers_in_order(interface, [(0, load.draft(1)), *lines(1, 2)], 3)
    assert load.numbers_in_order("generate", lines(2, 0, 1), 3)
    assert not load.numbers_in_order("interactive", lines(2, 0, 1), 3)
    assert list(load.numbered(iter(["S-1\ta", "H-2\t-1\tb"]))) == []

    def upper(texts: list[str]) -> list[str]:
        return [text.upper() for text in texts]

    right = upper([load.draft(number) for number in range(30)])
    assert load.answers_in_order(right, 30, upper)
    assert not load.answers_in_order(right[:-1], 30, upper)
    assert not load.answers_in_order(right[1:] + right[:1], 30, upper)


def test_growth_is_seen(load, monkeypatch):
    sizes = iter(range(100, 1000))
    monkeypatch.setattr(load.Memory, "of", lambda pid: load.Memory(float(next(sizes))))
    pace = load.Pace(200, load.CLOCKS["wall"])
    assert list(pace.watch(iter(range(200)), 1)) == list(range(200))
    assert len(pace.marks) == 11 and pace.rate(10) > 0
    assert (pace.early.whole, pace.late.whole) == (109.0, 199.0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--system stock", "--system stock: choose of levenshtein"),
        ("--system pbd --interface python", "--interface python: pbd has generate, interactive"),
        ("--sentences 9", "--sentences 9: 100 to"),
        ("--updates 0", "--updates 0: 1 to"),
    ],
)
def test_a_mistake_is_told(load, words, said):
    with pytest.raises(UserError, match=said):
        load.main(words.split())


def test_a_machine_that_does_not_tell_is_told(load, monkeypatch):
    monkeypatch.setattr(load.Memory, "of", lambda pid: None)
    with pytest.raises(UserError, match="/proc"):
        load.main(["--sentences", "100"])


def test_the_clocks_go(load):
    before = {name: clock(os.getpid()) for name, clock in load.CLOCKS.items()}
    while load.computed(os.getpid()) - before["cpu"] < 0.05:
        pass
    # how much of it is not said: the kernel counts in ticks, and all threads of the process
    assert load.CLOCKS["wall"](1) - before["wall"] > 0
    assert math.isnan(load.computed(2**22 + 1))


def test_the_memory_of_a_process_is_read(load):
    before = load.Memory.of(os.getpid())
    kept = bytearray(b"x") * (64 << 20)
    after = load.Memory.of(os.getpid())
    assert before.whole > before.own > 20 and len(kept) == 64 << 20
    assert after.own - before.own == pytest.approx(64, abs=8)
    assert load.Memory.of(2**22 + 1) is None
