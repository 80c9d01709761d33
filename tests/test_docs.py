"""The documents name what is there, every link works, and the reference is complete."""

import argparse
import ast
import collections
import functools
import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from fairseq import criterions, models, options, registry, tasks
from fairseq.dataclass.utils import gen_parser_from_dataclass
from plain_files import ROOT

sys.path.append(str(ROOT / "docs"))
import reference  # noqa: E402

PLACES = ("", "docs/**/", "examples/**/", "benchmarks/**/")
DOCUMENTS = sorted(path for place in PLACES for path in ROOT.glob(f"{place}*.md"))
SCRIPTS = sorted(ROOT.glob("examples/*/*.sh"))
# flags of fairseq's own LevT, which has no config dataclass, of all commands, pip, slurm, others
FOREIGN = (
    "--no-share-discriminator --no-share-maskpredictor --sampling-for-deletion "
    "--share-discriminator-maskpredictor --noise --help --help-all "
    "--no-build-isolation --no-cache-dir --force-reinstall --no-deps --paired-bs --config-dir "
    "--config-name --config-path --nodes --ntasks-per-node --gpus-per-node --signal --nnodes "
    "--nproc_per_node --rdzv_backend --rdzv_id --rdzv_endpoint --node_rank --master_addr "
    "--master_port"
)


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def flags_of(parser: argparse.ArgumentParser) -> set[str]:
    """Returns the flags of a parser and of its subcommands."""
    flags = set(parser._option_string_actions)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            flags.update(*map(flags_of, action.choices.values()))
    return flags


def known_flags() -> set[str]:
    """Returns the flags of all commands, fairseq's with those of every component, and scripts."""
    registered = [
        tasks.TASK_DATACLASS_REGISTRY,
        models.MODEL_DATACLASS_REGISTRY,
        criterions.CRITERION_DATACLASS_REGISTRY,
        *(kind["dataclass_registry"] for kind in registry.REGISTRIES.values()),
    ]
    components = argparse.ArgumentParser(conflict_handler="resolve")
    for configuration in set().union(*(kind.values() for kind in registered)) - {None}:
        gen_parser_from_dataclass(components, configuration())
    fairseq = [
        options.get_preprocessing_parser(),
        options.get_training_parser(),
        options.get_interactive_generation_parser(),
        options.get_validation_parser(),
    ]
    known = {*FOREIGN.split()}
    known.update(*map(flags_of, [components, *fairseq, *reference.commands().values()]))
    for folder in ("examples", "benchmarks"):
        for script in [*ROOT.glob(f"{folder}/**/*.sh"), *ROOT.glob(f"{folder}/**/*.py")]:
            known.update(re.findall(r"--[a-z][\w-]+", script.read_text(encoding="utf-8")))
    return known


# ---------------------------------------------------------------- the laws, each for all pages


def test_the_documents_stay_short():
    """23,000 words; cells of a table and dashes are none by themselves."""
    pages = {*DOCUMENTS, *ROOT.glob("lev_*/**/*.md")}
    text = " ".join(path.read_text(encoding="utf-8") for path in pages)
    assert sum(any(map(str.isalnum, word)) for word in text.split()) <= 23_000


def test_the_table_of_names_has_what_is_registered():
    text = (ROOT / "user_dir.md").read_text(encoding="utf-8")
    assert reference.with_names(text) == text, "python docs/reference.py rewrites it"


def test_every_flag_and_every_file_of_a_command_exists():
    known, faults = known_flags(), []
    for path in {*DOCUMENTS} - {ROOT / "CHANGELOG.md"}:  # which names what has gone
        text = path.read_text(encoding="utf-8")
        code = " ".join(re.findall(r"^```.*?^```|^    .*?$|`[^`]+`", text, re.M | re.S))
        for flag in re.findall(r"(?<![\w-])--[a-z][\w-]*", code):
            beginning = flag if flag.endswith("-") else f"{flag} "  # of several flags
            if not any(f"{other} ".startswith(beginning) for other in known):
                faults.append(f"{name_of(path)}: {flag}")
        files = re.findall(r"(?:bash|python) ((?:examples|benchmarks|tests)/[\w/.-]+\w)", text)
        faults += [f"{name_of(path)}: {file}" for file in files if not (ROOT / file).exists()]
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


# ---------------------------------------------------------------- docstrings


DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def test_no_docstring_begins_with_what_of_or_whether():
    faults = []
    for path in sorted(ROOT.glob("lev_*/**/*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            text = ast.get_docstring(node) if isinstance(node, DOCUMENTED) else None
            if text and re.match(r"(What|Of|Whether)\b", text):
                faults.append(f"{name_of(path)}: {text.splitlines()[0]}")
    assert not faults


def names_in(tree: ast.AST, place: str) -> Iterator[str]:
    """Yields the dotted names of a module or class: defined, assigned, imported, of ``self``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Name) and isinstance(node.ctx, ast.Store):
            yield f"{place}.{node.attr if isinstance(node, ast.Attribute) else node.id}"
        elif isinstance(node, ast.alias):
            yield f"{place}.{node.asname or node.name}"
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield f"{place}.{node.name}"
            if isinstance(node, ast.ClassDef) and node is not tree:
                yield from names_in(node, f"{place}.{node.name}")


def test_every_reference_in_a_docstring_leads_somewhere():
    """A name alone leads into its module, one with a dot into its package or the runtime."""
    paths = [path for room in ("docs", "lev_*", "tests") for path in ROOT.glob(f"{room}/**/*.py")]
    known = collections.defaultdict(set)  # the endings of all names of a module, and of a room
    for path in paths:
        place = path.relative_to(ROOT)
        module = ".".join(place.with_suffix("").parts).removesuffix(".__init__")
        for name in {module, *names_in(ast.parse(path.read_text("utf-8")), module)}:
            words = name.split(".")
            endings = {".".join(words[start:]) for start in range(len(words))}
            known[name_of(path)] |= endings
            known[place.parts[0]] |= endings
    faults = []
    for path in paths:
        room = name_of(path).partition("/")[0]
        pattern = r":(attr|class|data|func|meth|mod):`([^`]+)`"
        for role, text in re.findall(pattern, path.read_text("utf-8")):
            name = text.lstrip("~.")
            is_whole = name.startswith("lev_") or not room.startswith("lev_")
            rooms = {*known} if is_whole else {room, "lev_runtime"}
            places = rooms if "." in text or role == "mod" else {name_of(path)}
            is_foreign = name.startswith(("fairseq.", "random."))
            if not is_foreign and not any(name in known[place] for place in places):
                faults.append(f"{name_of(path)}: {text}")
    assert not faults, "\n".join(faults)
