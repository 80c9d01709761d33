"""What is typed becomes numbers."""

import tiny

from lev_plugins.inference.generation import numbered


def test_symbols_that_are_typed_are_unknown_and_words_are_themselves():
    dictionary = tiny.dictionary()
    first = dictionary[dictionary.nspecial]
    numbers = numbered([first, "</s>", "not there"], dictionary).tolist()
    assert numbers == [dictionary.nspecial, dictionary.unk(), dictionary.unk(), dictionary.eos()]
