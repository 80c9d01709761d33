"""The architecture: which package may import which, read from the source without running it."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# from the top down; whatever stands below may be imported, nothing beside or above
LAYERS = """__main__ | cli __init__ corrector | reports | export | inference | registration
| systems | tasks | metrics optim | pretrained | data nn | ops | fairseq_patches | io | options"""
LEVEL = {name: level for level, names in enumerate(LAYERS.split("|")) for name in names.split()}


Parts = tuple[str, ...]


def imports(source: str, parts: Parts) -> Iterator[Parts]:
    """What a module at ``parts`` imports, anywhere, name by name; the package is ``.``."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (tuple(name.name.split(".")) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module.split(".") if node.module else []
            start = (".", *parts[: len(parts) - node.level]) if node.level else ()
            yield from ((*start, *module, name.name) for name in node.names)


def complaint(importer: Parts, imported: Parts) -> str | None:
    """Why a module may not import another one; None if it may."""
    above, below = importer[0], imported[0]
    if below not in LEVEL:
        return f"{below} stands in no layer"
    if above == below:
        systems = above == "systems" and len(importer) > 2 and len(imported) > 1
        if systems and imported[1] != importer[1]:
            return "systems never import each other"
    elif importer == ("__init__",):
        return "the package does not load its commands" if below == "cli" else None
    elif LEVEL[below] <= LEVEL[above]:
        return f"{above} does not stand above {below}"
    return None


@pytest.fixture(scope="module")
def imported_by(root: Path) -> dict[Parts, list[Parts]]:
    """``("io", "lines")`` → what ``lev_runtime/io/lines.py`` imports."""
    package, imports_of = root / "lev_plugins", {}
    for path in package.rglob("*.py"):
        parts = path.relative_to(package).with_suffix("").parts
        imports_of[parts] = list(imports(path.read_text(), parts))
    return imports_of


def test_every_module_stands_in_a_layer_and_imports_point_downwards(imported_by):
    assert {parts[0] for parts in imported_by} <= set(LEVEL)
    wrong = [
        f"{'.'.join(parts)} imports {'.'.join(imported)}: {why}"
        for parts, packages in imported_by.items()
        for start, *imported in packages
        if start == "." and (why := complaint(parts, tuple(imported)))
    ]
    assert not wrong


#: what touches the corrector: one file brings checkpoints to it, two have its former names
BRIDGES = (("inference", "correcting"), ("__init__",), ("corrector",))


def test_nobody_imports_what_he_should_know_nothing_of(imported_by):
    """The user may have renamed the package's folder; of the lower packages only nn/seq2seq puts
    blocks behind fairseq's interfaces."""
    fairseqs = {"fairseq", "fairseq_cli", "omegaconf", "hydra"}
    for parts, imported in imported_by.items():
        names = {parts_[0] for parts_ in imported}
        assert not {"lev_plugins", "lev_memory"} & names, parts
        assert "lev_correct" not in names or parts in BRIDGES, parts
        if parts[0] in ("ops", "nn", "errors") and parts[:2] != ("nn", "seq2seq"):
            own = {parts_[0] for parts_ in imported if parts_[:2] != ("fairseq", "modules")}
            assert not fairseqs & own, parts


#: what each package may import besides the standard library and itself
ROOMS = {
    "lev_runtime": "numpy onnxruntime rapidfuzz regex sentencepiece tokenizers tqdm",
    "lev_correct": "lev_runtime numpy rapidfuzz regex markdown_it py3langid fastapi h11 starlette "
    "pydantic uvicorn pygments",
    # lev_correct: where it is installed, typos.py asks it whether a source had one
    "lev_memory": "babel lev_correct lev_runtime numpy rapidfuzz regex sacrebleu sentencepiece "
    "translate",
}


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_what_stands_below_it_alone(root, room):
    """The corrector and the memory stand on the runtime, none on the plug-in, torch or fairseq."""
    for path in (root / room).rglob("*.py"):
        parts = path.relative_to(root / room).with_suffix("").parts
        names = {parts_[0] for parts_ in imports(path.read_text(), parts)} - {"."}
        assert names <= {*ROOMS[room].split(), room, *sys.stdlib_module_names}, path
