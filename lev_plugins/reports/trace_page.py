"""Edits as one HTML page that needs nothing else: no script, font, image or network.

The page follows the reader's light or dark setting and tells deletions from insertions by line as
well as by colour: struck red, underlined blue. Printed, it shows folded histories too, where the
browser knows ``::details-content`` (those of 2025 do); others print them as they are on the screen.
"""

from collections.abc import Sequence

from ..systems.levenshtein.decoding.history import EditTrace
from .page import (
    EDIT_COLORS,
    EDIT_RULES,
    make_style,
    note,
    render_page,
    row,
    text,
    tiles,
    tokens_line,
)
from .trace_text import (
    ENDINGS,
    MarkedToken,
    choose_joiner,
    deletion_view,
    insertion_view,
    merged_view,
    runs,
    shown_iterations,
    shows_net,
)

# Up to so many sentences, every history is shown unfolded.
FEW_SENTENCES = 10

_STYLE = make_style(
    light=EDIT_COLORS[0],
    dark=EDIT_COLORS[1],
    rules=EDIT_RULES
    + """
details { margin-top: .5rem; padding-top: .5rem; border-top: 1px solid var(--line); }
summary { cursor: pointer; }
ol { margin: 0; padding: 0; list-style: none; }
li { padding: .4rem 0 .2rem; }
h3 { margin: 0; font-size: .85rem; font-weight: 600; }
""",
    print_rules="""
  del, ins { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  details::details-content { content-visibility: visible; block-size: auto; }
""",
)

_LEGEND = """Marks: <del>deleted</del> and <ins>inserted</ins>. An iteration deletes tokens,
then inserts new ones."""


def render_html(traces: Sequence[EditTrace], title: str, *, joiner: str | None = None) -> str:
    """Return the page for ``traces``, in their order.

    Args:
        traces: the sentences; may be empty.
        title: shown at the top and as the page's name.
        joiner: what stands between tokens; None: see :func:`.render.choose_joiner`.
    """
    unfolded = len(traces) <= FEW_SENTENCES
    articles = (
        _article(trace, number, joiner=joiner, unfolded=unfolded)
        for number, trace in enumerate(traces, start=1)
    )
    return render_page(title, _STYLE, _summary(traces), _LEGEND, list(articles))


def _summary(traces: Sequence[EditTrace]) -> str:
    nets = [trace.net() for trace in traces]
    changed = sum(net.changed for net in nets)
    facts = [
        ("sentences", f"{len(traces):,}"),
        ("changed", f"{100 * changed / len(traces):.1f} %" if traces else "–"),
        (
            "iterations on average",
            f"{sum(trace.steps for trace in traces) / len(traces):.2f}" if traces else "–",
        ),
        ("tokens deleted", f"{sum(sum(net.deleted) for net in nets):,}"),
        ("tokens inserted", f"{sum(sum(net.inserted) for net in nets):,}"),
    ]
    return tiles(facts)


def _article(trace: EditTrace, number: int, *, joiner: str | None, unfolded: bool) -> str:
    glue = choose_joiner(trace) if joiner is None else joiner
    steps = shown_iterations(trace)
    parts = [
        "<article>",
        f"<h2>Sentence {number}</h2>",
        row("source", tokens_line(text(trace.source))),
    ]
    if trace.draft is not None:
        parts.append(row("draft", tokens_line(text(trace.draft))))
    if shows_net(trace):
        parts.append(row("edits", _marked(merged_view(trace.net()), glue), main=True))
    parts.append(row("output", tokens_line(text(trace.text)), main=True))
    count = f"{trace.steps} iteration{'' if trace.steps == 1 else 's'}"
    parts.append(f"<details{' open' if unfolded else ''}>")
    ending = f"{count}, then {ENDINGS[trace.terminated]}; score {trace.score:.4f}"
    parts.append(f"<summary>{ending}</summary>")
    parts.append("<ol>")
    for position, step in enumerate(steps, start=1):
        parts.append(f"<li><h3>Iteration {position}</h3>")
        parts.append(
            row("delete", note("nothing to delete"))
            if step.nothing_deleted
            else row("delete", _marked(deletion_view(step), glue))
        )
        parts.append(
            row("insert", note("nothing to insert"))
            if step.nothing_inserted
            else row("insert", _marked(insertion_view(step), glue))
        )
        parts.append("</li>")
    parts.append("</ol>\n</details>\n</article>")
    return "\n".join(parts)


def _marked(tokens: list[MarkedToken], joiner: str) -> str:
    elements = {"kept": "{}", "deleted": "<del>{}</del>", "inserted": "<ins>{}</ins>"}
    pieces = [elements[mark].format(text(run)) for mark, run in runs(tokens, joiner)]
    return tokens_line(text(joiner).join(pieces))
