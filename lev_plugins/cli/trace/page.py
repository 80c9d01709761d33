"""Edits as one HTML page that needs nothing else: no script, font, image or network.

The page follows the reader's light or dark setting and tells deletions from insertions by line as
well as by colour: struck red, underlined blue. Printed, it shows folded histories too, where the
browser knows ``::details-content`` (those of 2025 do); others print them as they are on the screen.
"""

from collections.abc import Sequence
from html import escape

from ...generators.history import EditTrace
from ..output import printable
from .render import (
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

_STYLE = """
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #ffffff; --line: #dfe3e8; --text: #1b1f24; --soft: #5b6570;
  --del: #a3201b; --del-back: #fde4e1; --ins: #0b4f9c; --ins-back: #dcebfd;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171b; --card: #1d2126; --line: #343a42; --text: #e8eaed; --soft: #a0a9b4;
    --del: #ffaca3; --del-back: #54211d; --ins: #a5cfff; --ins-back: #153d6b;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 2rem 1.25rem 3rem; max-width: 60rem;
  background: var(--page); color: var(--text);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
h1 { margin: 0 0 1rem; font-size: 1.6rem; line-height: 1.25; overflow-wrap: anywhere; }
.summary { display: flex; flex-wrap: wrap; gap: .75rem; margin: 0 0 1rem; padding: 0; }
.summary div {
  flex: 1 1 8rem; padding: .6rem .9rem; background: var(--card);
  border: 1px solid var(--line); border-radius: .5rem;
}
.summary dt { color: var(--soft); font-size: .85rem; }
.summary dd { margin: 0; font-size: 1.5rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.legend { margin: 0 0 1.5rem; color: var(--soft); font-size: .9rem; }
article {
  margin: 0 0 1rem; padding: 1rem 1.25rem; background: var(--card);
  border: 1px solid var(--line); border-radius: .5rem;
}
h2 { margin: 0 0 .5rem; font-size: .85rem; font-weight: 600; color: var(--soft); }
.row {
  display: grid; grid-template-columns: 6.5rem minmax(0, 1fr); gap: 0 1rem; padding: .12rem 0;
}
.label, .note, summary { color: var(--soft); font-size: .85rem; }
.label { padding-top: .15rem; }
.note { padding-top: .15rem; font-style: italic; }
.tokens { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; text-align: start; }
.main .tokens { font-size: 1.15rem; }
del, ins {
  border-radius: .15em; -webkit-box-decoration-break: clone; box-decoration-break: clone;
}
del {
  color: var(--del); background: var(--del-back);
  text-decoration: line-through; text-decoration-thickness: .1em;
}
ins {
  color: var(--ins); background: var(--ins-back); font-weight: 600;
  text-decoration: underline; text-decoration-thickness: .1em; text-underline-offset: .18em;
}
/* What a screen reader says around a mark; nobody sees it. */
del::before, del::after, ins::before, ins::after {
  position: absolute; width: 1px; height: 1px; overflow: hidden;
  clip-path: inset(100%); white-space: nowrap;
}
del::before { content: " [deleted: "; }
ins::before { content: " [inserted: "; }
del::after, ins::after { content: "] "; }
details { margin-top: .5rem; padding-top: .5rem; border-top: 1px solid var(--line); }
summary { cursor: pointer; }
ol { margin: 0; padding: 0; list-style: none; }
li { padding: .4rem 0 .2rem; }
h3 { margin: 0; font-size: .85rem; font-weight: 600; }
@media (max-width: 34rem) {
  .row { grid-template-columns: minmax(0, 1fr); padding: .2rem 0; }
}
@media print {
  :root {
    color-scheme: light; --page: #ffffff; --card: #ffffff; --line: #b8bec6;
    --text: #000000; --soft: #444b53;
    --del: #a3201b; --del-back: #fde4e1; --ins: #0b4f9c; --ins-back: #dcebfd;
  }
  body { max-width: none; padding: 0; font-size: 10.5pt; }
  article, .summary div { break-inside: avoid; }
  del, ins { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  details::details-content { content-visibility: visible; block-size: auto; }
}
"""

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header>
<h1 dir="auto">{title}</h1>
{summary}
<p class="legend">Marks: <del>deleted</del> and <ins>inserted</ins>. An iteration deletes tokens,
then inserts new ones.</p>
</header>
<main>
{articles}
</main>
</body>
</html>
"""


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
    return _PAGE.format(
        title=_text(title),
        style=_STYLE,
        summary=_summary(traces),
        articles="\n".join(articles) or "<p>There are no sentences.</p>",
    )


def _text(text: str) -> str:
    return escape(printable(text), quote=True)


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
    tiles = "\n".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts)
    return f'<dl class="summary">\n{tiles}\n</dl>'


def _article(trace: EditTrace, number: int, *, joiner: str | None, unfolded: bool) -> str:
    glue = choose_joiner(trace) if joiner is None else joiner
    steps = shown_iterations(trace)
    parts = ["<article>", f"<h2>Sentence {number}</h2>", _row("source", _line(_text(trace.source)))]
    if trace.draft is not None:
        parts.append(_row("draft", _line(_text(trace.draft))))
    if shows_net(trace):
        parts.append(_row("edits", _marked(merged_view(trace.net()), glue), main=True))
    parts.append(_row("output", _line(_text(trace.text)), main=True))
    count = f"{trace.steps} iteration{'' if trace.steps == 1 else 's'}"
    parts.append(f"<details{' open' if unfolded else ''}>")
    ending = f"{count}, then {ENDINGS[trace.terminated]}; score {trace.score:.4f}"
    parts.append(f"<summary>{ending}</summary>")
    parts.append("<ol>")
    for position, step in enumerate(steps, start=1):
        parts.append(f"<li><h3>Iteration {position}</h3>")
        parts.append(
            _row("delete", _note("nothing to delete"))
            if step.nothing_deleted
            else _row("delete", _marked(deletion_view(step), glue))
        )
        parts.append(
            _row("insert", _note("nothing to insert"))
            if step.nothing_inserted
            else _row("insert", _marked(insertion_view(step), glue))
        )
        parts.append("</li>")
    parts.append("</ol>\n</details>\n</article>")
    return "\n".join(parts)


def _row(label: str, content: str, *, main: bool = False) -> str:
    kind = "row main" if main else "row"
    return f'<div class="{kind}"><span class="label">{label}</span>{content}</div>'


def _note(text: str) -> str:
    return f'<span class="note">{text}</span>'


def _line(content: str) -> str:
    # The language of the text is unknown, and no browser should offer to translate it.
    if not content:
        return _note("empty")
    return f'<p class="tokens" dir="auto" lang="" translate="no">{content}</p>'


def _marked(tokens: list[MarkedToken], joiner: str) -> str:
    elements = {"kept": "{}", "deleted": "<del>{}</del>", "inserted": "<ins>{}</ins>"}
    pieces = [elements[mark].format(_text(text)) for mark, text in runs(tokens, joiner)]
    return _line(_text(joiner).join(pieces))
