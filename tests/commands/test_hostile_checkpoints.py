"""An untrusted checkpoint: no way in runs what it says, and each says in one line why not."""

import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import checkpoints
import pytest
import torch
from conftest import SIZES, TRAINING, Result
from saved import Malicious, save

from lev_plugins import Corrector, EncT5, LevenshteinEditor, UserError
from lev_plugins.cli import enct5_prepare
from lev_plugins.systems.transformer_concat import TransformerConcatModel

LETTERS = "abcdefgh"
LANGUAGES = "--source-lang src --target-lang tgt"


@pytest.fixture(scope="module")
def folder(commands, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``bin``, good checkpoints of an editor and of two that write, and examples for EncT5."""
    made = tmp_path_factory.mktemp("untrusted")
    lines = [" ".join(LETTERS[i:] + LETTERS[:i]) for i in range(8)]
    for split in ("train", "valid", "test"):
        for language in ("src", "tgt", "mt"):
            (made / f"{split}.{language}").write_text("".join(f"{line}\n" for line in lines))
    prefixes = "".join(f" --{split}pref {split}" for split in ("train", "valid", "test"))
    drafts = f"{LANGUAGES} --draft-lang mt --joined-dictionary --destdir bin"
    commands.preprocess(drafts + prefixes, made)
    for kind in ("editor", "stock", "concat"):
        save(made / f"{kind}.pt", made / "bin", kind)
    (made / "examples").write_text("".join(f"{line[0]}\t{line}\n" for line in lines))
    flags = f"--kind classification --train {made}/examples --bytes --destdir {made}/enct5"
    enct5_prepare.main(flags.split())
    return made


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    return tmp_path / "victim"


@pytest.fixture
def evil(folder: Path, victim: Path, tmp_path: Path) -> Path:
    """A folder with a good checkpoint that holds one thing more, under the usual names."""
    home = tmp_path / "evil"
    home.mkdir()
    state = torch.load(folder / "editor.pt", weights_only=True)
    for name in ("checkpoint_last.pt", "checkpoint_best.pt", "model.pt", "evil.pt"):
        torch.save({**state, "extra_state": Malicious(victim)}, home / name)
    return home / "evil.pt"


def unpacked(evil: Path, victim: Path, folder: Path) -> Path:
    """A Hugging Face directory whose weights are a pickle of that sort."""
    directory = checkpoints.t5(evil.parent / "t5")
    (directory / "model.safetensors").unlink()
    torch.save({"shared.weight": Malicious(victim)}, directory / "pytorch_model.bin")
    return directory


#: commands of examples/analysis
ANALYSIS = ("latency",)
EXAMPLES = str(Path(__file__).resolve().parents[2] / "examples" / "analysis")


def cli(name: str, arguments: str) -> Callable[..., str]:
    """One of our commands, in this process; gives the line in which it ends."""

    def run(capsys: Any, monkeypatch: Any, places: dict[str, Path], **_: Any) -> str:
        words = arguments.format(**places).split()
        monkeypatch.setattr(sys, "argv", [name, *([] if name in ANALYSIS else [name]), *words])
        with pytest.raises(SystemExit) as left:
            if name in ANALYSIS:
                monkeypatch.syspath_prepend(EXAMPLES)
                runpy.run_path(f"{EXAMPLES}/{name}.py", run_name="__main__")
            runpy.run_module("lev_plugins", run_name="__main__", alter_sys=False)
        shown = capsys.readouterr()
        return Result(int(left.value.code or 0), shown.out, shown.err).error

    return run


def fairseq_command(command: str, task: str = "translation_edit") -> Callable[..., str]:
    """One of fairseq's commands."""

    def run(commands: Any, places: dict[str, Path], tmp_path: Path, **_: Any) -> str:
        environ = {"TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"}
        words = command.format(**places)
        return commands.plugin(words, tmp_path, task=task, environ=environ, stdin=b"a b\n").error

    return run


def python(call: Callable[[dict[str, Any]], Any]) -> Callable[..., str]:
    """A call in Python, which raises a UserError."""

    def run(places: dict[str, Path], monkeypatch: Any, **_: Any) -> str:
        monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
        with pytest.raises(UserError) as raised:
            call({name: str(place) for name, place in places.items()})
        return str(raised.value)

    return run


def hub(places: dict[str, str]) -> None:
    """fairseq's own ``from_pretrained``."""
    TransformerConcatModel.from_pretrained(
        places["home"], "evil.pt", places["data"], source_lang="src", target_lang="tgt"
    )


TRAIN = (
    f"fairseq-train {{data}} {LANGUAGES} --arch levenshtein_editor_char {SIZES} --max-update 1 "
    f"--criterion edit_policy_loss {TRAINING} --disable-validation"
)
READ = f"{{data}} {LANGUAGES} --cpu"
ENTRIES = {
    "train: --restore-file": fairseq_command(f"{TRAIN} --save-dir new --restore-file {{evil}}"),
    "train: --finetune-from-model": fairseq_command(
        f"{TRAIN} --save-dir new --finetune-from-model {{evil}}"
    ),
    "train: checkpoint_last.pt": fairseq_command(f"{TRAIN} --save-dir {{home}}"),
    "train: --continue-once": fairseq_command(f"{TRAIN} --save-dir new --continue-once {{evil}}"),
    "train: --backbone": fairseq_command(
        f"fairseq-train {{data}} {LANGUAGES} --arch gated_transformer --backbone {{t5}} "
        f"--criterion cross_entropy {TRAINING} --save-dir new",
        task="noisy_translation",
    ),
    "train: --t5-dir": fairseq_command(
        f"fairseq-train {{enct5}} --arch enct5_base --t5-dir {{t5}} --criterion enct5 "
        f"{TRAINING} --save-dir new",
        task="enct5",
    ),
    "generate": fairseq_command(f"fairseq-generate {READ} --path {{evil}}"),
    "generate: reranker": fairseq_command(
        f"fairseq-generate {READ} --path {{editor}}:{{evil}} --iter-decode-with-beam 2 "
        "--iter-decode-with-external-reranker"
    ),
    "interactive": fairseq_command(f"fairseq-interactive {READ} --path {{evil}}"),
    "validate": fairseq_command(f"fairseq-validate {READ} --path {{evil}} --batch-size 2"),
    "correct": cli("correct", "--path {evil}"),
    "correct: ensemble": cli("correct", "--path {stock}:{evil}"),
    "trace": cli("trace", "--path {evil} --input {lines}"),
    "predict": cli("predict", "--path {evil} --input {lines}"),
    "enct5_prepare": cli(
        "enct5_prepare",
        "--kind classification --train {examples} --t5-dir {t5} --destdir {home}/new",
    ),
    "average": cli("average", "{editor} {evil} --output {home}/new.pt"),
    "latency": cli("latency", "{data} --path {evil}"),
    "latency: --ar-path": cli("latency", "{data} --path {editor} --ar-path {evil}"),
    "backbone": cli("backbone", "{t5}"),
    "LevenshteinEditor": python(lambda at: LevenshteinEditor.from_pretrained(at["evil"])),
    "LevenshteinEditor: folder": python(lambda at: LevenshteinEditor.from_pretrained(at["home"])),
    "Corrector": python(lambda at: Corrector.from_pretrained(at["evil"])),
    "Corrector: ensemble": python(
        lambda at: Corrector.from_pretrained(f"{at['stock']}:{at['evil']}")
    ),
    "EncT5": python(lambda at: EncT5.from_pretrained(at["evil"])),
    "fairseq's hub": python(hub),
}


# ways in that share their reading with others and take seconds each
LONG = (
    *("train: --finetune-from-model", "train: --continue-once", "generate: reranker"),
    "latency: --ar-path",
)


@pytest.mark.parametrize(
    "entry", [pytest.param(one, marks=pytest.mark.long if one in LONG else ()) for one in ENTRIES]
)
def test_no_way_in_runs_a_pickle(
    entry, folder, evil, victim, commands, capsys, monkeypatch, tmp_path
):
    places = {
        "evil": evil,
        "home": evil.parent,
        "data": folder / "bin",
        "lines": folder / "test.src",
        "examples": folder / "examples",
        "t5": unpacked(evil, victim, folder),
        "enct5": folder / "enct5",
        **{name: folder / f"{name}.pt" for name in ("editor", "stock", "concat")},
    }
    given = {"commands": commands, "capsys": capsys, "monkeypatch": monkeypatch}
    said = ENTRIES[entry](places=places, tmp_path=tmp_path, **given)
    assert not victim.exists(), "it was run"
    assert "system" in said, "refused, but for another reason"
    assert any(str(places[name]) in said for name in ("evil", "home", "t5"))
    assert not list(tmp_path.glob("new*")) or not list((tmp_path / "new").glob("*"))
