"""What all pages have in common, read without a browser: see also test_pages_in_browser.py."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from test_pages_in_browser import ALLOWED, DO, PAGES, PAYLOADS, Shown

from lev_plugins.io.output import printable
from lev_plugins.reports.correction_page import render_html as correction_page
from lev_plugins.reports.gates import Record
from lev_plugins.reports.gates import render_html as gates_page
from lev_plugins.reports.traces import render_html as trace_page

#: text with all that could break out of a page, at every turn
RISKY = st.text(
    st.sampled_from("<>&\"'/\0\x1b\u2028\u202e\n\t\\{}%-!ab é")
    | st.characters(exclude_characters="\r"),  # which ends a line on Windows
    min_size=1,
    max_size=6,
)
EMPTY = {
    "trace": trace_page([], ""),
    "gates": gates_page([], ""),
    "correct": correction_page([], ""),
}


@pytest.mark.parametrize("name", PAGES)
@given(texts=st.lists(RISKY, min_size=1, max_size=3))
@example(texts=list(PAYLOADS))
def test_input_reaches_a_page_as_text_only(name, texts):
    page = PAGES[name](texts)
    shown, plain = Shown(page), Shown(PAGES[name](["a"] * len(texts)))
    assert shown.tags == plain.tags and shown.attributes <= ALLOWED
    assert shown.title == printable(" ".join(texts))
    for text in texts:
        assert text.isspace() or shown.lines.count(printable(text)) >= 2
    assert all(char in "\n " or char == printable(char) for char in page)


@pytest.mark.parametrize("render", [trace_page, gates_page, correction_page])
def test_a_page_has_no_place_for_a_name_but_its_text(render):
    page = render([], f'"><script>{DO}</script>')
    assert "<script" not in page and page.count("&quot;&gt;&lt;script&gt;") == 2


@pytest.mark.parametrize("name", PAGES)
def test_a_page_needs_nothing_from_anywhere(name):
    page = PAGES[name](["a", "b"])
    assert not re.search(r"https?:|url\(|@import|src=|<(script|link|img|iframe)", page)
    assert '<meta charset="utf-8">' in page and "default-src 'none'" in page
    assert "@media print" in page


def luminance(color: str) -> float:
    """Relative luminance of #rrggbb, as WCAG 2 defines it."""
    levels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in levels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


EDITS = {"trace": [("del", "del-back"), ("ins", "ins-back")], "correct": [("del", "card")]}


@pytest.mark.parametrize("name", EMPTY)
def test_colours_have_the_contrast_that_wcag_asks_for(name):
    schemes = re.findall(r":root \{(.*?)\}", EMPTY[name], re.DOTALL)
    assert len(schemes) == 3, "light, dark and print"
    pairs = [("text", "card"), ("soft", "card"), ("soft", "page"), *EDITS.get(name, [])]
    for scheme in schemes:
        colors = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", scheme))
        for front, back in pairs:
            assert contrast(colors[front], colors[back]) >= 4.5, (front, back)


def test_letters_on_every_shade_can_be_read():
    (dark,) = re.findall(r"color-mix\(in srgb, (#[0-9a-f]{6}) calc", EMPTY["gates"])
    ends = [int(dark[i : i + 2], 16) for i in (1, 3, 5)]
    for percent in range(101):
        mixed = (round(255 + (end - 255) * percent / 100) for end in ends)
        back = "#" + "".join(f"{part:02x}" for part in mixed)
        values = {"copy": [percent / 100] * 2, "mask": None, "generate": None, "skip": None}
        one = Record(1, "a", ["a", "</s>"], target="a", target_tokens=["a", "</s>"],
                     log_probability=[0.0] * 2, forced=True, variant="", **values)  # fmt: skip
        white = 'class="cell dark"' in gates_page([one], "")
        assert contrast(back, "#ffffff" if white else "#000000") >= 4.5, percent
    assert "print-color-adjust: exact" in EMPTY["gates"]
