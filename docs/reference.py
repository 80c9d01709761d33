"""Writes the reference pages of the site from what is registered: options, sizes, commands, Python.

Nothing here is typed by hand: options are the fields of the config dataclasses and what the
commands' parsers know, texts are their help and the docstrings. ``docs/conf.py`` calls
:func:`write` before each build; the pages are not checked in. The table of names in user_dir.md is:

    python docs/reference.py     # writes it anew; tests/test_docs.py compares
"""

import argparse
import dataclasses
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from fairseq import models, options, registry, tasks
from fairseq.dataclass.utils import gen_parser_from_dataclass
from fairseq.optim.adam import FairseqAdamConfig
from fairseq.tasks.translation import TranslationConfig

import lev_correct
import lev_plugins
import lev_runtime
from lev_plugins.cli import names
from lev_plugins.registration import register
from lev_runtime.io.options import show_all

PACKAGE = lev_plugins.__name__
#: Fields whose value is another component's, and what every component has.
SHARED = re.compile(r"\$\{(checkpoint|dataset|optimization|distributed_training|bpe|tokenizer)\b")
INHERITED = {"_name", "data"}
STOCK = (TranslationConfig, FairseqAdamConfig)
SUBCOMMANDS = {
    "correct": ("check", "tune"),
    "memory": ("prepare", "train", "evaluate", "propose"),
}


class Option(NamedTuple):
    """One option: how it is typed, what it takes, its default and its help."""

    flags: str
    kind: str
    default: str
    help: str


class Component(NamedTuple):
    """A registered name: the flag that chooses it, its class and its config dataclass."""

    flag: str
    name: str
    registered_class: Any
    configuration: Any


def components() -> list[Component]:
    """All that the package registers under names of its own, but for the archs."""
    options.get_parser("", default_task=None)  # once asked for, optimizers and scorers are there
    kinds = [
        ("--task", tasks.TASK_REGISTRY, tasks.TASK_DATACLASS_REGISTRY),
        ("--arch", models.MODEL_REGISTRY, models.MODEL_DATACLASS_REGISTRY),
    ]
    for name, kind in registry.REGISTRIES.items():
        kinds.append(
            (f"--{name.replace('_', '-')}", kind["registry"], kind["dataclass_registry"]),
        )
    return [
        Component(flag, name, registered_class, configurations.get(name))
        for flag, registered, configurations in kinds
        for name, registered_class in registered.items()
        if _is_ours(registered_class)
    ]


def _is_ours(registered_class: Any) -> bool:
    """Whether it is the package's, and no stand-in for something of fairseq's."""
    parts = registered_class.__module__.split(".")
    return parts[0] == PACKAGE and not {"compat", "fairseq_patches"} & set(parts)


def architectures() -> dict[str, Any]:
    """Name of an arch → the settings of its model."""
    configurations = {}
    for arch, model in models.ARCH_MODEL_REGISTRY.items():
        if _is_ours(model):
            cfg = models.MODEL_DATACLASS_REGISTRY[models.ARCH_MODEL_NAME_REGISTRY[arch]]()
            values = argparse.Namespace()
            models.ARCH_CONFIG_REGISTRY[arch](values)
            for name, value in vars(values).items():
                setattr(cfg, name, value)
            configurations[arch] = cfg
    return configurations


def own_fields(configuration: Any) -> list[dataclasses.Field]:
    """The fields that a component adds to those of fairseq's task or optimizer."""
    inherited = set(INHERITED)
    for stock in STOCK:
        if issubclass(configuration, stock):
            inherited |= {field.name for field in dataclasses.fields(stock)}
    return [
        field
        for field in dataclasses.fields(configuration)
        if field.name not in inherited and not SHARED.match(str(field.default))
    ]


def component_options(configuration: Any) -> list[Option]:
    """The options that a component adds."""
    parser = argparse.ArgumentParser(add_help=False, conflict_handler="resolve")
    gen_parser_from_dataclass(parser, configuration())
    wanted = {option.name for option in own_fields(configuration)}
    return [option for option in parser_options(parser) if _name(option) in wanted]


def _name(option: Option) -> str:
    return option.flags.split(",")[0].removeprefix("--").replace("-", "_")


def parser_options(parser: argparse.ArgumentParser) -> list[Option]:
    """What a parser knows, without ``--help``; those that only ``--help-all`` shows too."""
    show_all(parser)
    return [
        Option(
            ", ".join(action.option_strings) or str(action.metavar or action.dest),
            _kind(action),
            _default(action),
            (action.help or "") % {**vars(action), "prog": parser.prog},
        )
        for action in parser._actions
        if action.help != argparse.SUPPRESS and "--help" not in action.option_strings
    ]


def _kind(action: argparse.Action) -> str:
    if action.choices:
        return ", ".join(map(str, action.choices))
    if action.nargs == 0:
        return "flag"
    return getattr(action.type, "__name__", "text") if action.type in (int, float) else "text"


def _default(action: argparse.Action) -> str:
    if action.required:
        return "required"
    value = getattr(action.default, "value", action.default)
    if value is None or value == "" or value == argparse.SUPPRESS:
        return "–"
    if value is False:
        return "off"
    return f"{value:g}" if isinstance(value, float) else str(value)


def command_options(name: str, parser: argparse.ArgumentParser) -> list[Option]:
    """The options of a command, without those that fairseq-preprocess has too."""
    stock = set()
    if name == "preprocess":
        stock = {option.flags for option in parser_options(options.get_preprocessing_parser())}
    return [option for option in parser_options(parser) if option.flags not in stock]


def commands() -> dict[str, argparse.ArgumentParser]:
    """Name of a command → its parser."""
    parsers = {name: names.load(name).build_parser() for name in names.COMMANDS}
    for name, commands in SUBCOMMANDS.items():
        for command in commands:
            parsers[f"{name} {command}"] = names.load(name).build_parser(command)
    return parsers


# ---------------------------------------------------------------- pages


def escape(text: str) -> str:
    """Text that reStructuredText takes as it stands."""
    return re.sub(r"([\\*`_|])", r"\\\1", " ".join(text.split()))


def title(text: str, line: str = "=") -> str:
    return f"{text}\n{line * len(text)}\n"


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A table of escaped or literal cells."""
    if not rows:
        return "It has no options of its own.\n"
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in (head, *rows):
        for place, cell in enumerate(row):
            lines.append(f"   {'* -' if place == 0 else '  -'} {cell}")
    return "\n".join(lines) + "\n"


def option_table(known: list[Option]) -> str:
    rows = []
    for option in known:
        text = (
            option.help
            if option.default == "–"
            else option.help.removesuffix(f" (default: {option.default})")
        )
        rows.append(
            (f"``{option.flags}``", escape(option.kind), escape(option.default), escape(text))
        )
    return table(("option", "takes", "default", "meaning"), rows)


def component_page(flag: str, of_flag: list[Component]) -> str:
    """All components of a kind with their options."""
    parts = [title(f"{flag}: options")]
    for part in sorted(of_flag, key=lambda component: component.name):
        parts.append(title(f"{flag} {part.name}", "-"))
        parts.append(escape((part.registered_class.__doc__ or "").strip().split("\n\n")[0]) + "\n")
        if part.configuration is not None:
            parts.append(option_table(component_options(part.configuration)))
    return "\n".join(parts)


def sizes(cfg: Any) -> tuple[str, ...]:
    """Blocks, width, feed-forward width and heads of an arch."""
    plan = getattr(cfg, "backbone_plan", None)
    if plan:
        known = json.loads(plan)["plan"]
        sides = [known.get(side, known) for side in ("encoder", "decoder")]
        layers = [
            str(side_sizes.get("layers") or known[f"{side}_layers"])
            for side, side_sizes in zip(("encoder", "decoder"), sides)
        ]
        last = sides[1]
        return " + ".join(layers), str(known["dim"]), str(last["hidden"]), str(last["heads"])

    def side(name: str) -> Any:
        return getattr(cfg, f"decoder_{name}", None) or getattr(cfg, f"encoder_{name}")

    return (
        f"{cfg.encoder_layers} + {side('layers')}",
        str(cfg.encoder_embed_dim),
        str(side("ffn_embed_dim")),
        str(side("attention_heads")),
    )


def architecture_page() -> str:
    """The sizes of all archs."""
    rows = [(f"``{arch}``", *sizes(cfg)) for arch, cfg in architectures().items()]
    head = ("arch", "blocks, encoder + decoder", "width", "feed-forward", "heads")
    return title("Sizes of the archs") + "\n" + table(head, rows)


def names_table() -> str:
    """The table of user_dir.md: each registered name, with its class's first sentence."""

    def summary(registered_class: Any) -> str:
        text = " ".join((registered_class.__doc__ or "").strip().split("\n\n")[0].split())
        return re.sub(r":\w+:`[.~]*|``", "`", text).rstrip(".")

    rows = ["| flag | name | what it is |", "|---|---|---|"]
    for flag in dict.fromkeys(part.flag for part in components()):
        of_flag = sorted(
            (part for part in components() if part.flag == flag), key=lambda part: part.name
        )
        if flag == "--scoring":
            listed = ", ".join(f"`{part.name}`" for part in of_flag)
            rows.append(f"| `{flag}` | {listed} | [metrics](docs/metrics.md) |")
            continue
        for part in of_flag:
            name = f"`{part.name}`"
            if flag == "--arch":
                name = ", ".join(
                    f"`{arch}` ({', '.join(sizes(cfg)[:2])})"
                    for arch, cfg in architectures().items()
                    if models.ARCH_MODEL_NAME_REGISTRY[arch] == part.name
                )
            rows.append(f"| `{flag}` | {name} | {summary(part.registered_class)} |")
    return "\n".join(rows) + "\n"


def with_names(text: str) -> str:
    """The text of user_dir.md with its table written anew."""
    before, marker, rest = text.partition("<!-- names: python docs/reference.py -->\n")
    return before + marker + names_table() + "<!-- end -->" + rest.partition("<!-- end -->")[2]


def command_page(name: str, parser: argparse.ArgumentParser, notes: Path) -> str:
    """What a command says of itself, and its options."""
    parts = [title(f"lev-{name}")]
    if name in names.COMMANDS:
        parts.append(f".. automodule:: {names.load(name).__name__}\n")
    if (notes / f"{name}.md").is_file():
        parts.append(f"Formats and rules: :doc:`/docs/commands/{name}`.\n")
    return "\n".join([*parts, option_table(command_options(name, parser))])


def python_page() -> str:
    """The public classes with their docstrings."""
    parts = [title("Python")]
    for package in (lev_correct, lev_plugins, lev_runtime):
        for name in package.__all__:
            public = getattr(package, name)
            if isinstance(public, type):
                place = f"{public.__module__}.{public.__qualname__}"
                parts += [title(name, "-"), f".. autoclass:: {place}\n   :members:\n"]
    return "\n".join(parts)


def pages(root: Path) -> Iterator[tuple[str, str]]:
    """Name and text of each page."""
    by_flag: dict[str, list[Component]] = {}
    for part in components():
        by_flag.setdefault(part.flag, []).append(part)
    for flag, of_flag in by_flag.items():
        yield f"options{flag[1:]}", component_page(flag, of_flag)
    yield "architectures", architecture_page()
    for name, parser in commands().items():
        yield (
            f"command-{name.replace(' ', '-')}",
            command_page(name, parser, root / "docs" / "commands"),
        )
    yield "python", python_page()


def write(root: Path, folder: Path) -> None:
    """Write all pages and their table of contents; pages of an earlier build are removed."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.rst"):
        path.unlink()
    texts = dict(pages(root))
    contents = "\n".join(f"   {name}" for name in texts)
    texts["index"] = f"{title('Reference')}\n.. toctree::\n   :maxdepth: 2\n\n{contents}\n"
    for name, text in texts.items():
        (folder / f"{name}.rst").write_text(text, "utf-8")


if __name__ == "__main__":
    register()
    page = Path(__file__).resolve().parents[1] / "user_dir.md"
    page.write_text(with_names(page.read_text("utf-8")), "utf-8")
