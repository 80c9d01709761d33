"""The former name of :mod:`lev_correct`, for one version."""

import warnings

from lev_correct.corrector import Correction, Corrector, Edit

__all__ = ["Correction", "Corrector", "Edit"]
warnings.warn("write lev_correct, not lev_plugins.corrector", FutureWarning, 2)
