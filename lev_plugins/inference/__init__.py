"""Models loaded to be used: the editor, the corrector, EncT5, and what finds their checkpoints."""

from ..registration import register

register()
