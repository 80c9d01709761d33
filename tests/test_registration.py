"""``--user-dir`` in all its forms, and what is registered by it."""

import dataclasses
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from enum import Enum
from typing import Any

import pytest
import saved
from fairseq import criterions, models, options, registry, scoring, tasks
from fairseq.data import encoders
from fairseq.dataclass import FairseqDataclass

import lev_plugins  # noqa: F401  (registers everything)

SYSTEMS = {
    "enct5": "enct5",
    "gated_transformer": "translation",
    "levenshtein_editor": "translation_edit",
    "pbd_transformer": "translation",
    "transformer_concat": "translation_concat",
}
SIZES = {  # blocks and width
    "enct5": (12, 768),
    "enct5_base": (12, 768),
    "enct5_large": (24, 1024),
    "enct5_small": (8, 512),
    "enct5_tiny": (2, 128),
    "enct5_xl": (24, 2048),
    "enct5_xxl": (24, 4096),
    "gated_transformer": (6, 512),
    "gated_transformer_char": (2, 256),
    "levenshtein_editor": (6, 512),
    "levenshtein_editor_char": (2, 128),
    "levenshtein_editor_small": (3, 256),
    "pbd_transformer": (6, 512),
    "pbd_transformer_big": (6, 1024),
    "pbd_transformer_char": (2, 256),
    "transformer_concat": (6, 512),
    "transformer_concat_char": (2, 128),
    "transformer_concat_small": (3, 256),
}
PLANNED = {  # as a pre-trained model
    "gated_bart_base": (6, 768),
    "gated_bert_base": (12, 768),
    "gated_bert_minilm": (6, 384),
    "gated_t5_base": (12, 768),
}
NAMES = {
    "tasks": ["enct5", "noisy_translation", "translation_concat", "translation_edit"],
    "models": list(SYSTEMS),
    "archs": sorted({**SIZES, **PLANNED}),
    "criterions": ["edit_policy_loss", "enct5"],
    "scorers": "accuracy cer ter word_accuracy word_error_rate wrr".split(),
    "encoders": ["hf"],
}

# Loads the package as fairseq's commands do, then says on its last line what was registered.
LOADER = """
    import json, os, sys
    from argparse import Namespace

    form, path = sys.argv[1:]
    if form == "installed":
        import lev_plugins
    from fairseq import criterions, models, scoring, tasks, utils
    from fairseq.data import encoders
    print("fairseq loaded", file=sys.stderr)
    for place in (path, path, os.path.abspath(path)):
        utils.import_user_module(Namespace(user_dir=place))

    def ours(registry):
        return sorted(n for n, c in registry.items() if c.__module__.startswith("lev_plugins."))

    print("found " + json.dumps({
        "tasks": ours(tasks.TASK_REGISTRY),
        "models": ours(models.MODEL_REGISTRY),
        "archs": ours(models.ARCH_MODEL_REGISTRY),
        "criterions": ours(criterions.CRITERION_REGISTRY),
        "scorers": ours(scoring.SCORER_REGISTRY),
        "encoders": ours(encoders.BPE_REGISTRY),
    }))
"""


@pytest.mark.parametrize("form", ["by path", "installed"])
def test_every_form_of_user_dir_registers_everything_and_says_nothing(root, tmp_path, form):
    """Relative, twice, and absolute; installed: importable before fairseq looks for it."""
    script = tmp_path / "loader.py"
    script.write_text(textwrap.dedent(LOADER))
    installed = form == "installed"
    done = subprocess.run(
        [
            sys.executable,
            str(script),
            form,
            str(root / "lev_plugins") if installed else "lev_plugins",
        ],
        cwd=tmp_path if installed else root,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(root) if installed else ""},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.stdout.startswith("found ") and done.stdout.count("\n") == 1, done.stderr
    assert json.loads(done.stdout.removeprefix("found ")) == NAMES
    before, *after = done.stderr.split("fairseq loaded\n")
    assert after and not any(after)
    # importing fairseq says something; importing it through the package does not
    assert not installed or before == ""


# what is registered ---------------------------------------------------------------------------

REGISTRIES = {
    "tasks": (tasks.TASK_REGISTRY, tasks.TASK_DATACLASS_REGISTRY),
    "models": (models.MODEL_REGISTRY, models.MODEL_DATACLASS_REGISTRY),
    "criterions": (criterions.CRITERION_REGISTRY, criterions.CRITERION_DATACLASS_REGISTRY),
    "scorers": (scoring.SCORER_REGISTRY, registry.REGISTRIES["scoring"]["dataclass_registry"]),
    "encoders": (encoders.BPE_REGISTRY, registry.REGISTRIES["bpe"]["dataclass_registry"]),
}


def ours(kind: str) -> dict[str, type]:
    """Name → component, of the components that this package registered."""
    return {
        name: component
        for name, component in REGISTRIES[kind][0].items()
        if component.__module__.startswith("lev_plugins.")
    }


def configurations() -> Iterator[tuple[str, str, type]]:
    for kind, (_, classes) in REGISTRIES.items():
        for name in ours(kind):
            yield kind, name, classes[name]


def own_fields(config: type) -> list[dataclasses.Field]:
    """Fields that this package declares; those of fairseq's configurations are fairseq's."""
    stock = {
        field.name
        for base in config.__mro__
        if base.__module__.startswith("fairseq.") and dataclasses.is_dataclass(base)
        for field in dataclasses.fields(base)
    }
    return [field for field in dataclasses.fields(config) if field.name not in stock]


def interpolated(field: dataclasses.Field) -> bool:
    """Whether a value is taken from elsewhere (``II``): then a flag would be one too many."""
    return isinstance(field.default, str) and field.default.startswith("${")


@pytest.mark.parametrize("kind", REGISTRIES)
def test_every_component_has_options_of_its_own_that_fairseq_understands(kind):
    assert ours(kind)
    for name in ours(kind):
        config = REGISTRIES[kind][1][name]
        assert issubclass(config, FairseqDataclass)
        assert config.__module__.startswith("lev_plugins."), name
        for field in own_fields(config):
            where, explained = f"{name}.{field.name}", field.metadata.get("help", "")
            if interpolated(field):
                assert not explained, f"{where}: a help would show a flag that clashes"
            else:
                assert len(explained) > 10, where
                assert field.default is not True, f"{where}: its flag would turn it off"
            text = str(field.type)
            assert not isinstance(field.type, str) and "|" not in text, where
            assert not text.startswith(("list[", "dict[", "tuple[")), where


def test_no_option_has_the_name_of_one_of_fairseqs():
    """fairseq drops the second flag of a name without a word."""
    parsers = (options.get_training_parser(), options.get_generation_parser(interactive=True))
    stock = {action.dest for parser in parsers for action in parser._actions}
    assert {"seed", "user_dir", "iter_decode_max_iter"} <= stock
    clashes = [
        f"{name}.{field.name}"
        for kind, name, config in configurations()
        for field in own_fields(config)
        if kind != "scorers" and not interpolated(field) and field.name in stock
    ]
    assert not clashes


def other_value(field: dataclasses.Field) -> Any:
    """A value that is not the default."""
    kind = field.type
    kind = getattr(kind, "__args__", [kind])[0]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next(one.value for one in kind if one.value != field.default)
    if kind is bool:
        return True
    return {int: 3, float: 0.25, str: "x"}[kind]


WITHOUT_OPTIONS = ["enct5"]  # the criterion


def parsed(arch: str, *flags: str, task: str | None = None) -> Any:
    """The configuration that fairseq-train makes of a command line."""
    task = task or SYSTEMS[models.ARCH_MODEL_NAME_REGISTRY[arch]]
    chosen = ["data", "--task", task, "--criterion", "edit_policy_loss"]
    return saved.configuration([*chosen, "--arch", arch, *flags])


@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) for kind in ("tasks", "models", "criterions") for name in NAMES[kind]],
)
def test_every_option_arrives_from_the_command_line(kind, name):
    arch = next(
        (arch for arch, task in SYSTEMS.items() if name in (arch, task)), next(iter(SYSTEMS))
    )
    expected, flags = {}, []
    for field in own_fields(REGISTRIES[kind][1][name]):
        if interpolated(field) or field.name == "data":  # data is no option
            continue
        value = expected[field.name] = other_value(field)
        flags.append("--" + field.name.replace("_", "-"))
        flags += [] if value is True else [str(value)]
    assert expected or name in WITHOUT_OPTIONS
    task = name if kind == "tasks" else None
    config = getattr(parsed(arch, *flags, task=task), kind.removesuffix("s"))
    assert {key: config[key] for key in expected} == expected


def test_an_architecture_sets_the_sizes_that_the_user_does_not():
    for arch, size in PLANNED.items():
        plan = json.loads(parsed(arch).model.backbone_plan)["plan"]
        layers = plan.get("layers") or plan["encoder_layers"]
        assert (layers, plan["dim"]) == size
    for arch, (layers, width) in SIZES.items():
        for flags in ((), ("--decoder-layers", "7", "--encoder-embed-dim", "64")):
            model = parsed(arch, *flags).model
            assert model.encoder_embed_dim == (64 if flags else width)
            assert model.encoder_layers == layers
            if arch.startswith("enct5"):
                assert model.decoder_layers == (7 if flags else 1)
                continue
            # without a number of its own a decoder has as many blocks as the encoder
            assert (model.decoder_layers or model.encoder_layers) == (7 if flags else layers)
            assert model.max_source_positions == 1024, "taken from the task"
