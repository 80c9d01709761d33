"""A pre-trained model's folder as EncT5 needs it, whichever kind of model it holds."""

from collections.abc import Sequence
from typing import ClassVar

from torch import nn

from ...errors import UserError
from ...pretrained import Directory
from .config import EncT5Config
from .network import LatentDecoder


class EncoderDirectory:
    """A local Hugging Face folder with an encoder.

    Args:
        path: of the folder.

    Raises:
        UserError: it lacks something, or holds another kind of model.
    """

    #: the option that names the folder, and the kinds of models that it takes
    OPTION: ClassVar[str]
    TYPES: ClassVar[Sequence[str]]

    def __init__(self, path: str) -> None:
        self.place = Directory(path)
        if self.place.config.kind not in self.TYPES:
            raise UserError(
                f"{path}: model_type is {self.place.config.kind!r}; {self.OPTION} takes "
                f"{' and '.join(self.TYPES)}"
            )

    def sizes(self) -> dict[str, int | float | str]:
        """Its sizes, as a model's settings name them."""
        raise NotImplementedError

    def pieces(self) -> list[str]:
        """The vocabulary: padding, ``</s>`` and ``<unk>``, then all others in their order.

        Raises:
            UserError: it cannot be read, or is not as it should be.
        """
        raise NotImplementedError

    def fill(self, table: nn.Embedding, encoder: nn.Module, decoder: LatentDecoder | None) -> None:
        """Puts the weights in; the decoder's latents stay as they were initialised.

        Args:
            table: of the subwords.
            decoder: None where its blocks stay as well.
        """
        raise NotImplementedError

    def settle(self, cfg: EncT5Config) -> None:
        """Puts the sizes into a model's settings, whatever these said."""
        for name, value in self.sizes().items():
            setattr(cfg, name, value)

    def settled(self, cfg: EncT5Config) -> bool:
        """Whether a model's settings have its sizes."""
        return all(str(getattr(cfg, name)) == str(size) for name, size in self.sizes().items())

    def check_pieces(self, symbols: Sequence[str]) -> None:
        """That data were prepared with this vocabulary.

        Raises:
            UserError: they were not.
        """
        pieces = self.pieces()
        if list(symbols) == pieces:
            return
        at = next((i for i, (a, b) in enumerate(zip(symbols, pieces)) if a != b), None)
        how = (
            f"{len(symbols)} subwords, not {len(pieces)}"
            if at is None
            else f"subword {at} is {symbols[at]!r}, not {pieces[at]!r}"
        )
        raise UserError(
            f"{self.place.path}: the data were prepared with another vocabulary ({how}); "
            f"prepare them with lev-enct5-prepare {self.OPTION} of the same "
            "folder"
        )
