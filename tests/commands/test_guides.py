"""Every command of examples/guides is run as it stands, on tiny data and with tiny models."""

import random
import re
import shutil
from pathlib import Path

import checkpoints
import pytest
from conftest import ROOT, conllu, triple
from enct5_corpus import write_corpus
from example_scripts import programs, ran
from plain_files import put

GUIDES = ROOT / "examples" / "guides"
PAGES = sorted(path.stem for path in GUIDES.glob("*.md") if path.stem != "README")
SIDE = "--{0}-embed-dim 16 --{0}-ffn-embed-dim 16 --{0}-layers 1 --{0}-attention-heads 2".format
BOTH = f"{SIDE('encoder')} {SIDE('decoder')}"
#: What makes a model small: by the beginning of the arch's name.
SIZES = {
    "levenshtein_editor": BOTH,
    "transformer": BOTH,
    "pbd_transformer": SIDE("encoder"),
    "gated_transformer": f"{SIDE('encoder')} --decoder-layers 1",
    "enct5": f"{SIDE('encoder')} --attention-head-dim 8",
}
SHORT = "--max-update 4 --num-workers 0 --log-format simple --save-interval-updates 0".split()


def script(page: str, folder: Path) -> str:
    """The blocks of a page in their order; those of Python become files."""
    lines, page = [], (GUIDES / f"{page}.md").read_text("utf-8")
    blocks = re.findall(r"^```(bash|python)\n(.*?)^```", page, re.M | re.S)
    for number, (language, text) in enumerate(blocks):
        if language == "python":
            (folder / f"block{number}.py").write_text(text, "utf-8")
            text = f"python block{number}.py\n"
        lines.append(text)
    return "".join(lines)


def smaller(words: list[str]) -> list[str]:
    """A call of a program with everything that takes long cut down."""
    if words[0] in ("fairseq-generate", "fairseq-interactive", "fairseq-validate"):
        return [*words, "--cpu"]
    if words[0] != "fairseq-train":
        return [re.sub(r"^[246]000$", "60", word) for word in words]
    arch = words[words.index("--arch") + 1]
    size = next(flags for name, flags in SIZES.items() if arch.startswith(name))
    if "--backbone" in words:
        size = "--max-source-positions 9 --max-target-positions 9"
    elif "--t5-dir" in words or "--bert-dir" in words:
        size = ""
    return [*words, *size.split(), *SHORT, "--cpu"]


def write_texts(folder: Path) -> None:
    """Writes my/text/PART.src, .mt, .pe and .clean, my/PART.noisy, .clean and .conllu, tables of
    labels, and files of single lines."""
    rng, tags = random.Random(1), {"the": "DET", "cat": "NOUN", "sat": "VERB"}
    for part, count in {"train": 48, "valid": 8, "dev": 8, "test": 8, "raw": 8}.items():
        rows = [triple(rng) for _ in range(count)]
        for side, texts in zip(("src", "pe", "mt"), zip(*rows, strict=True), strict=True):
            put(folder / f"text/{part}.{side}", texts)
        clean = [" ".join(rng.choices(checkpoints.WORDS[:6], k=3)) for _ in range(count)]
        for name in (f"{part}.clean", f"text/{part}.clean"):
            put(folder / name, clean)
        put(folder / f"{part}.noisy", [text.replace("a", "e", 1) for text in clean])
        tagged = [rng.choices([*tags], k=3) for _ in range(12)]
        put(folder / f"{part}.conllu", conllu(tagged, tags))
    write_corpus(folder, "classification")
    copies = {"valid.tsv": "dev.tsv", "train.clean": "scans.clean", "train.noisy": "scans.noisy"}
    for name, copy in copies.items():
        shutil.copy(folder / name, folder / copy)
    lines = {
        "text/few.tsv": ["a b\tA . B !", "c d\tC . D ."],
        "noisy.txt": ["the cet", "", "see https://example.org"],
        "scans/1890/a.txt": ["the cet sat"],
        "names.txt": ["Pari"],
        "lines.txt": ["the cat", "", "a b"],
    }
    for name, texts in lines.items():
        put(folder / name, texts)


@pytest.fixture(scope="module")
def prepared(commands, tmp_path_factory):
    """All that guides begin with, and a folder of data with a trained LevT and a stock one."""
    folder = tmp_path_factory.mktemp("guides")
    write_texts(folder)
    checkpoints.bert(folder / "bert")
    checkpoints.t5(folder / "t5")
    languages = "--source-lang src --target-lang pe --draft-lang mt"
    text = folder / "text"
    commands.preprocess(
        f"{languages} --joined-dictionary --trainpref {text}/train --validpref {text}/valid "
        f"--testpref {text}/test --destdir {folder}/data",
        folder,
    )
    training = (
        f"fairseq-train {folder}/data {BOTH} --share-all-embeddings --optimizer adam --lr 0.01 "
        "--max-tokens 500 --max-update 30 --num-workers 0 --cpu --no-epoch-checkpoints "
        "--source-lang src --target-lang pe --disable-validation"
    )
    levt = "--draft-lang mt --arch levenshtein_editor_char --criterion edit_policy_loss"
    commands.done(f"{training} {levt} --save-dir {folder}/levt", folder)
    shutil.copy(folder / "levt/checkpoint_last.pt", folder / "levt/checkpoint_best.pt")
    stock = "--arch levenshtein_transformer --early-exit 1,1,1 --criterion nat_loss"
    commands.done(f"{training} {stock} --save-dir {folder}/stock", folder, task="translation_lev")
    return folder


#: What the pages that train by themselves begin without.
OWN = dict.fromkeys(
    ("post_editing", "correcting_text", "denoising", "tagging", "pretrained"),
    ("data", "levt", "stock"),
) | {"running": ("levt",)}
LONG = ("pretrained", "running")
#: what makes a training by hydra short and small
HYDRA = (
    "optimization.max_update=2 dataset.num_workers=0 checkpoint.save_interval_updates=0 "
    "model.weight_sharing=none +model.encoder_embed_dim=16 +model.decoder_embed_dim=16 "
    "+model.encoder_layers=1 +model.decoder_layers=1 +model.encoder_ffn_embed_dim=16 "
    "+model.decoder_ffn_embed_dim=16 +model.encoder_attention_heads=2 "
    "+model.decoder_attention_heads=2"
)


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=pytest.mark.long if page in LONG else ()) for page in PAGES]
)
def test_the_commands_of_a_guide_run(page, commands, prepared, tmp_path):
    home = tmp_path / "home"
    shutil.copytree(prepared, home / "my", ignore=shutil.ignore_patterns(*OWN.get(page, ())))
    for name in ("examples", "lev_plugins"):
        (home / name).symlink_to(ROOT / name)
    (requests := tmp_path / "requests").mkdir()
    words, small = ["-euo", "pipefail", "-c", script(page, home)], " ".join([BOTH, *SHORT])
    with programs(commands, requests, smaller):
        ran(words, requests, home, GUIDE_TORCHRUN=small, GUIDE_HYDRA=HYDRA)
