"""The documents name what is there, every link works, and the reference is complete."""

import argparse
import ast
import functools
import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fairseq import criterions, models, options, registry, tasks
from fairseq.dataclass.utils import gen_parser_from_dataclass

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "docs"))
import reference  # noqa: E402

PLACES = ("", "docs/**/", "examples/**/", "benchmarks/**/")
DOCUMENTS = sorted(path for place in PLACES for path in ROOT.glob(f"{place}*.md"))
SCRIPTS = sorted(ROOT.glob("examples/*/*.sh"))
# flags of fairseq's own LevT, which has no config dataclass, of every command, pip, and others
FOREIGN = (
    "--no-share-discriminator --no-share-maskpredictor --sampling-for-deletion "
    "--share-discriminator-maskpredictor --noise --help --help-all --version "
    "--no-build-isolation --no-cache-dir --force-reinstall --no-deps "
    "--paired-bs --nproc_per_node --config-dir --config-name"
)


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


# ---------------------------------------------------------------- what there is


def flags_of(parser: argparse.ArgumentParser) -> set[str]:
    """Returns the flags of a parser and of its subcommands."""
    flags = set(parser._option_string_actions)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            flags.update(*map(flags_of, action.choices.values()))
    return flags


@pytest.fixture(scope="module")
def parsers() -> dict[str, set[str]]:
    """Returns the flags that each command knows; fairseq's with those of every component."""
    registered = [
        tasks.TASK_DATACLASS_REGISTRY,
        models.MODEL_DATACLASS_REGISTRY,
        criterions.CRITERION_DATACLASS_REGISTRY,
        *(kind["dataclass_registry"] for kind in registry.REGISTRIES.values()),
    ]
    parser = argparse.ArgumentParser(conflict_handler="resolve")
    for configuration in set().union(*(kind.values() for kind in registered)) - {None}:
        gen_parser_from_dataclass(parser, configuration())
    components = flags_of(parser) | {"--scale-parameter"}  # of Adafactor, which has no dataclass
    fairseq = {
        "train": options.get_training_parser,
        "generate": options.get_generation_parser,
        "interactive": options.get_interactive_generation_parser,
        "validate": options.get_validation_parser,
    }
    known = {f"fairseq-{name}": flags_of(make()) | components for name, make in fairseq.items()}
    for name, parser in reference.commands().items():
        known[f"-m lev_plugins {name} "] = known[f"lev-{name} "] = flags_of(parser)
    return known


# ---------------------------------------------------------------- what the documents say


def code_blocks(path: Path) -> Iterator[str]:
    """Yields fenced and indented blocks; all of a script."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".sh":
        yield text
        return
    yield from re.findall(r"^```(?:bash|sh|shell)?\n(.*?)^```", text, re.M | re.S)
    yield from re.findall(r"(?:^ {4}.*\n)+", text, re.M)


def commands(path: Path) -> Iterator[str]:
    """Yields the logical lines of code blocks that call a program, continuations joined."""
    for block in code_blocks(path):
        for line in block.replace("\\\n", " ").splitlines():
            line = re.sub(r"(^|\s)#.*", "", line).strip()
            if re.search(r"fairseq-|python|torchrun|bash |lev-", line):
                yield line


# ---------------------------------------------------------------- the laws, each for all pages


def test_the_documents_stay_short():
    """32,000 words (CONTRIBUTING); cells of a table and dashes are none by themselves."""
    text = " ".join(path.read_text(encoding="utf-8") for path in DOCUMENTS)
    assert sum(any(map(str.isalnum, word)) for word in text.split()) <= 32_000


def test_the_table_of_names_has_what_is_registered():
    text = (ROOT / "user_dir.md").read_text(encoding="utf-8")
    assert reference.with_names(text) == text, "python docs/reference.py rewrites it"


def test_every_flag_named_in_the_text_exists(parsers):
    known = {*FOREIGN.split()}.union(*parsers.values())
    for script in [*ROOT.glob("examples/**/*.*"), *ROOT.glob("benchmarks/**/*.py")]:
        if script.suffix in (".sh", ".py"):
            known |= set(re.findall(r"--[a-z][\w-]+", script.read_text(encoding="utf-8")))
    faults = []
    for path in {*DOCUMENTS} - {ROOT / "CHANGELOG.md"}:  # which names what has gone
        text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
        for flag in re.findall(r"(?<![\w-])--[a-z][\w-]*", " ".join(re.findall(r"`.+?`", text))):
            beginning = flag if flag.endswith("-") else f"{flag} "  # of several flags
            if not any(f"{other} ".startswith(beginning) for other in known):
                faults.append(f"{name_of(path)}: {flag}")
    assert not faults


def test_every_command_names_flags_modules_and_files_that_exist(parsers):
    faults = []
    for path in [*DOCUMENTS, *SCRIPTS]:
        for line in commands(path):
            called = [program for program in parsers if program in line]
            for program, known in parsers.items():
                if [other for other in called if other.startswith(program)] != [program]:
                    continue
                arguments = line.partition(program)[2]
                flags = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", arguments))
                faults += [f"{name_of(path)}: {program} {flag}" for flag in flags - known]
            files = re.findall(r"(?:bash|python) ((?:examples|benchmarks|tests)/\S+)", line)
            missing = (file for file in files if not (ROOT / file.rstrip("`.,;")).exists())
            faults += [f"{name_of(path)}: {file}" for file in missing]
    assert not faults


def leads_nowhere(path: Path, target: str) -> bool:
    """Returns whether the file or the heading of a link is missing."""
    file, _, anchor = target.partition("#")
    linked = path.parent / file if file else path
    if "://" in target or not linked.exists():
        return "://" not in target
    titles = re.findall(r"^#+ (.+)$", linked.read_text("utf-8"), re.M) if anchor else []
    anchors = (re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles)
    return bool(anchor) and anchor not in anchors


def test_every_link_and_every_file_named_leads_somewhere():
    faults = []
    for path in [*DOCUMENTS, *SCRIPTS, *ROOT.glob("lev_*/**/*.md")]:
        text = path.read_text(encoding="utf-8")
        faults += re.findall(r"(?<![\w.])/(?:work|root|home|tmp)/|\.\./shared", text)
        if path.suffix != ".md":
            continue
        prose = re.sub("`[^`]*`", "", text)
        targets = re.findall(r"\]\(([^)\s]+)\)", prose)
        dead = [target for target in targets if leads_nowhere(path, target)]
        spans = re.findall(r"`((?:lev_plugins|examples|benchmarks|tests|\.ci)/[\w./-]*)`", text)
        dead += [span for span in spans if not (ROOT / span).exists()]
        faults += [f"{name_of(path)}: {target}" for target in dead]
    assert not faults


def test_every_equation_names_a_function_that_exists(root):
    text = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| .*`([\w.]+):([\w.]+)` \|$", text, re.M)
    assert len(named) > 15
    for module, path in named:
        named_object = functools.reduce(getattr, path.split("."), importlib.import_module(module))
        assert callable(named_object), path


def test_every_import_of_a_script_exists():
    faults = []
    for path in [*ROOT.glob("examples/**/*.py"), *ROOT.glob("benchmarks/**/*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("lev_"):
                try:
                    exec(ast.unparse(node), {})
                except ImportError as error:
                    faults.append(f"{name_of(path)}: {error}")
    assert not faults
