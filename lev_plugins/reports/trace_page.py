"""Edits as one HTML page that needs nothing else: no script, font, image or network.

The page follows the reader's light or dark setting and tells deletions from insertions by line as
well as by colour: struck red, underlined blue. Printed, it shows folded histories too, where the
browser knows ``::details-content`` (those of 2025 do); others print them as they are on the screen.
"""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from ..systems.levenshtein.decoding.history import EditTrace
from .page import markup, render
from .trace_text import (
    ENDINGS,
    MarkedToken,
    choose_joiner,
    deletion_view,
    insertion_view,
    runs,
    shown_iterations,
    shows_net,
)

# Up to so many sentences, every history is shown unfolded.
FEW_SENTENCES = 10


def render_html(traces: Sequence[EditTrace], title: str) -> str:
    """The page for ``traces``, in their order."""
    return render(
        "trace.html",
        title=title,
        facts=_facts(traces),
        sentences=[_sentence(trace) for trace in traces],
        unfolded=len(traces) <= FEW_SENTENCES,
    )


def _facts(traces: Sequence[EditTrace]) -> list[tuple[str, str]]:
    nets = [trace.net() for trace in traces]
    count = len(traces)
    changed = sum(net.changed for net in nets)
    steps = sum(trace.steps for trace in traces)
    return [
        ("sentences", f"{count:,}"),
        ("changed", f"{100 * changed / count:.1f} %" if count else "–"),
        ("iterations on average", f"{steps / count:.2f}" if count else "–"),
        ("tokens deleted", f"{sum(sum(net.deleted) for net in nets):,}"),
        ("tokens inserted", f"{sum(sum(net.inserted) for net in nets):,}"),
    ]


def _sentence(trace: EditTrace) -> dict[str, Any]:
    """What the template shows of a trace; None for a phase in which nothing happened."""
    glue = choose_joiner(trace)
    iterations = [
        (
            None if step.nothing_deleted else _marked(deletion_view(step), glue),
            None if step.nothing_inserted else _marked(insertion_view(step), glue),
        )
        for step in shown_iterations(trace)
    ]
    net = _marked(trace.net().merged(), glue) if shows_net(trace) else None
    ending = ENDINGS[trace.terminated]
    return {"trace": trace, "net": net, "iterations": iterations, "ending": ending}


def _marked(tokens: list[MarkedToken], joiner: str) -> Markup:
    elements = {"kept": "{}", "deleted": "<del>{}</del>", "inserted": "<ins>{}</ins>"}
    shown = [Markup(elements[mark]).format(markup(run)) for mark, run in runs(tokens, joiner)]
    return markup(joiner).join(shown)
