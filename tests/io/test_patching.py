"""Functions of fairseq that are replaced."""

from lev_plugins.io.patching import patches


def test_a_replacement_gets_the_original_and_stands_for_it():
    class Owner:
        @staticmethod
        def double(x: int) -> int:
            return 2 * x

    stock = Owner.double
    stock.mark = "kept"
    more = patches(Owner, "double")(lambda stock, x: stock(x) + 1)
    assert Owner().double(3) == Owner.double(x=3) == 7
    assert (Owner.double, Owner.double.__wrapped__) == (more, stock)
    assert (more.mark, more.__name__) == ("kept", "double")
