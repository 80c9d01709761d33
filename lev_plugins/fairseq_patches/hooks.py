"""What models, tasks, optimizers and learning rates take part in when a training begins."""

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
        """Of a model: write into its settings what it reads elsewhere, the sizes of a backbone say.

        Called before fairseq makes anything of them, and keeps them.
        """

    @classmethod
    def check_training(cls, cfg: Any) -> None:
        """Of any component: refuse settings of a training that cannot work together.

        Called before data are read and anything is built.
        """

    @classmethod
    def prepare_model(cls, model: Any) -> None:
        """Of an optimizer, which is told of parameters only: look at the layers they belong to."""

    @classmethod
    def check_resumed(cls, cfg: Any, stored: Any, path: str) -> None:
        """Of a model or a task: refuse to go on from other settings that no parameter shows.

        Args:
            cfg: its settings; ``stored``: those in the checkpoint at ``path``.

        Raises:
            UserError: they contradict each other.
        """

    def begin_from(self, start: Start) -> None:
        """Of a model or a task: take over, or change, what the checkpoint holds."""

    def begin_training(self, trainer: Any) -> None:
        """Of a learning rate: the checkpoint is read, updates follow."""

    def agree(self, seconds: float) -> None:
        """Of a learning rate: so long have the processes trained, on average; after each update."""


_NO_HOOKS = TrainingHooks()


def hooks_of(component: Any) -> Any:
    """A component, or its class, as :class:`TrainingHooks`; of one that has none all do nothing."""
    kind = component if isinstance(component, type) else type(component)
    return component if issubclass(kind, TrainingHooks) else _NO_HOOKS


def model_class(cfg: Any) -> Any:
    """The class of a model by its settings; None where there is none."""
    return ARCH_MODEL_REGISTRY.get(getattr(cfg, "_name", None) or getattr(cfg, "arch", None))
