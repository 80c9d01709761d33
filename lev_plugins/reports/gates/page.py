"""Gates as a page of heat maps (paper, Figure 4): the darker a token, the higher the probability.

The scale runs from light to dark in one hue, which the colour-blind and a black-and-white printer
can tell apart; where there is room the number stands below the token.
"""

from collections.abc import Sequence

from ..page import make_style, note, render_page, row, text, tiles
from .record import GATES, Record
from .scale import SHADES, Scale, gate_scales
from .words import Piece, pieces, subword_marks

# Of shorter tokens the numbers would stand further apart than the letters can be read.
_WIDE_TOKEN = 2.0

_CELLS = "\n".join(
    f".c{i} {{ background: {back}; color: {front}; }}" for i, (back, front) in enumerate(SHADES)
)
_STYLE = make_style(
    rules=f"""
.heat {{
  display: flex; flex-wrap: wrap; gap: .2rem .35em; margin: 0 0 .3rem;
}}
.word {{ display: inline-flex; }}
.cell {{
  display: inline-flex; flex-direction: column; align-items: center; padding: .05em .22em;
  white-space: pre; border: 1px solid var(--line); border-width: 1px 0;
}}
.word .cell:first-child {{ border-left-width: 1px; border-radius: .2em 0 0 .2em; }}
.word .cell:last-child {{ border-right-width: 1px; border-radius: 0 .2em .2em 0; }}
.word .cell:only-child {{ border-radius: .2em; }}
.dense .cell {{ padding: .05em .1em; min-width: .8em; }}
.dense .cell i {{ display: none; }}
.cell i {{ font-size: .62em; font-style: normal; font-variant-numeric: tabular-nums; }}
.end {{ font-style: italic; }}
.scale {{ display: inline-flex; vertical-align: middle; margin: 0 .4em; }}
.scale span {{ width: 1.3em; height: 1em; border: 1px solid var(--line); border-width: 1px 0; }}
{_CELLS}
""",
    print_rules="""
  .cell, .scale span { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
""",
)


def render_html(records: Sequence[Record], title: str, scale: str = "data") -> str:
    """Return the page for ``records``, in their order.

    Args:
        title: shown at the top and as the page's name.
        scale: as :func:`.scale.gate_scales` takes it.
    """
    scales = gate_scales(records, scale)
    marks = subword_marks([t for one in records for t in (*one.source_tokens, *one.target_tokens)])
    articles = [_article(one, marks, scales) for one in records]
    return render_page(title, _STYLE, _summary(records), _legend(scales), articles, kind="div")


def _summary(records: Sequence[Record]) -> str:
    facts = [("lines", f"{len(records):,}")]
    for name in GATES:
        values = [value for one in records for value in one.gate(name) or []]
        if values:
            facts.append((f"{name}, mean", f"{sum(values) / len(values):.3f}"))
    return tiles(facts)


def _legend(scales: dict[str, Scale]) -> str:
    """One line for each scale that is in use."""
    groups: dict[tuple[float, float], list[str]] = {}
    for name, scale in scales.items():
        groups.setdefault((scale.low, scale.high), []).append(name)
    bar = "".join(f'<span class="c{i}"></span>' for i in range(len(SHADES)))
    lines = [
        f'<p>{", ".join(names)}: {low:.2f}<span class="scale">{bar}</span>{high:.2f}</p>'
        for (low, high), names in groups.items()
    ]
    what = (
        "<p>Probability of each token; with room for them, in percent below it. "
        "<i>mask</i>: the source token looks wrong and is hidden. <i>copy</i>, "
        "<i>generate</i>, <i>skip</i>: what was done to write the target token.</p>"
    )
    return what + "\n" + "\n".join(lines)


def _article(record: Record, marks: str, scales: dict[str, Scale]) -> str:
    given = "the target was given" if record.forced else "the target is the model's own"
    parts = [f"<article>\n<h2>Line {record.line}: {given}</h2>"]
    for name in GATES:
        values = record.gate(name)
        tokens = record.source_tokens if name == "mask" else record.target_tokens
        if values is not None:
            shown = pieces(tokens, marks)
            parts.append(row(f"{name}", _heat(shown, values, scales[name])))
    if record.mask is None:
        parts.insert(1, row("source", _plain(record.source)))
    if len(parts) == 2 and record.mask is not None:  # no gate of the decoder is on
        parts.append(row("target", _plain(record.target)))
    return "\n".join([*parts, "</article>"])


def _plain(line: str) -> str:
    shown = f'<p class="tokens" dir="auto" lang="" translate="no">{text(line)}</p>'
    return shown if line else note("empty")


def _heat(shown: Sequence[Piece], values: Sequence[float], scale: Scale) -> str:
    """Tokens as cells, those of a word side by side."""
    body = shown[:-1]
    width = sum(len(piece.text) for piece in body) / max(len(body), 1)
    words: list[str] = []
    for place, (piece, value) in enumerate(zip(shown, values)):
        end = " end" if place == len(shown) - 1 else ""
        cell = (
            f'<span class="cell c{scale.shade(value)}{end}" title="{value:.4f}">'
            f"<b>{text(piece.text)}</b><i>{100 * value:.0f}</i></span>"
        )
        if piece.starts or not words:
            words.append(cell)
        else:
            words[-1] += cell
    dense = " dense" if width < _WIDE_TOKEN else ""
    inner = "\n".join(f'<span class="word">{word}</span>' for word in words)
    return f'<div class="heat{dense}" dir="auto" lang="" translate="no">\n{inner}\n</div>'
