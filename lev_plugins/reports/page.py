"""One HTML page that needs nothing else: no script, font, image or network.

What is shown differs by command; the frame, its colours in light, dark and print, and the escaping
of text are here.
"""

from collections.abc import Sequence

from ..html import text as text

_LIGHT = "--page: #f6f7f9; --card: #ffffff; --line: #dfe3e8; --text: #1b1f24; --soft: #5b6570;"
_DARK = "--page: #14171b; --card: #1d2126; --line: #343a42; --text: #e8eaed; --soft: #a0a9b4;"
_PRINT = "--page: #ffffff; --card: #ffffff; --line: #b8bec6; --text: #000000; --soft: #444b53;"

_STYLE = """
:root {
  color-scheme: light dark;
  @LIGHT@
}
@media (prefers-color-scheme: dark) {
  :root {
    @DARK@
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
@RULES@
@media (max-width: 34rem) {
  .row { grid-template-columns: minmax(0, 1fr); padding: .2rem 0; }
}
@media print {
  :root {
    color-scheme: light; @PRINT@
  }
  body { max-width: none; padding: 0; font-size: 10.5pt; }
  article, .summary div { break-inside: avoid; }
  @PRINT_RULES@
}
"""

#: Colours of deletions and insertions, on light and on dark, and how both are shown.
EDIT_COLORS = (
    "--del: #a3201b; --del-back: #fde4e1; --ins: #0b4f9c; --ins-back: #dcebfd;",
    "--del: #ffaca3; --del-back: #54211d; --ins: #a5cfff; --ins-back: #153d6b;",
)
EDIT_RULES = """
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
<{kind} class="legend">{legend}</{kind}>
</header>
<main>
{articles}
</main>
</body>
</html>
"""


def make_style(rules: str, print_rules: str = "", light: str = "", dark: str = "") -> str:
    """The style sheet of a page.

    Args:
        rules, print_rules: what the page has besides, for all media and in print.
        light, dark: its own colours, as custom properties; print has the light ones.
    """
    style = _STYLE
    for name, value in (
        ("PRINT_RULES", print_rules.strip()),
        ("RULES", rules.strip()),
        ("LIGHT", f"{_LIGHT}\n  {light}" if light else _LIGHT),
        ("DARK", f"{_DARK}\n    {dark}" if dark else _DARK),
        ("PRINT", f"{_PRINT}\n    {light}" if light else _PRINT),
    ):
        style = style.replace(f"@{name}@", value)
    return style


def render_page(
    title: str, style: str, summary: str, legend: str, articles: Sequence[str], kind: str = "p"
) -> str:
    """The page. All but ``title`` is HTML; ``kind`` is the element that the legend is."""
    return _PAGE.format(
        title=text(title),
        style=style,
        summary=summary,
        legend=legend,
        kind=kind,
        articles="\n".join(articles) or "<p>There are no sentences.</p>",
    )


def tiles(facts: Sequence[tuple[str, str]]) -> str:
    """Names and numbers at the top of a page; both are HTML."""
    shown = "\n".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts)
    return f'<dl class="summary">\n{shown}\n</dl>'


def row(label: str, content: str, *, main: bool = False) -> str:
    """A line of an article with its label."""
    kind = "row main" if main else "row"
    return f'<div class="{kind}"><span class="label">{label}</span>{content}</div>'


def note(raw: str) -> str:
    """What is said of a line where there is none."""
    return f'<span class="note">{raw}</span>'


def tokens_line(content: str) -> str:
    """A line of text, given as HTML."""
    # The language of the text is unknown, and no browser should offer to translate it.
    if not content:
        return note("empty")
    return f'<p class="tokens" dir="auto" lang="" translate="no">{content}</p>'
