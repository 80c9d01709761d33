"""Checkpoint files that are damaged or forged: loaded, or refused in one line; nothing besides."""

import collections
import io
import os
import pickle
import re
import struct
import sys
import zipfile
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
import torch
from damage import HUGE, outcome, refused
from fairseq import checkpoint_utils
from hypothesis import given
from hypothesis import strategies as st
from saved import Malicious, changed, save

import lev_plugins
from lev_plugins import Corrector, EncT5, LevenshteinEditor, UserError
from lev_plugins import fairseq_patches as patches
from lev_plugins.inference import averaging
from lev_plugins.inference.checkpoints import load_state
from lev_plugins.io import evaluation


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Dictionaries of letters, and checkpoints of every kind over them."""
    made = tmp_path_factory.mktemp("files")
    tiny.dictionaries(made / "bin")
    for kind in ("editor", "stock", "concat"):
        save(made / f"{kind}.pt", made / "bin", kind)
    return made


# pickles that run something


def compressed(path: Path, state: Any, form: str) -> None:
    """A file of one of the forms that torch reads."""
    if form == "pickle":
        path.write_bytes(pickle.dumps(state))
    else:
        torch.save(state, path, _use_new_zipfile_serialization=form == "zip")


PARTS = ("args", "cfg", "model", "extra_state", "task_state", "last_optimizer_state", "new")


@pytest.mark.parametrize("form", ["zip", "legacy", "pickle"])
@pytest.mark.parametrize("part", [*PARTS, "all"])
def test_a_pickle_is_refused_wherever_it_stands(folder, tmp_path, monkeypatch, part, form):
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    path, victim = tmp_path / "evil.pt", tmp_path / "victim"
    state = torch.load(folder / "editor.pt", weights_only=True)
    compressed(
        path, Malicious(victim) if part == "all" else {**state, part: Malicious(victim)}, form
    )
    loads = [
        lambda: load_state(str(path)),
        lambda: averaging.load(path),
        lambda: LevenshteinEditor.from_pretrained(str(path)),
    ]
    for load in loads:
        said = refused(load)
        assert str(path) in said and "weights_only" not in said
        assert not victim.exists()


def test_nothing_of_ours_unpickles_what_torch_would_not():
    for path in Path(lev_plugins.__file__).parent.rglob("*.py"):
        text = path.read_text("utf-8")
        assert not re.search(r"\bpickle\.loads?\(|\bshelve\b|\bmarshal\b|allow_pickle=True", text)
        for call in re.findall(r"torch\.load\((.*)\)\n", text):
            assert re.search(r"weights_only\"?\s*[=:]\s*True", call), f"{path}: {call}"


# settings that run something


def test_every_call_of_eval_in_fairseq_is_ours():
    calls = re.compile(r"(?<![\w.])(?:eval|exec)\(")
    found = set()
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None) or ""
        if name.startswith("fairseq.") and file.endswith(".py"):
            if calls.search(Path(file).read_text("utf-8")):
                found.add(name.removeprefix("fairseq."))
                assert vars(module).get("eval") is patches.evaluated, name
    assert found <= set(evaluation.EVALUATING), "fairseq evaluates in more places"
    assert set(evaluation.EVALUATING) - found == set(), "fixed in fairseq: leave it out"


@pytest.mark.parametrize(
    "setting, value",
    [
        ("(0.9, 0.999)", (0.9, 0.999)),
        ("[(512, 3)] * 2 + [(256, 1)]", [(512, 3), (512, 3), (256, 1)]),
        ("(1e-30, 1e-3)", (1e-30, 1e-3)),
        (" -1 ", -1),
        ("{'name': None, 'on': True}", {"name": None, "on": True}),
        ("'a' + 'b'", "ab"),
        ("3 - 1 / 2", 2.5),
    ],
)
def test_a_setting_is_computed(setting, value):
    assert patches.evaluated(setting) == value == eval(setting.strip())


@pytest.mark.parametrize(
    "setting",
    [
        "__import__('os').system('touch victim')",
        "open('victim', 'w')",
        "[x for x in (1,)]",
        "lambda: 0",
        "a",
        "a.b",
        "(1)(2)",
        "f'{1}'",
        "[1] * 10 ** 9",
        "[[1] * 9999] * 10001",
        "'x' * 100000",
        "9 ** 9 ** 9",
        "1 / 0",
        "1 if 1 else 2",
        "{**{}}",
        "{[]: 1}",
        "x := 1",
        "-" * 9000 + "1",
        "(" * 5000,
        "[" * 100 + "]" * 100 + "," * 20000,
        "\0",
        "",
    ],
)
def test_a_setting_runs_nothing(setting, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "nothing is run" in refused(lambda: patches.evaluated(setting))
    assert not list(tmp_path.iterdir())


@given(st.text("()[]{}'\"*+-/,.:0123456789aei_ \n", max_size=40))
def test_any_setting_is_computed_as_python_does_or_refused(setting):
    try:
        found = patches.evaluated(setting)
    except UserError:
        return
    assert found == eval(setting.strip(), {"__builtins__": {}})


@pytest.mark.parametrize("model", ["fconv", "fconv_self_att"])
@pytest.mark.parametrize("base", ["editor", "stock"])
def test_the_settings_of_a_checkpoint_are_not_run(folder, tmp_path, monkeypatch, base, model):
    monkeypatch.setenv("LEV_PLUGINS_ALLOW", model)
    victim = tmp_path / "victim"
    state = torch.load(folder / f"{base}.pt", weights_only=True)
    call = f"__import__('os').system('touch {victim}') or [(8, 3)]"
    asked = dict.fromkeys(
        ("encoder_layers", "decoder_layers", "decoder_attention", "encoder_attention"), call
    )
    state["cfg"]["model"] = Namespace(_name=model, arch=model, pretrained=call, **asked)
    torch.save(state, tmp_path / "evil.pt")
    refused(lambda: Corrector.from_pretrained(str(tmp_path / "evil.pt")))
    assert not victim.exists()


# settings and tensors that are not what they say


def forged(folder: Path, outcome: Path, kind: str, **settings: Any) -> Path:
    """A checkpoint with other settings of its model."""
    state = torch.load(folder / f"{kind}.pt", weights_only=True)
    old = state["cfg"]["model"]
    new = {**(old if isinstance(old, dict) else vars(old)), **settings}
    state["cfg"]["model"] = new if isinstance(old, dict) else Namespace(**new)
    torch.save(state, outcome)
    return outcome


@pytest.mark.parametrize("kind", ["editor", "stock", "concat"])
@pytest.mark.parametrize(
    "name", ["encoder_embed_dim", "encoder_layers", "encoder_ffn_embed_dim", "max_source_positions"]
)
def test_settings_of_another_size_take_no_memory(folder, tmp_path, kind, name):
    for value in (HUGE, 2**70, 0, -1, "x", None, [1]):
        path = forged(folder, tmp_path / "evil.pt", kind, **{name: value})
        if name == "max_source_positions" and value in (0, None):
            outcome(lambda path=path: Corrector.from_pretrained(str(path)))
        else:
            said = refused(lambda path=path: Corrector.from_pretrained(str(path)))
            assert str(path) in said or str(value) in said


def nested(depth: int) -> list[Any]:
    """Ten lists in each of ten lists …, of which a file holds one of each depth."""
    found: list[Any] = ["a"] * 10
    for _ in range(depth):
        found = [found] * 10
    return found


@pytest.mark.parametrize("kind", ["editor", "stock"])
def test_settings_without_end_are_refused(folder, tmp_path, kind):
    around: list[Any] = []
    around.append(around)
    for value in (nested(9), around):
        path = forged(folder, tmp_path / "evil.pt", kind, more=value)
        assert path.stat().st_size < 10**6
        said = refused(lambda path=path: Corrector.from_pretrained(str(path)))
        assert "more than 100,000 settings" in said and str(path) in said


WRONG = (None, 3, "x", [], {}, {"a": 1}, [[]], {"_name": 3}, Namespace())


@pytest.mark.parametrize("kind", ["editor", "stock"])
@pytest.mark.parametrize(
    "part", [*PARTS, "optimizer_history", *(f"cfg.{one}" for one in ("model", "task", "bpe"))]
)
def test_parts_of_another_kind_are_refused_or_not_needed(folder, tmp_path, kind, part):
    found = []
    for value in WRONG:
        state = torch.load(folder / f"{kind}.pt", weights_only=True)
        (state["cfg"] if "." in part else state)[part.rpartition(".")[2]] = value
        torch.save(state, tmp_path / "evil.pt")
        found.append(outcome(lambda: Corrector.from_pretrained(str(tmp_path / "evil.pt"))))
    needed = part in ("cfg", "model", "cfg.model", "cfg.task")
    assert "loaded" not in found if needed else found


class Stored:
    """Stands for numbers in the file: how many it says that there are."""

    def __init__(self, count: int) -> None:
        self.count = count


class Tensor:
    """A tensor over :class:`Stored` numbers, four of which are there."""

    def __init__(self, count: int, size: tuple[int, ...], stride: tuple[int, ...]) -> None:
        self.values = (Stored(count), 0, size, stride, False, collections.OrderedDict())

    def __reduce__(self) -> tuple[Any, ...]:
        return torch._utils._rebuild_tensor_v2, self.values


def write_forged(path: Path, tensor: Tensor, legacy: bool) -> None:
    class Pickler(pickle.Pickler):
        def persistent_id(self, value: Any) -> Any:
            if not isinstance(value, Stored):
                return None
            known = ("storage", torch.FloatStorage, "0", "cpu", value.count)
            return (*known, None) if legacy else known

    stream = io.BytesIO()
    Pickler(stream, 2).dump({"model": {"a": tensor}})
    if legacy:
        head = (0x1950A86A20F9469CFC6C, 1001, {"protocol_version": 1001, "little_endian": True})
        parts = [pickle.dumps(one, 2) for one in head] + [stream.getvalue(), pickle.dumps(["0"], 2)]
        count = tensor.values[0].count
        parts.append(struct.pack("<q", max(min(count, 2**62), 0)) + bytes(16))
        path.write_bytes(b"".join(parts))
        return
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (("data.pkl", stream.getvalue()), ("data/0", bytes(16))):
            archive.writestr(f"archive/{name}", content)
        archive.writestr("archive/byteorder", b"little")
        archive.writestr("archive/version", b"3\n")


@pytest.mark.parametrize("legacy", [False, True])
def test_the_forgery_is_read_where_it_says_the_truth(tmp_path, legacy):
    write_forged(tmp_path / "true.pt", Tensor(4, (2, 2), (2, 1)), legacy)
    state = averaging.load(tmp_path / "true.pt")
    assert torch.equal(state["model"]["a"], torch.zeros(2, 2))


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize(
    "count, size, stride",
    [
        (5, (5,), (1,)),
        (2**36, (2**36,), (1,)),
        *((count, (4,), (1,)) for count in (2**45, 2**62, 2**70, -1)),
        (4, (HUGE, HUGE), (0, 0)),
        (4, (-1,), (1,)),
        (4, (2,), (-1,)),
    ],
)
def test_lengths_that_are_forged_take_no_memory(tmp_path, count, size, stride, legacy):
    path = tmp_path / "evil.pt"
    write_forged(path, Tensor(count, size, stride), legacy)
    assert str(path) in refused(lambda: averaging.load(path))
    assert str(path) in refused(lambda: load_state(str(path)))


def test_an_array_larger_than_any_memory_is_refused(folder, tmp_path):
    class Array:
        def __reduce__(self) -> tuple[Any, ...]:
            return np._core.multiarray._reconstruct, (np.ndarray, (2**62,), b"b")

    state = torch.load(folder / "stock.pt", weights_only=True)
    torch.save({**state, "extra_state": Array()}, tmp_path / "evil.pt")
    said = refused(lambda: Corrector.from_pretrained(str(tmp_path / "evil.pt")))
    assert "more memory than there is" in said


LOADS: dict[str, Callable[[str], Any]] = {
    "editor": LevenshteinEditor.from_pretrained,
    "stock": Corrector.from_pretrained,
}


# what is no checkpoint, or not the one that is wanted


def test_what_is_no_file_of_a_checkpoint_is_told(folder, tmp_path):
    (tmp_path / "empty.pt").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.pt").write_text("no checkpoint\n" * 100)
    torch.save([1, 2], tmp_path / "list.pt")
    torch.save({"weights": torch.ones(2)}, tmp_path / "dict.pt")
    with zipfile.ZipFile(tmp_path / "zip.pt", "w") as archive:
        archive.writestr("a", "b")
    for name in ("empty.pt", "folder", "text.pt", "list.pt", "dict.pt", "zip.pt", "none.pt"):
        path = tmp_path / name
        for load in (*LOADS.values(), EncT5.from_pretrained):
            assert str(path) in refused(lambda load=load, path=path: load(str(path)))


@pytest.mark.skipif(os.getuid() == 0, reason="nothing is forbidden to root")
def test_a_checkpoint_that_may_not_be_read_is_told(folder, tmp_path):
    path = save(tmp_path / "secret.pt", folder / "bin", "stock")
    path.chmod(0)
    for load in (*LOADS.values(), EncT5.from_pretrained):
        assert str(path) in refused(lambda load=load: load(str(path)))


def test_a_checkpoint_of_another_system_is_told(folder, tmp_path):
    wrong = [
        (LevenshteinEditor, "stock", "trained with task translation, not translation_edit"),
        (LevenshteinEditor, "concat", "trained with task translation_concat"),
        (EncT5, "editor", "was trained with task translation_edit, not enct5"),
        (EncT5, "stock", "was trained with task translation, not enct5"),
    ]
    for made, kind, message in wrong:
        path = folder / f"{kind}.pt"
        assert message in refused(lambda made=made, path=path: made.from_pretrained(str(path)))
    other = changed(folder / "stock.pt", tmp_path / "other.pt", "task", "_name", "enct5")
    assert "enct5" in refused(lambda: Corrector.from_pretrained(str(other)))


def test_fairseq_itself_loads_as_carefully(folder, tmp_path):
    path = forged(folder, tmp_path / "evil.pt", "stock", encoder_embed_dim=HUGE)
    load = checkpoint_utils.load_model_ensemble
    assert str(path) in refused(lambda: load([str(path)]))
    models, _ = load([str(folder / "stock.pt")])
    assert len(models) == 1
