"""Hooks of models, tasks, optimizers and learning rates, called when a training begins."""

from typing import Any, NamedTuple

from fairseq.models import ARCH_MODEL_REGISTRY


class Start(NamedTuple):
    """The checkpoint that a training begins with.

    path: its file. state: what it holds, of which fairseq takes over what is left. model: of the
    training. finetuned: it is that of ``--finetune-from-model``, of which only parameters count.
    """

    path: str
    state: dict[str, Any]
    model: Any
    finetuned: bool


class TrainingHooks:
    """A component that derives from this is asked when a training begins; each hook does nothing.

    In the order in which they are called; the class methods before the component is built.
    """

    @classmethod
    def resolve_config(cls, cfg: Any) -> None:
        """Completes a model's settings by what it reads elsewhere, such as the sizes of a backbone.

        Called before fairseq makes anything of them, and keeps them.
        """

    @classmethod
    def check_training(cls, cfg: Any) -> None:
        """Refuses settings of a training that cannot work together.

        Called before data are read and anything is built.
        """

    @classmethod
    def prepare_model(cls, model: Any) -> None:
        """Shows an optimizer, which is told of parameters only, the layers they belong to."""

    @classmethod
    def check_resumed(cls, cfg: Any, stored: Any, path: str) -> None:
        """Refuses to resume with other settings of a model or task that no parameter shows.

        Args:
            cfg: its settings; ``stored``: those in the checkpoint at ``path``.

        Raises:
            UserError: they contradict each other.
        """

    def begin_from(self, start: Start) -> None:
        """Takes over, or changes, what the checkpoint holds; of a model or task."""

    def begin_training(self, trainer: Any) -> None:
        """Begins a learning rate: the checkpoint is read, updates follow."""

    def agree(self, seconds: float) -> None:
        """Tells a learning rate after each update how long the processes trained, on average."""


_NO_HOOKS = TrainingHooks()


def hooks_of(component: Any) -> Any:
    """Returns a component, or its class, as :class:`TrainingHooks`, or hooks that do nothing."""
    kind = component if isinstance(component, type) else type(component)
    return component if issubclass(kind, TrainingHooks) else _NO_HOOKS


def model_class(cfg: Any) -> Any:
    """Returns the class of a model by its settings, or None."""
    return ARCH_MODEL_REGISTRY.get(getattr(cfg, "_name", None) or getattr(cfg, "arch", None))
