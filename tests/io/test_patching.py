"""Functions of fairseq that are replaced: by ones that take whatever fairseq's own take."""

import inspect
import sys
from collections.abc import Iterator
from types import FunctionType, SimpleNamespace

import fairseq_cli.train
import pytest

from lev_plugins.fairseq_patches import trainings
from lev_plugins.io.patching import patches


def replaced(function: object) -> Iterator[FunctionType]:
    """The replacements that a call of ``function`` passes, the last one first."""
    function = getattr(function, "__func__", function)
    while isinstance(function, FunctionType) and hasattr(function, "__wrapped__"):
        if function.__code__ is PATCHED:
            yield function
        function = function.__wrapped__


PATCHED = patches(SimpleNamespace(name=len), "name")(lambda stock, x: stock(x)).__code__


@pytest.fixture
def replacements(monkeypatch) -> dict[str, FunctionType]:
    """All that are in force while a training runs."""
    stock = fairseq_cli.train.validate_and_save
    monkeypatch.setattr(fairseq_cli.train, "validate_and_save", stock)  # as it was, afterwards
    trainings.save_on_signals(fairseq_cli.train)
    with trainings.watched(spawns=False):  # which ends the handling of signals
        pass
    modules = [module for name, module in sys.modules.items() if name.startswith("fairseq")]
    classes = [one for module in modules for one in vars(module).values() if inspect.isclass(one)]
    return {
        f"{owner.__name__}.{name} {count}": found
        for owner in (*modules, *classes)
        for name, value in list(vars(owner).items())
        for count, found in enumerate(replaced(value))
    }


def test_a_replacement_takes_what_fairseqs_own_takes_by_place_and_by_name(replacements):
    assert "fairseq_cli.train.validate_and_save 0" in replacements
    for name, function in replacements.items():
        ours = inspect.signature(inspect.getclosurevars(function).nonlocals["function"])
        theirs = inspect.signature(function).parameters.values()  # those of the original
        named = [one.name for one in theirs if one.kind is one.POSITIONAL_OR_KEYWORD]
        only_named = {one.name: one.name for one in theirs if one.kind is one.KEYWORD_ONLY}
        owner = named[: named[:1] == ["self"]]
        try:
            ours.bind("stock", *named, **only_named)
            ours.bind("stock", *owner, **{one: one for one in named[len(owner) :]}, **only_named)
        except TypeError as error:
            pytest.fail(f"{name}{ours}: {error}, as fairseq's {inspect.signature(function)} can")


def test_a_replacement_gets_the_original_and_stands_for_it():
    class Owner:
        @staticmethod
        def double(x: int) -> int:
            return 2 * x

    stock = Owner.double
    stock.mark = "kept"

    @patches(Owner, "double")
    def more(stock, x):
        """Ours."""
        return stock(x) + 1

    assert Owner().double(3) == Owner.double(x=3) == 7
    assert (Owner.double, Owner.double.__wrapped__) == (more, stock)
    assert (more.mark, more.__doc__, more.__name__) == ("kept", None, "double")
