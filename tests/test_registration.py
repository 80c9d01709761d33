"""``--user-dir`` in all its forms, and what is registered by it."""

import dataclasses
import json
import subprocess
import sys
from argparse import Namespace

import pytest
import saved
import tiny
from fairseq import models, options, tasks, utils

from lev_plugins.fairseq_patches.imports import accept_imported_package
from tests.conftest import ROOT

sys.path.append(str(ROOT / "docs"))
import reference  # noqa: E402

OWN = "lev_plugins."  # modules of ours
# Without fairseq the package is light, and registering says nothing and leaves logging alone; given
# as a relative user directory, twice, and as an absolute one it registers everything once.
LOADER = """
import json, logging, os, sys
from argparse import Namespace
import lev_plugins
assert "fairseq" not in sys.modules and "torch" not in sys.modules
lev_plugins.register()
from fairseq import models, tasks, utils
print(logging.getLogger().level, len(logging.getLogger().handlers))
for place in ("lev_plugins", "lev_plugins", os.path.abspath("lev_plugins")):
    utils.import_user_module(Namespace(user_dir=place))
both = {**tasks.TASK_REGISTRY, **models.ARCH_MODEL_REGISTRY}
print(json.dumps(sorted(n for n, c in both.items() if c.__module__.startswith("lev_plugins."))))
"""


def python(*words: str) -> subprocess.CompletedProcess[str]:
    """Runs code with words."""
    command = [sys.executable, "-c", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)


@pytest.mark.slow
def test_the_package_registers_everything_once_and_says_nothing():
    done = python(LOADER)
    both = {**tasks.TASK_REGISTRY, **models.ARCH_MODEL_REGISTRY}
    here = sorted(name for name, component in both.items() if component.__module__.startswith(OWN))
    assert (done.stdout, done.stderr) == (f"30 0\n{json.dumps(here)}\n", "") and len(here) > 20


LATER = """
import sys
import lev_plugins
assert "fairseq" not in sys.modules
from fairseq.checkpoint_utils import load_model_ensemble_and_task
(model,), *_ = load_model_ensemble_and_task(sys.argv[1:])
print(type(model).__name__)
"""


@pytest.mark.slow
def test_fairseq_that_is_imported_later_loads_models_of_the_package(tmp_path):
    checkpoint = saved.save(tmp_path / "gated.pt", tiny.dictionaries(tmp_path / "data"), "gated")
    done = python(LATER, str(checkpoint))
    assert done.stdout == "GatedTransformerModel\n", done.stderr


def test_a_package_that_is_imported_already_is_the_one_that_is_meant(tmp_path, monkeypatch):
    for name in ("fairseq", "lev_plugins"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "fairseq")
    monkeypatch.setattr(utils, "__file__", str(tmp_path / "fairseq" / "utils.py"))
    monkeypatch.setattr(utils.import_user_module, "memo", set(), raising=False)
    with pytest.raises(ImportError, match="not globally unique"):
        utils.import_user_module(Namespace(user_dir="lev_plugins"))
    accept_imported_package()
    utils.import_user_module(Namespace(user_dir="lev_plugins"))


# what is registered ---------------------------------------------------------------------------

#: flag and name of a component → the options that are its own
FIELDS = {
    (component.flag, component.name): reference.own_fields(component.configuration)
    for component in reference.components()
    if component.configuration is not None
}


def interpolated(field: dataclasses.Field) -> bool:
    """Whether a value is taken from elsewhere (``II``): then a flag would be one too many."""
    return isinstance(field.default, str) and field.default.startswith("${")


def test_every_option_is_one_that_fairseq_understands_and_none_of_its_own():
    """fairseq drops the second flag of a name without a word."""
    parsers = (options.get_training_parser(), options.get_generation_parser(interactive=True))
    stock = {action.dest for parser in parsers for action in parser._actions}
    assert {"seed", "user_dir", "iter_decode_max_iter"} <= stock and len(FIELDS) > 15
    for (flag, name), fields in FIELDS.items():
        for field in fields:
            where, explained = f"{flag} {name}: {field.name}", field.metadata.get("help", "")
            if interpolated(field):
                assert not explained, f"{where}: a help would show a flag that clashes"
            else:
                assert len(explained) > 10 and field.default is not True, where
                assert flag == "--scoring" or field.name not in stock, where
            text = str(field.type)
            assert not isinstance(field.type, str) and "|" not in text, where
            assert not text.startswith(("list[", "dict[", "tuple[")), where


def test_an_architecture_sets_the_sizes_that_the_user_does_not():
    """Those of all stand in user_dir.md, which tests/test_docs.py compares."""
    for arch, kind in models.ARCH_MODEL_REGISTRY.items():
        if kind.__module__.startswith(OWN):
            args = Namespace(decoder_layers=7, encoder_embed_dim=64)
            models.ARCH_CONFIG_REGISTRY[arch](args)
            assert (args.decoder_layers, args.encoder_embed_dim) == (7, 64), arch
            assert arch != "levenshtein_editor_char" or args.encoder_layers == 2
