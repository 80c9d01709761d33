"""The architecture: which package may import which, read from the source without running it."""

import ast
import functools
import re
import sys
from collections.abc import Iterator

import pytest

#: From the top down: what stands further down may be imported, nothing beside or above. A module
#: that is named here is not in its folder's layer.
LAYERS = {
    "lev_plugins": """__main__ | cli | __init__ | reports | export | inference | registration
    | systems | tasks | metrics optim | pretrained | data nn | ops | fairseq_patches | io
    | options packaged""",
    "lev_serve": """cli | app | languagetool | worker | model | schema service __init__""",
    "lev_correct": """cli | __init__ reasons report tuning | corrector | document | judge
    | propose.loading | settings | propose | repository | lines | text | files
    | words packaged""",
    "lev_memory": """cli | __init__ | translation_memory | evaluate | proposals
    | train | prepare | formats scores | memory | repair""",
    "lev_runtime": """__init__ | refine.editor beam labels | refine io | text.sentences
    | history refine.options refine.policy | refine.arrays text | batching folder
    | errors logistic""",
}

Parts = tuple[str, ...]
#: a string that names a package or a module of ours, which is imported or looked for by it
PACKAGE = re.compile(r"lev_(?:correct|memory|plugins|runtime|serve)(?:[.]\w+)*")


def imports(source: str, parts: Parts) -> Iterator[Parts]:
    """What a module at ``parts`` imports, anywhere, name by name; the package is ``.``."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (tuple(name.name.split(".")) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module.split(".") if node.module else []
            start = (".", *parts[: len(parts) - node.level]) if node.level else ()
            yield from ((*start, *module, name.name) for name in node.names)


def levels_of(room: str) -> dict[Parts, int]:
    return {
        tuple(name.split(".")): level
        for level, names in enumerate(LAYERS[room].split("|"))
        for name in names.split()
    }


def layer_of(parts: Parts, levels: dict[Parts, int]) -> Parts:
    """The module, or the folder, that names its layer; names of ``__init__.py`` are its own."""
    return next((name for n in (2, 1) if (name := parts[:n]) in levels), ("__init__",))


def complaint(importer: Parts, imported: Parts, levels: dict[Parts, int]) -> str | None:
    """Why a module may not import another one of its package; None if it may."""
    above, below = layer_of(importer, levels), layer_of(imported, levels)
    if above == below == ("systems",):
        is_shared = len(importer) == 2 or imported[1] == importer[1]
        return None if is_shared else "systems never import each other"
    is_right = above == below or levels[above] < levels[below] or imported == ("__version__",)
    return None if is_right else f"{'.'.join(above)} does not stand above {'.'.join(below)}"


@functools.cache
def imported_by(package):
    """``("io", "lines")`` → what ``lev_runtime/io/lines.py`` imports."""
    names = {
        path: path.relative_to(package).with_suffix("").parts for path in package.rglob("*.py")
    }
    return {parts: [*imports(path.read_text(), parts)] for path, parts in names.items()}


@pytest.mark.parametrize("room", LAYERS)
def test_every_module_stands_in_a_layer_and_imports_point_downwards(root, room):
    levels, modules = levels_of(room), imported_by(root / room)
    assert {parts[0] for parts in modules} == {name[0] for name in levels}
    assert not [
        f"{'.'.join(parts)} imports {'.'.join(imported)}: {why}"
        for parts, packages in modules.items()
        for start, *imported in packages
        if start == "." and (why := complaint(parts, tuple(imported), levels))
    ]


#: the one file that touches the corrector: it brings checkpoints to it
BRIDGE = ("inference", "correcting")


def test_nobody_imports_what_he_should_know_nothing_of(root):
    """The user may have renamed the package's folder; of the lower packages only nn/seq2seq puts
    blocks behind fairseq's interfaces."""
    fairseqs = {"fairseq", "fairseq_cli", "omegaconf", "hydra"}
    for parts, imported in imported_by(root / "lev_plugins").items():
        names = {parts_[0] for parts_ in imported}
        assert not {"lev_plugins", "lev_memory", "lev_serve"} & names, parts
        assert "lev_correct" not in names or parts == BRIDGE, parts
        if parts[0] in ("ops", "nn", "errors") and parts[:2] != ("nn", "seq2seq"):
            own = {parts_[0] for parts_ in imported if parts_[:2] != ("fairseq", "modules")}
            assert not fairseqs & own, parts


#: what each package may import besides the standard library and itself
ROOMS = {
    "lev_runtime": "numpy onnxruntime rapidfuzz regex sentencepiece tokenizers tqdm",
    "lev_correct": "lev_runtime numpy rapidfuzz regex markdown_it py3langid pygments "
    "lsprotocol pygls shtab",
    "lev_serve": "lev_correct lev_runtime regex fastapi h11 starlette prometheus_client pydantic "
    "uvicorn",
    "lev_memory": "babel lev_runtime markdown_it numpy rapidfuzz regex sacrebleu sentencepiece "
    "yaml",
}


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_what_stands_below_it_alone(root, room):
    """The corrector and the memory stand on the runtime, none on the plug-in, torch or fairseq."""
    for parts, imported in imported_by(root / room).items():
        names = {parts_[0] for parts_ in imported} - {"."}
        assert names <= {*ROOMS[room].split(), room, *sys.stdlib_module_names}, parts


#: the folder of the user's cache has the name of the distribution
CACHE = "lev_correct/words/prepared.py"


@pytest.mark.parametrize("room", ROOMS)
def test_no_string_names_a_room_that_may_not_be_imported(root, room):
    """What is looked for by a path or imported by name is as much a need as an import."""
    for path in (root / room).rglob("*.py"):
        strings = {str(n.value) for n in ast.walk(ast.parse(path.read_text()))
                   if isinstance(n, ast.Constant)}  # fmt: skip
        named = {text.partition(".")[0] for text in filter(PACKAGE.fullmatch, strings)}
        if path != root / CACHE:
            assert named <= {*ROOMS[room].split(), room}, path
