"""A user directory for tests: the plug-in, in a process that notes what each update is made with.

RATES is a file: a line a JSON list of updates, share of the time, and learning rate.
SLOW is seconds that this process, and no other, waits before every update.
"""

import json
import os
import time
from typing import Any

from fairseq.trainer import Trainer

import lev_plugins  # noqa: F401  (registers everything)

train_step = Trainer.train_step


def noting(self: Trainer, *arguments: Any, **options: Any) -> Any:
    """A step, with its line."""
    time.sleep(float(os.environ.get("SLOW", "0")))
    share = getattr(self.optimizer, "time_share", None)
    with open(os.environ["RATES"], "a") as file:
        file.write(json.dumps([self.get_num_updates(), share, self.get_lr()]) + "\n")
    return train_step(self, *arguments, **options)


if "RATES" in os.environ:
    Trainer.train_step = noting
