"""The architecture: which package may import which, read from the source without running it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

# from the top down; whatever stands below may be imported, nothing beside or above
LAYERS = (
    ("__main__",),
    ("cli", "__init__"),
    ("serve",),
    ("reports",),
    ("inference",),
    ("registration",),
    ("systems",),
    ("tasks",),
    ("metrics", "optim"),
    ("pretrained",),
    ("data", "nn"),
    ("ops",),
    ("fairseq_patches",),
    ("io",),
    ("html", "models"),
    ("errors", "options"),
)
LEVEL = {name: level for level, packages in enumerate(LAYERS) for name in packages}


def parts_of(file: Path, package: Path) -> tuple[str, ...]:
    """``lev_plugins/io/lines.py`` → ``("io", "lines")``; an ``__init__`` keeps its name."""
    return file.relative_to(package).with_suffix("").parts


def relative_imports(source: str, parts: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """What a module at ``parts`` imports of its own package, wherever it does so, name by name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.level > 0:
            base = parts[: len(parts) - node.level]
            module = node.module.split(".") if node.module else []
            for name in node.names:
                yield (*base, *module, name.name)


def absolute_imports(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module


def complaint(importer: tuple[str, ...], imported: tuple[str, ...]) -> str | None:
    """Why a module may not import another one; None if it may."""
    above, below = importer[0], imported[0]
    if below not in LEVEL:
        return f"{below} stands in no layer"
    if above == below:
        systems = above == "systems" and len(importer) > 2 and len(imported) > 1
        if systems and imported[1] != importer[1]:
            return "systems never import each other"
        return None
    if importer == ("__init__",):
        return "the package does not load its commands" if below == "cli" else None
    if LEVEL[below] <= LEVEL[above]:
        return f"{above} does not stand above {below}"
    return None


@pytest.fixture(scope="session")
def package(root: Path) -> Path:
    return root / "lev_plugins"


@pytest.fixture(scope="session")
def sources(package: Path) -> dict[tuple[str, ...], str]:
    return {parts_of(file, package): file.read_text() for file in sorted(package.rglob("*.py"))}


def test_every_module_stands_in_a_layer_and_imports_point_downwards(sources):
    assert {parts[0] for parts in sources} <= set(LEVEL)
    wrong = [
        f"{'.'.join(parts)} imports {'.'.join(imported)}: {why}"
        for parts, source in sources.items()
        for imported in relative_imports(source, parts)
        if (why := complaint(parts, imported))
    ]
    assert not wrong


def outside(sources: dict[tuple[str, ...], str], *names: str) -> list[str]:
    """Which of the modules import one of these packages by name."""
    return [
        f"{'.'.join(parts)} imports {name}"
        for parts, source in sources.items()
        for name in absolute_imports(source)
        if name.split(".")[0] in names
    ]


def test_the_package_never_names_itself(sources):
    """Its user may have renamed the folder."""
    assert not outside(sources, "lev_plugins")


def test_the_lower_packages_know_nothing_of_fairseq(sources):
    """But nn/seq2seq, which is there to put blocks behind fairseq's interfaces."""
    lower = {
        parts: source
        for parts, source in sources.items()
        if parts[0] in ("ops", "nn", "errors") and parts[:2] != ("nn", "seq2seq")
    }
    assert not outside(lower, "fairseq", "fairseq_cli", "omegaconf", "hydra")


def test_configurations_are_not_turned_into_strings(sources):
    """fairseq reads the types of dataclass fields, which a future import makes into strings."""
    wrong = [
        ".".join(parts)
        for parts, source in sources.items()
        if "@dataclass" in source
        and "fairseq.dataclass" in source
        and "__future__" in absolute_imports(source)
    ]
    assert not wrong
