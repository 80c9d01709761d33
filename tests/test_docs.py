"""The documents name what is there: options, names, sizes, files, links and commands."""

import argparse
import dataclasses
import functools
import importlib
import importlib.util
import json
import os
import random
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fairseq import criterions, models, options, registry, tasks
from fairseq.dataclass.utils import gen_parser_from_dataclass
from fairseq.optim.adafactor import FairseqAdafactor
from fairseq.optim.adam import FairseqAdamConfig
from fairseq.tasks.translation import TranslationConfig
from omegaconf import OmegaConf

import lev_plugins
from lev_plugins.cli import (
    average_checkpoints,
    backbone,
    compare,
    correct,
    distill,
    enct5_predict,
    enct5_prepare,
    gate_analysis,
    gates,
    latency,
    make_drafts,
    noise,
    oracle_curve,
    preprocess,
    report,
    serve,
    trace,
    tune,
)
from lev_plugins.cli import names as command_names
from lev_plugins.tasks.evaluation import EvaluationConfig

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = lev_plugins.__name__
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("examples/**/*.md"), *ROOT.glob("benchmarks/**/*.md")]
)
SCRIPTS = sorted(ROOT.glob("examples/*/*.sh"))
USER_DIR = (ROOT / "user_dir.md").read_text(encoding="utf-8")
LOOKED_AT = (
    "${checkpoint.", "${dataset.", "${optimization.", "${distributed_training.", "${bpe}",
    "${tokenizer}",
)  # fmt: skip
SHARED_BY_TASKS = {one.name for one in dataclasses.fields(EvaluationConfig)} | {"seed"}
FOLDERS = ("lev_plugins", "examples", "benchmarks", "tests", ".ci")
TORCHRUN = {"--nproc_per_node", "--standalone"}
COMMANDS = {
    module.__name__.rpartition(".")[2]: module
    for module in (
        average_checkpoints,
        backbone,
        compare,
        correct,
        distill,
        enct5_predict,
        enct5_prepare,
        gate_analysis,
        gates,
        latency,
        make_drafts,
        noise,
        oracle_curve,
        preprocess,
        report,
        serve,
        trace,
        tune,
    )
}
# flags of fairseq's own LevT, which has no config dataclass, of pip, and of the list of commands
FOREIGN = {
    "--no-share-discriminator",
    "--no-share-maskpredictor",
    "--share-discriminator-maskpredictor",
    "--sampling-for-deletion",
    "--noise",
    "--no-build-isolation",
    "--no-cache-dir",
    "--force-reinstall",
    "--no-deps",
    "--version",  # of python -m lev_plugins
}


def names(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


# ---------------------------------------------------------------- what there is


def ours(registered: dict[str, Any]) -> dict[str, Any]:
    return {
        name: one for name, one in registered.items() if one.__module__.split(".")[0] == PACKAGE
    }


def registered_names() -> list[str]:
    archs = ours(models.ARCH_MODEL_REGISTRY)
    kinds = [tasks.TASK_REGISTRY, models.MODEL_REGISTRY, criterions.CRITERION_REGISTRY]
    found = [name for kind in kinds for name in ours(kind)]
    for kind in registry.REGISTRIES.values():
        found += ours(kind["registry"])
    return sorted({*archs, *found})


def configurations() -> list[type]:
    """The config dataclasses of all components of ours; compat's stand in for fairseq's."""
    kinds = [
        tasks.TASK_DATACLASS_REGISTRY,
        models.MODEL_DATACLASS_REGISTRY,
        criterions.CRITERION_DATACLASS_REGISTRY,
        *(kind["dataclass_registry"] for kind in registry.REGISTRIES.values()),
    ]
    found = {one for kind in kinds for one in ours(kind).values()}
    found = {one for one in found if not one.__module__.startswith(f"{PACKAGE}.compat")}
    return sorted(found, key=lambda one: one.__name__)


def own_fields(configuration: type) -> list[dataclasses.Field]:
    """Its fields without ``_name``, the data folder, which has no flag, and what fairseq's task
    or optimizer declares."""
    inherited = {"_name", "data"}
    for stock in (TranslationConfig, FairseqAdamConfig):
        if issubclass(configuration, stock):
            inherited |= {one.name for one in dataclasses.fields(stock)}
    fields = [one for one in dataclasses.fields(configuration) if one.name not in inherited]
    # what a component only looks at is fairseq's
    return [one for one in fields if not str(one.default).startswith(LOOKED_AT)]


def section_of(configuration: type, field: dataclasses.Field) -> str:
    """Where a field is explained; what all our tasks share stands with the first of them."""
    if issubclass(configuration, EvaluationConfig) and field.name in SHARED_BY_TASKS:
        return SECTIONS["TranslationEditConfig"]
    return SECTIONS[configuration.__name__]


def flags_of(parser: argparse.ArgumentParser) -> set[str]:
    return {flag for action in parser._actions for flag in action.option_strings}


def component_flags() -> set[str]:
    """Flags of every component that can be chosen, fairseq's and ours."""
    kinds = [
        tasks.TASK_DATACLASS_REGISTRY,
        models.MODEL_DATACLASS_REGISTRY,
        criterions.CRITERION_DATACLASS_REGISTRY,
        *(kind["dataclass_registry"] for kind in registry.REGISTRIES.values()),
    ]
    found: set[str] = set()
    for configuration in {one for kind in kinds for one in kind.values() if one is not None}:
        parser = argparse.ArgumentParser(conflict_handler="resolve")
        gen_parser_from_dataclass(parser, configuration())
        found |= flags_of(parser)
    parser = argparse.ArgumentParser()  # it has no config dataclass
    FairseqAdafactor.add_args(parser)
    return found | flags_of(parser)


@pytest.fixture(scope="module")
def parsers() -> dict[str, set[str]]:
    """The flags that each command knows."""
    components = component_flags()
    return {
        "fairseq-train": flags_of(options.get_training_parser()) | components,
        "fairseq-generate": flags_of(options.get_generation_parser()) | components,
        "fairseq-interactive": flags_of(options.get_interactive_generation_parser()) | components,
        "fairseq-validate": flags_of(options.get_validation_parser()) | components,
        **{
            f"lev_plugins.cli.{name}": flags_of(module.build_parser())
            for name, module in COMMANDS.items()
        },
    }


# ---------------------------------------------------------------- what the documents say


def code_blocks(path: Path) -> Iterator[str]:
    """Fenced and indented blocks; all of a script."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".sh":
        yield text
        return
    yield from re.findall(r"^```(?:bash|sh|shell)?\n(.*?)^```", text, re.M | re.S)
    yield from re.findall(r"(?:^ {4}.*\n)+", text, re.M)


def commands(path: Path) -> Iterator[str]:
    """Logical lines of the code blocks that call a program, continuations joined."""
    for block in code_blocks(path):
        for line in block.replace("\\\n", " ").splitlines():
            line = re.sub(r"(^|\s)#.*", "", line).strip()
            if re.search(r"fairseq-|python|torchrun|bash ", line):
                yield line


def table_rows(text: str) -> dict[str, list[str]]:
    """First cell → cells of the rows that begin with a single flag or name in backticks."""
    rows: dict[str, list[str]] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if cells and (name := re.fullmatch(r"`([^`]+)`", cells[0])):
            rows.setdefault(name[1], cells)
    return rows


def section(title: str) -> str:
    found = re.search(rf"^###? {title}\n(.*?)(?=^##)", USER_DIR, re.M | re.S)
    assert found, f"user_dir.md has no section {title}"
    return found[1]


SECTIONS = {
    "LevenshteinEditorConfig": "Model",
    "TranslationEditConfig": "Task",
    "EditPolicyLossConfig": "Criterion",
    "TerConfig": "Scoring",
    "AccuracyConfig": "Scoring",
    "RougeConfig": "Scoring",
    "TransformerConcatConfig": "Autoregressive baseline",
    "TranslationConcatConfig": "Task",
    "BackboneAdamConfig": "backbone_adam",
    "MuonConfig": "muon",
    "TimeBudgetConfig": "time_budget",
    "EncT5Config": "enct5, the model",
    "EncT5CriterionConfig": "enct5, the criterion",
    "EncT5TaskConfig": "enct5, the task",
    "CharacterErrorRateConfig": "Scoring",
    "GatedTransformerConfig": "gated_transformer",
    "NoisyTranslationConfig": "noisy_translation",
    "PBDTransformerConfig": "pbd_transformer",
    "PretrainedTokenizerConfig": "Tokenizers",
    "WordAccuracyConfig": "Scoring",
    "WordErrorRateConfig": "Scoring",
    "WordRecognitionConfig": "Scoring",
}


def shown_default(value: Any) -> str:
    if value is None or value == "":
        return "–"
    if value is False:
        return "off"
    return f"{value:g}" if isinstance(value, float) else str(getattr(value, "value", value))


def test_every_registered_name_is_in_the_table():
    found = registered_names()
    assert "levenshtein_editor" in found and "translation_edit" in found
    rows = set(re.findall(r"^\| `--[a-z-]+` \| `(\w+)` \| .", USER_DIR, re.M))
    assert set(found) == rows


def test_every_configuration_has_a_section():
    assert {one.__name__ for one in configurations()} <= set(SECTIONS)


@pytest.mark.parametrize("configuration", configurations(), ids=lambda one: one.__name__)
def test_every_option_stands_in_its_table_with_its_default(configuration):
    for field in own_fields(configuration):
        rows = table_rows(section(section_of(configuration, field)))
        flag = "--" + field.name.replace("_", "-")
        assert flag in rows, f"{flag} is not in user_dir.md"
        if not str(field.default).startswith("${"):
            assert rows[flag][2] == shown_default(field.default), f"default of {flag}"
        assert len(rows[flag][3]) > 3, f"{flag} is not explained"


def test_no_table_names_an_option_that_is_gone():
    for title in set(SECTIONS.values()):
        flags = {
            "--" + field.name.replace("_", "-")
            for one in configurations()
            if SECTIONS[one.__name__] == title
            for field in own_fields(one)
        }
        assert set(table_rows(section(title))) <= flags


def test_every_command_has_a_section():
    folder = ROOT / PACKAGE / "cli"
    found = {path.name for path in folder.iterdir() if (path / "__main__.py").is_file()}
    found |= {path.stem for path in folder.glob("*.py") if "__main__" in path.read_text("utf-8")}
    assert found == set(COMMANDS)


@pytest.mark.parametrize("title", sorted(COMMANDS))
def test_the_commands_own_options_stand_in_their_tables(title):
    rows = table_rows(section(title))
    parser = COMMANDS[title].build_parser()
    stock = flags_of(options.get_preprocessing_parser()) if title == "preprocess" else set()
    actions = {
        action.option_strings[0]: action
        for action in parser._actions
        if action.option_strings and not set(action.option_strings) & {"-h", *stock}
    }
    assert set(rows) == set(actions)
    for flag, action in actions.items():
        default = "required" if action.required else shown_default(action.default)
        assert rows[flag][2] == default, f"default of {flag}"


def sizes_of_options(cfg: Any) -> list[Any]:
    """Blocks, width, feed-forward width, heads, norm and most insertions; a decoder that has no
    options of its own is as wide as the encoder, and T5's blocks know one norm."""

    def side(name: str) -> Any:
        return getattr(cfg, f"decoder_{name}", None) or getattr(cfg, f"encoder_{name}")

    encoder_norm = getattr(cfg, "encoder_normalize_before", True)
    before = getattr(cfg, "decoder_normalize_before", encoder_norm)
    return [
        f"{cfg.encoder_layers} + {side('layers')}",
        cfg.encoder_embed_dim,
        side("ffn_embed_dim"),
        side("attention_heads"),
        "before" if before else "after",
        getattr(cfg, "max_insertions", "–"),
    ]


def sizes_of_plan(found: dict[str, Any]) -> list[Any]:
    """The same of a pre-trained model; BERT is its own decoder."""
    plan = found["plan"]
    sides = [plan.get(name, plan) for name in ("encoder", "decoder")]
    layers = [
        one.get("layers") or plan[f"{name}_layers"]
        for name, one in zip(("encoder", "decoder"), sides)
    ]
    norm = "before" if found["kind"] == "t5" else "after"
    return [
        f"{layers[0]} + {layers[1]}",
        plan["dim"],
        sides[1]["hidden"],
        sides[1]["heads"],
        norm,
        "–",
    ]


def test_the_table_of_sizes_is_what_the_archs_build():
    for arch in ours(models.ARCH_MODEL_REGISTRY):
        cfg = models.MODEL_DATACLASS_REGISTRY[models.ARCH_MODEL_NAME_REGISTRY[arch]]()
        values = argparse.Namespace()
        models.ARCH_CONFIG_REGISTRY[arch](values)
        for name, value in vars(values).items():
            setattr(cfg, name, value)
        plan = getattr(cfg, "backbone_plan", None)
        sizes = sizes_of_options(cfg) if plan is None else sizes_of_plan(json.loads(plan))
        assert f"| `{arch}` | {' | '.join(map(str, sizes))} |" in USER_DIR, arch


@pytest.mark.parametrize("name", names(DOCUMENTS))
def test_every_flag_named_in_the_text_exists(name, parsers):
    text = (ROOT / name).read_text(encoding="utf-8")
    outside = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    known = set().union(*parsers.values()) | TORCHRUN | FOREIGN
    known |= flags_of(command_names.build_parser())
    scripts = [*SCRIPTS, *ROOT.glob("examples/*.sh"), *ROOT.glob("examples/*/*.py")]
    for script in [*scripts, *ROOT.glob("benchmarks/*.py")]:
        known |= set(re.findall(r"--[a-z][\w-]+", script.read_text(encoding="utf-8")))
    spans = re.findall(r"`([^`\n]+)`", outside)
    named = {flag for span in spans for flag in re.findall(r"(?<![\w-])--[a-z][\w-]*", span)}
    unfinished = {flag for flag in named if flag.endswith("-")}  # --eval-bleu-…
    assert named - unfinished <= known
    assert all(any(one.startswith(flag) for one in known) for flag in unfinished)


@pytest.mark.parametrize("name", names([*DOCUMENTS, *SCRIPTS]))
def test_every_command_uses_flags_that_its_program_has(name, parsers):
    for line in commands(ROOT / name):
        for program, known in parsers.items():
            if program not in line:
                continue
            arguments = line.split(program, 1)[1]
            flags = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", arguments))
            assert flags <= known, f"{program}: {line}"


@pytest.mark.parametrize("name", names([*DOCUMENTS, *SCRIPTS]))
def test_every_command_names_modules_and_files_that_exist(name):
    for line in commands(ROOT / name):
        for module in re.findall(rf"-m ({PACKAGE}\.cli\.[a-z]\w*)", line):
            assert importlib.util.find_spec(module), line
        for path in re.findall(r"(?:bash|python) ((?:examples|benchmarks|tests)/\S+)", line):
            assert (ROOT / path.rstrip("`.,;")).exists(), line


@pytest.mark.parametrize("name", names(DOCUMENTS))
def test_every_link_and_every_file_named_leads_somewhere(name):
    path = ROOT / name
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        assert (path.parent / file).exists(), f"{name}: {target}"
        if anchor:
            linked = (path.parent / file if file else path).read_text(encoding="utf-8")
            titles = re.findall(r"^#+ (.+)$", linked, re.M)
            assert anchor in {
                re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles
            }, target
    for span in re.findall(r"`([\w./-]+)`", text):
        if span.split("/")[0] in FOLDERS and "/" in span:
            assert (ROOT / span).exists(), f"{name}: {span}"


@pytest.mark.parametrize("name", names([*DOCUMENTS, *SCRIPTS]))
def test_no_path_of_one_machine_stands_in_a_document(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert not re.search(r"(?<![\w.])/(?:work|root|home|tmp)/", text)
    assert "../shared" not in text


@pytest.mark.parametrize("name", names(DOCUMENTS))
def test_no_document_waits_for_a_number(name):
    assert not re.findall(r"@[A-Z0-9]+@", (ROOT / name).read_text(encoding="utf-8"))


def test_the_torchrun_line_is_the_one_that_a_refused_launch_names():
    from lev_plugins.fairseq_patches.launch import _command

    wanted = set(shlex.split(_command(2).removeprefix("launch as: "))) - {"…"}
    lines = [line for line in commands(ROOT / "user_dir.md") if "torchrun" in line]
    assert any(wanted <= set(shlex.split(line)) for line in lines)


def test_the_picture_of_the_layout_shows_the_folders_that_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    picture = re.search(r"^    lev_plugins/\n((?:      .*\n)+)", text, re.M)[1]
    shown = set(re.findall(r"^      (\w+)/", picture, re.M))
    there = {path.name for path in (ROOT / PACKAGE).iterdir() if path.is_dir()}
    assert shown == there - {"__pycache__"}


# ---------------------------------------------------------------- the example of post-editing


def run_script(name: str, *arguments: object, **environ: str) -> subprocess.CompletedProcess[str]:
    found = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", str(ROOT / "examples" / "post_editing" / name), *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": found, "OMP_NUM_THREADS": "1", **environ},
        timeout=600,
    )


def test_the_configuration_for_hydra_names_options_that_exist():
    config = OmegaConf.load(ROOT / "examples" / "post_editing" / "config.yaml")
    for part, registered in (
        ("task", tasks.TASK_DATACLASS_REGISTRY),
        ("model", models.MODEL_DATACLASS_REGISTRY),
        ("criterion", criterions.CRITERION_DATACLASS_REGISTRY),
    ):
        known = {field.name for field in dataclasses.fields(registered[config[part]._name])}
        assert set(config[part]) <= known, part


@pytest.mark.parametrize(
    "name, arguments, environ, said",
    [
        ("prepare.sh", (), {}, "two folders are needed"),
        ("prepare.sh", ("gone", "{tmp}/work"), {}, "no folder gone"),
        ("prepare.sh", ("{tmp}", "{tmp}/work"), {}, "lacks train.src train.mt train.pe dev.src"),
        ("prepare.sh", ("{tmp}", "{tmp}/work"), {"VOCABULARY": "many"}, "VOCABULARY=many"),
        ("train.sh", (), {}, "a folder is needed"),
        ("train.sh", ("gone",), {}, "no folder gone"),
        ("train.sh", ("{tmp}",), {}, "no data in"),
        ("generate.sh", (), {}, "a folder is needed"),
        ("generate.sh", ("{tmp}",), {}, "no data in|no checkpoint"),
    ],
)
def test_a_script_without_its_files_says_so_in_one_line(name, arguments, environ, said, tmp_path):
    done = run_script(name, *(one.format(tmp=tmp_path) for one in arguments), **environ)
    assert done.returncode == 1 and done.stdout == ""
    assert re.match(rf"error: [^\n]*({said})[^\n]*\n$", done.stderr), done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_prepare_train_and_generate_go_the_whole_way(tmp_path):
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefg", k=rng.randint(2, 6))) for _ in range(40)]
    data, work = tmp_path / "data", tmp_path / "work"
    data.mkdir()
    for part, lines in (("train", 60), ("dev", 9), ("test", 11)):
        sentences = [[rng.choice(words) for _ in range(rng.randint(1, 7))] for _ in range(lines)]
        drafts = [sentence[1:] for sentence in sentences]
        for side, texts in (("src", sentences), ("mt", drafts), ("pe", sentences)):
            text = "".join(" ".join(sentence) + "\n" for sentence in texts)
            (data / f"{part}.{side}").write_text(text, encoding="utf-8")
    sizes = " ".join(
        f"--{side}-embed-dim 16 --{side}-ffn-embed-dim 16 --{side}-layers 1"
        for side in ("encoder", "decoder")
    )
    for name, flags, environ in (
        ("prepare.sh", [data, work], {"VOCABULARY": "60"}),
        ("train.sh", [work, *sizes.split()], {"UPDATES": "3"}),
        ("generate.sh", [work, "--iter-decode-max-iter", "2"], {}),
    ):
        done = run_script(name, *flags, **environ)
        assert done.returncode == 0, f"{name}: {done.stdout[-500:]} {done.stderr[-2000:]}"
    assert re.search(r"^Generate test with beam=\d+: BLEU = [\d.]+", done.stdout, re.M)
    assert re.search(r"^Generate test with beam=\d+: TER = [\d.]+ nrefs:1", done.stdout, re.M)
    table = re.search(
        r"^11 sentences .*\nno-edit baseline .* 100.0%\npost-edited .*%$", done.stdout, re.M
    )
    assert table, done.stdout
    done = run_script("generate.sh", work, CAREFUL="1")
    assert done.returncode == 0 and re.search(r"^careful +\S+ +\S+ +\S+%$", done.stdout, re.M)
    assert len((work / "careful.scratch.txt").read_text(encoding="utf-8").splitlines()) == 11
    again = run_script("prepare.sh", data, work)
    assert again.returncode == 1 and "is there already" in again.stderr


def test_every_equation_names_a_function_that_exists(root):
    text = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| .*`([\w.]+):([\w.]+)` \|$", text, re.M)
    assert len(named) > 15
    for module, path in named:
        found = functools.reduce(getattr, path.split("."), importlib.import_module(module))
        assert callable(found), path
