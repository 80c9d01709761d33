"""What fairseq's progress bars show."""

from collections.abc import Mapping

from ..io.patching import Stock, patches


def hide_private_stats() -> None:
    """Keep what metrics are made of out of progress bars, as fairseq keeps it out of meters.

    Fault: fairseq-validate shows the whole logging output of a batch while it runs (on a terminal
    after each batch, else every ``--log-interval``): of a regression 1607 numbers a line. What
    begins with ``_`` is hidden by the meters, not here.
    """
    from fairseq.logging.progress_bar import BaseProgressBar, JsonProgressBar

    for bar in (BaseProgressBar, JsonProgressBar):

        @patches(bar, "_format_stats")
        def format_stats(
            stock: Stock,
            self: BaseProgressBar,
            stats: Mapping[str, object],
            *args: object,
            **options: object,
        ) -> object:
            """fairseq's, without names that begin with ``_``."""
            shown = {name: value for name, value in stats.items() if not name.startswith("_")}
            return stock(self, shown, *args, **options)
