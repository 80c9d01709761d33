"""The symbols of binarised sentence pairs."""

from collections.abc import Iterator

import numpy as np
from fairseq.data import Dictionary, data_utils

from lev_runtime.errors import UserError

from .binarization import dictionary_path


class BinarizedPairs:
    """Sources and targets of the training part in a folder of fairseq-preprocess.

    The symbols of both sides are numbered together: as in their dictionary, or, where there are
    two, the target's after the source's.

    Raises:
        UserError: there are no such data, or no symbols in them.
    """

    def __init__(self, folder: str) -> None:
        try:
            source, target = data_utils.infer_language_pair(folder)
        except OSError:
            source = None
        if not source:
            raise UserError(f"{folder}: no data of two languages; run fairseq-preprocess first")
        self.languages = source, target
        self.sides = []
        for language in self.languages:
            path = f"{folder}/train.{source}-{target}.{language}"
            try:
                dictionary = Dictionary.load(dictionary_path(folder, language))
                side = data_utils.load_indexed_dataset(path, dictionary)
            except (FileNotFoundError, ValueError):  # numpy's of an empty file
                side = None
            if side is None:
                raise UserError(f"{path}: no training data; run fairseq-preprocess first")
            self.sides.append((dictionary, side))
        (source_symbols, _), (target_symbols, _) = self.sides
        self.is_joined = source_symbols == target_symbols
        self.size = len(source_symbols) + (0 if self.is_joined else len(target_symbols))

    def dictionaries(self) -> Iterator[tuple[int, Dictionary]]:
        """Yields each, once, and the number of its first symbol."""
        (source, _), (target, _) = self.sides
        yield 0, source
        if not self.is_joined:
            yield len(source), target

    def symbols(self, most: int) -> list[np.ndarray]:
        """Returns the symbols of each pair, each once and without special ones.

        most: pairs at most, evenly spaced.
        """
        (source, sources), (target, targets) = self.sides
        offset = 0 if self.is_joined else len(source)
        count = min(len(sources), len(targets))
        step = max(-(-count // most), 1)
        pairs = []
        for number in range(0, count, step):
            before, after = sources[number].numpy(), targets[number].numpy()
            before = before[before >= source.nspecial]
            after = after[after >= target.nspecial]
            pairs.append(np.unique(np.concatenate([before, after + offset])))
        if not any(map(len, pairs)):
            raise UserError("the training data have no symbols: all lines are empty or unknown")
        return pairs
