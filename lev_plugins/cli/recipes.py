"""Recipes of trainings, and the commands that are made of them.

A recipe is a YAML file in ``lev_plugins/recipes``, which fairseq-hydra-train takes as it is. The
commands of README, guides and ``next:`` have the same options (``tests/test_docs.py``).
"""

from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "recipes"
#: of an option that has to be given
MISSING = "???"
#: section of a recipe → the flag that names its component
COMPONENT_FLAGS = {
    "task": "--task",
    "bpe": "--bpe",
    "model": "--arch",
    "criterion": "--criterion",
    "optimizer": "--optimizer",
    "lr_scheduler": "--lr-scheduler",
}

#: section → option → value
Recipe = dict[str, dict[str, Any]]


def read_recipe(name: str) -> Recipe:
    """The recipe in a file of :data:`FOLDER`."""
    import yaml

    text = (FOLDER / f"{name}.yaml").read_text("utf-8")
    recipe: Recipe = yaml.safe_load(text)
    return recipe


def command_flags(recipe: Recipe) -> list[str]:
    """The words by which fairseq-train gets a recipe's options, but for those that are missing."""
    words = []
    for section, options in recipe.items():
        for name, value in options.items():
            flag = f"--{name.replace('_', '-')}"
            if name == "_name":
                flag = COMPONENT_FLAGS[section]
            if value is True:
                words.append(flag)
            elif value is not None and value is not False and value != MISSING:
                words += [flag, _written(value)]
    return words


def _written(value: Any) -> str:
    """A value as it is typed: ``[0.004]`` is 0.004, ``1.0`` is 1."""
    if isinstance(value, list):
        return ",".join(map(_written, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
