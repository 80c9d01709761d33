"""The documents name what is there, every link works, and the reference is complete."""

import argparse
import functools
import importlib
import importlib.util
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fairseq import criterions, models, options, registry, tasks
from fairseq.dataclass.utils import gen_parser_from_dataclass
from fairseq.optim.adafactor import FairseqAdafactor

import lev_plugins
from lev_plugins.reports import next_command as recipes

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))
import reference  # noqa: E402

PACKAGE = lev_plugins.__name__
PLACES = ("", "docs/**/", "examples/**/", "benchmarks/**/")
DOCUMENTS = sorted(path for place in PLACES for path in ROOT.glob(f"{place}*.md"))
SCRIPTS = sorted(ROOT.glob("examples/*/*.sh"))
USER_DIR = (ROOT / "user_dir.md").read_text(encoding="utf-8")
FOLDERS = ("lev_plugins", "examples", "benchmarks", "tests", ".ci")
TORCHRUN = {"--nproc_per_node", "--standalone"}
# flags of fairseq's own LevT, which has no config dataclass, of pip, and of the list of commands
FOREIGN = {
    *("--no-share-discriminator", "--no-share-maskpredictor", "--sampling-for-deletion"),
    *("--share-discriminator-maskpredictor", "--noise"),
    *("--no-build-isolation", "--no-cache-dir", "--force-reinstall", "--no-deps"),
    *("--version", "--help-all"),  # of every command
    "--paired-bs",  # of sacrebleu
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


def calls_of(command: str) -> list[str]:
    """How a command is typed."""
    return [f"-m lev_plugins {command} ", f"lev-{command} "]


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
            call: flags_of(parser)
            for name, parser in reference.commands().items()
            for call in calls_of(name)
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
            if re.search(r"fairseq-|python|torchrun|bash |lev-", line):
                yield line


def test_every_registered_name_is_in_the_table():
    assert reference.with_names(USER_DIR) == USER_DIR, "python docs/reference.py writes it anew"
    assert set(registered_names()) <= set(re.findall(r"`(\w+)`", reference.names_table()))


def test_every_option_has_a_help_text_and_stands_in_the_reference(tmp_path):
    reference.write(ROOT, tmp_path)
    written = "".join(path.read_text("utf-8") for path in tmp_path.glob("*.rst"))
    found = {
        f"--{one.flag} {one.name}": reference.component_options(one.configuration)
        for one in reference.components()
        if one.configuration is not None
    }
    for name, parser in reference.commands().items():
        found[name] = reference.command_options(name, parser)
    assert len(found) > 30 and sum(map(len, found.values())) > 200
    for owner, known in found.items():
        for option in known:
            assert len(option.help) > 3, f"{owner} {option.flags}: no help text"
            assert f"``{option.flags}``" in written, f"{owner} {option.flags}"


def test_every_metric_is_in_its_page():
    from lev_plugins.metrics import METRICS

    text = (ROOT / "docs" / "metrics.md").read_text("utf-8")
    assert all(f"`{name}`" in text for name in METRICS)


# ---------------------------------------------------------------- one training command a task

#: what depends on the data, and where it is saved
OWN = {
    *("--user-dir", "--source-lang", "--target-lang", "--draft-lang", "--save-dir", "--bert-dir"),
    *("--bpe", "--sentencepiece-model", "--share-all-embeddings", "--task", "--arch"),
    *("--best-checkpoint-metric", "--maximize-best-checkpoint-metric"),
}


def recipe(words: list[str]) -> dict[str, list[str]]:
    """The values of each flag, but of those in ``OWN``."""
    found: dict[str, list[str]] = {}
    for word in words:
        if word.startswith("--"):
            found[word] = []
        elif found:
            found[list(found)[-1]].append(word)
    return {flag: values for flag, values in found.items() if flag not in OWN}


def trainings(name: str, arch: str) -> list[dict[str, list[str]]]:
    lines = map(shlex.split, commands(ROOT / name))
    trained = [one for one in lines if one[0] == "fairseq-train" and "--arch" in one]
    return [recipe(one) for one in trained if one[one.index("--arch") + 1] == arch]


def test_each_task_has_one_training_command():
    guide = "examples/guides/{}.md".format
    for arch, page, wanted in (
        ("levenshtein_editor_small", "post_editing", [f"{recipes.LEVT} {recipes.DRAFTS}"]),
        ("pbd_transformer_char", "correcting_text", [recipes.PBD]),
        ("enct5_tiny", "tagging", [recipes.LABELLER, recipes.TAGGER]),
        ("enct5", "pretrained", [recipes.FROM_BERT]),
    ):
        expected = [recipe(one.split()) for one in wanted]
        assert trainings(guide(page), arch) == expected, page
        assert trainings("README.md", arch) in ([], expected[-1:]), arch
    (gated,) = trainings("README.md", "gated_transformer_char")
    assert trainings(guide("denoising"), "gated_transformer_char") == [gated]


# A changelog names what has gone.
@pytest.mark.parametrize("name", [name for name in names(DOCUMENTS) if name != "CHANGELOG.md"])
def test_every_flag_named_in_the_text_exists(name, parsers):
    text = (ROOT / name).read_text(encoding="utf-8")
    outside = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    known = set().union(*parsers.values()) | TORCHRUN | FOREIGN
    known |= {"--help", "--version"}  # of the list of commands
    scripts = [*SCRIPTS, *ROOT.glob("examples/*.sh"), *ROOT.glob("examples/*/*.py")]
    for script in [*scripts, *ROOT.glob("benchmarks/**/*.py")]:
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


@pytest.mark.parametrize("name", names([*DOCUMENTS, *SCRIPTS]))
def test_no_path_of_one_machine_stands_in_a_document(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert not re.search(r"(?<![\w.])/(?:work|root|home|tmp)/", text) and "../shared" not in text


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


def test_every_equation_names_a_function_that_exists(root):
    text = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| .*`([\w.]+):([\w.]+)` \|$", text, re.M)
    assert len(named) > 15
    for module, path in named:
        found = functools.reduce(getattr, path.split("."), importlib.import_module(module))
        assert callable(found), path
