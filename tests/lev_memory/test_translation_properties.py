"""lev_memory: reading and writing is the identity; proposals change the named units alone."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from lev_memory.formats import files
from lev_memory.formats.units import Proposal

PO_HEADER = """{comment}msgid ""
msgstr ""
"Content-Type: text/plain; charset={charset}\\n"
"Language: it\\n"
"""
PO_BLOCKS = [
    '{comment}#, fuzzy\n#| msgid "old {n}"\nmsgid "new {n}"\nmsgstr "perché {n}"\n',
    '  #, fuzzy,c-format\n  msgctxt "x"\n  msgid "a {n}"\n  msgstr ""\n  "uno "\n  "due"\n',
    '#, fuzzy\nmsgid "one {n}"\nmsgid_plural "%d {n}"\nmsgstr[0] "uno"\nmsgstr[1]  "%d" " molti"\n',
    '{comment}msgid "done {n}"\nmsgstr "fatto"\n',
    'msgid "open {n}"\n\nmsgstr ""\n',
    '#~ msgid "gone {n}"\n#~ msgstr "andato"\n',
    '# lev_plugins: proposal, probability 0.50, source 0123abcd\n#  was: "prima"\n'
    '#, fuzzy\nmsgid "again {n}"\nmsgstr "ancora"\n',
]
XLIFF = (
    '{declaration}{comment}<xliff version="1.2"><file source-language="en" target-language="it">\n'
    "<body>{body}</body></file></xliff>\n"
)
XLIFF_BLOCKS = [
    '<trans-unit id="{n}"><source>new {n}</source>\n <target state="new">perché</target>'
    "<alt-trans><source>old</source><target>vecchio</target></alt-trans></trans-unit>\n",
    '<trans-unit id="{n}"><source>see <x id="1"/></source><target/>{comment}</trans-unit>\n',
    '<trans-unit id="{n}"><source>no target</source>\n</trans-unit>\n',
    "<trans-unit id='{n}'><source>done</source><target>fatto</target></trans-unit>\n",
    "<group><trans-unit id=\"{n}\"><source><![CDATA[a < b]]></source><target state='x'>"
    "<![CDATA[c < d]]></target></trans-unit></group>\n",
    '<trans-unit id="{n}"><source>a b</source><seg-source><mrk mtype="seg" mid="1">a</mrk>'
    '<mrk mtype="seg" mid="2">b</mrk></seg-source><target state="new"><mrk mtype="seg" mid="1">'
    '</mrk> <mrk mtype="seg" mid="2">uno</mrk></target></trans-unit>\n',
    '<trans-unit id="{n}" translate="no"><source>x</source></trans-unit>\n',
]
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


@st.composite
def po_files(draw):
    comment = draw(st.sampled_from(["", "# un commento, perché\n", "#. a\n#: b.c:1\n\n"]))
    blocks = draw(st.lists(st.sampled_from(PO_BLOCKS), max_size=6))
    charset = draw(st.sampled_from(["UTF-8", "ISO-8859-15"]))
    blank = draw(st.sampled_from(["", "\n"]))
    parts = [PO_HEADER, *blocks]
    text = blank.join(part.format(n=n, comment=comment, charset=charset)
                      for n, part in enumerate(parts))  # fmt: skip
    mark = "\ufeff" if charset == "UTF-8" and draw(st.booleans()) else ""
    return "a.po", (mark + text.replace("\n", draw(ENDS))).encode(charset)


@st.composite
def xliff_files(draw):
    comment = draw(st.sampled_from(["", "<!-- perché -->\n"]))
    blocks = draw(st.lists(st.sampled_from(XLIFF_BLOCKS), max_size=6))
    encoding = draw(st.sampled_from(["utf-8", "utf-16", "iso-8859-1", ""]))
    declaration = f'<?xml version="1.0" encoding="{encoding}"?>\n' if encoding else ""
    body = "".join(block.format(n=n, comment=comment) for n, block in enumerate(blocks))
    text = XLIFF.format(declaration=declaration, comment=comment, body=body)
    # XML reads a carriage return alone as the end of a line, too
    return "a.xlf", text.replace("\n", draw(ENDS)).encode(encoding or "utf-8")


def read(name, data):
    return files.READERS[Path(name).suffix](Path(name), data)


def lines_of(document, data):
    return Counter(data.decode(document.encoding).splitlines())


FILES = po_files() | xliff_files()
#: in lines that no proposal may change
KEPT = 'Language/fatto/andato/msgid/#|/translate="no"/<?xml/un commento'.split("/")


@given(FILES)
def test_a_file_without_proposals_is_written_as_it_was(file):
    assert read(*file).with_proposals({}) == file[1]


@given(FILES, st.data())
def test_a_proposal_changes_its_unit_alone(file, data):
    name, before = file
    document = read(name, before)
    fuzzy = [unit for unit in document.units if unit.state != "translated"]
    chosen = data.draw(st.sets(st.sampled_from(fuzzy)) if fuzzy else st.just(set()))
    texts = {unit: f"{unit.source} è {place}" for place, unit in enumerate(chosen)}
    proposals = {unit: Proposal(text, 0.5) for unit, text in texts.items()}
    after = document.with_proposals(proposals)
    again = read(name, after)
    edited = read(name, after.decode(document.encoding).replace("è", "é").encode(document.encoding))
    for unit, other, later in zip(document.units, again.units, edited.units, strict=True):
        assert vars(replace(other, standing="")) == vars(unit)
        assert other.standing == texts.get(unit, "")
        assert not later.standing and (later.proposed or unit not in texts)
    removed = lines_of(document, before) - lines_of(again, after)
    assert not any(mark in line for line in removed for mark in KEPT)
