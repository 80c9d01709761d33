"""lev_memory: numbers by value, terms, words and identifiers in languages with
other digits, separators and boundaries of words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from test_translation_files import (
    Editor,
    entry,
    fill,
    lines,
    memory,
    proposals,
    proposer,
    repair,
    written,
)

from lev_memory.repair import codes, scripts

DIGITS = {"٠": "٠١٢٣٤٥٦٧٨٩", "۰": "۰۱۲۳۴۵۶۷۸۹", "०": "०१२३४५६७८९"}
#: how languages part thousands and decimals; the digit zero
STYLES = {
    "es": (".", ",", "0"),
    "fr": ("\u202f", ",", "0"),
    "sv": ("\u00a0", ",", "0"),
    "pl": (" ", ",", "0"),
    "de_CH": ("’", ".", "0"),
    "it_CH": ("'", ".", "0"),
    "ar": ("٬", "٫", "٠"),
    "fa": ("٬", "٫", "۰"),
    "hi": (",", ".", "०"),
    "ja": (",", ".", "0"),
}
#: a sentence around a number, in the source and in its translation
FRAMES = [
    ("see {} here", "véase {} aquí"),
    ("chapter {}", "第{}章"),
    ("{} files", "{}个文件"),
    ("{} MB", "{}メガバイト"),
    ("see {}", "ดู{}"),
    ("the {} files", "ה{} קבצים"),
    ("and {} files", "و{} ملفات"),
    ("{} done", "%{} tamamlandı"),
    ("{} % done", "{}\u00a0% fatto"),
    ("from {} s", "ab {}."),
]


def written_in(style: str, number: str) -> str:
    """A number of the source as a language writes it."""
    group, decimal, zero = STYLES[style]
    table = {",": group, ".": decimal}
    digits = {str(i): DIGITS[zero][i] for i in range(10)} if zero in DIGITS else {}
    return number.translate(str.maketrans({**table, **digits}))


def in_source(whole: int, decimals: int | None) -> str:
    return f"{whole:,}" + ("" if decimals is None else f".{decimals}")


amounts = st.builds(in_source, st.integers(0, 10**9), st.none() | st.integers(1, 999))


@given(amounts, amounts, st.sampled_from(sorted(STYLES)), st.sampled_from(FRAMES))
def test_a_number_is_written_as_the_draft_writes_it(old, new, style, frame):
    has_signs = all(sign in old or sign not in new for sign in ",.")
    if old == new or (not has_signs and style != "ja"):
        return  # how the draft's language writes the new number is not told
    source, draft = frame
    before, after = (written_in(style, number) for number in (old, new))
    repaired = repair.repair(
        lines.to_line(source.format(old)),
        lines.to_line(source.format(new)),
        lines.to_line(draft.format(before)),
    )
    assert lines.to_text(repaired) == draft.format(after)


@pytest.mark.parametrize(
    ("old", "new", "draft", "repaired"),
    [
        ("1,234", "2,345.5", "1\u00a0234", "2\u00a0345,5"),  # a space parts thousands: a comma
        ("1,234", "2,345.5", "1'234", "2'345.5"),
        ("3", "4.5", "٣", "٤٫٥"),
        ("the 1st", "the 2nd", "den 1:a", "den 2:a"),
        ("the 2nd", "the 3rd", "den 2:a", "den 2:a"),  # 3:e, which nobody knows here
        ("the 3rd", "the 11th", "den 3:e", "den 11:e"),
        ("the 3rd", "the 4th", "第3の", "第4の"),
        ("the 3rd", "the 4th", "3번째", "4번째"),
        ("the 3rd", "the 4th", "το 3ο", "το 4ο"),
        ("the 3rd", "the 5th", "3'üncü", "3'üncü"),  # 5'inci
        ("in 3.9", "in 3.10", "Python 3.9'da", "Python 3.10'da"),
        ("5/31/2023", "6/1/2024", "31.5.2023", "1.6.2024"),
        ("2023-05-31", "2024-06-01", "31/05/2023", "01/06/2024"),
        ("3-5", "4-6", "3–5", "4–6"),
        ("3-5", "4-6", "de 3 a 5", "de 4 a 6"),
        ("10:30", "11:45", "10h30", "11h45"),
        ("192.168.0.1", "192.168.0.2", "ב־192.168.0.1", "ב־192.168.0.2"),
        ("0x1F", "0x2F", "值为0x1F。", "值为0x2F。"),
        ("3.12.1", "3.13.0", "3.12.1版", "3.13.0版"),
        ("50%", "60%", "%50'si", "%60'si"),
        ("costs $1,000", "costs $2,000", "cuesta 1.000 $", "cuesta 2.000 $"),
        ("Step 1 of %1", "Step 2 of %1", "Schritt 1 von %1", "Schritt 2 von %1"),
        ('3 <x id="3"/>', '4 <x id="3"/>', '3. <x id="3"/>', '4. <x id="3"/>'),
        ("`a <b/3>`_ 3", "`c <b/4>`_ 3", "`A <b/3>`_ 3", "`A <b/3>`_ 3"),
        ("3 of 3.5", "4 of 3.5", "3 de 3,5", "4 de 3,5"),
        ("use Python", "use Ruby", "使用Python编程", "使用Ruby编程"),
        ("use Python", "use Ruby", "وPython", "وRuby"),
        ("2 files", "5 files", "2 файла", "2 файла"),  # файлов
        ("page 2 of 5", "page 3 of 7", "страница 2 из 5", "страница 3 из 7"),
    ],
)
def test_what_needs_no_translation_is_repaired_in_other_languages(old, new, draft, repaired):
    assert repair.repair(old, new, draft) == repaired


FILES = "{n, plural, one {# file} other {# files}}"
CHOICE = "{g, select, male {He sees {n, plural, =0 {0} other {#}}} other {They see {who}}}"


@pytest.mark.parametrize(
    ("source", "text", "same"),
    [
        ("50% done", "%50 bitti", True),
        ("12.5% done", "%12,5 bitti", True),
        ("%1 done", "%2 bitti", False),
        ("50% of %1", "%50 / %1", True),
        ("50% of %1", "%50", False),
        ("%s of %d", "%2$d di %1$s", True),
        ("%s of %d", "%2$s di %1$d", False),
        ("%1$s of %2$d", "%1$s di %1$s", False),
        ("%s", "%1$s %1$s", False),
        ("costs $1,000", "cuesta 1.000 $", True),
        ("costs $1", "cuesta", False),
        ("&File", "D&atei", True),
        ("&File", "文件(&F)", True),
        ("E_xit", "S_alir", True),
        ("R&D costs", "Kosten für F&E", True),
        ("[[page|this]]", "[[page|esta]]", True),
        ("[[page|this]]", "[[página|esta]]", False),
        ("{{PLURAL:$1|a|$1 b}}", "{{PLURAL:$1|c|d|$1 e}}", True),
        ("a [optional] b: c", "un [opcional] b : c", True),
        ("At 12:30: go to me@x.org", "A las 12:30: ve a me@x.org", True),
        ("if a <5 and b> 3", "si a <5 y b> 3", True),
        (FILES, "{n, plural, one {# fichero} other {# ficheros}}", True),
        (FILES, "{n, plural, one {# a} few {# b} many {# c} other {# d}}", True),
        (FILES, "{n, plural, other {# 個}}", True),
        (FILES, "{n, plural, one {# fichero}}", False),
        (FILES, "{m, plural, one {# fichero} other {# ficheros}}", False),
        (FILES, "{n, plural, uno {# fichero} otros {# ficheros}}", False),
        (FILES, "{n, plural, one {# fichero} other {ficheros}}", False),
        (FILES, "{n, plural, one {# fichero} other {# ficheros}", False),
        (FILES, "{n, select, one {# fichero} other {# ficheros}}", False),
        (FILES, "ficheros", False),
        (CHOICE, "{g, select, male {Él ve {n, plural, =0 {0} other {#}}} other {Ven {who}}}", True),
        (CHOICE, "{g, select, male {Él ve {n, plural, other {#}}} other {Ven {who}}}", False),
        (CHOICE, "{g, select, male {Él ve {n, plural, =0 {0} other {#}}} other {Ven}}", False),
        (CHOICE, "{g, select, m {Él ve {n, plural, =0 {0} other {#}}} other {Ven {who}}}", False),
    ],
)
def test_placeholders_are_told_from_numbers_and_by_their_numbers(source, text, same):
    assert lines.same_placeholders(source, text) == same


@pytest.mark.parametrize(
    ("source", "old", "draft", "text", "same"),
    [
        ("a &amp; b", "a &amp; b", "c &amp; d", "c & d", False),
        ("a &amp; b", "a &amp; b", "c&nbsp;&amp; d", "c&nbsp;&amp; e", True),
        ("a &copy; b", "a b", "c&nbsp;d", "c&nbsp;&copy; d", True),
        ("a &copy; b", "a b", "c&nbsp;d", "c&nbsp;d", False),
        ("a b", "a &copy; b", "c &copy; d", "c d", True),
        ("a &amp; b", "", "c&nbsp;&amp; d", "c&nbsp;&amp; e", True),
        ("a &amp; b", "", "c&nbsp;&amp; d", "c&nbsp;& e", False),
        ("a\nb c", "a\nb", "c\nd\ne", "c\nd\ne f", True),
        ("a\nb c", "a\nb", "c\nd\ne", "c d e f", False),
    ],
)
def test_entities_are_those_of_the_source_or_of_the_draft_changed_alike(
    source, old, draft, text, same
):
    assert lines.same_entities(text, source, old, draft) == same


@pytest.mark.parametrize(
    ("source", "text", "same"),
    [
        ("<p>a <b>b</b></p>", "<p>c <b>d</b></p>", True),
        ("<p>a</p><p>b</p>", "</p><p>a</p><p>b", False),
        ("<p>a</p>", "<p>a</p> b", False),
        ("<b>a</b> b", "b <b>a</b>", True),
        ("a<br>b", "b<br>a", True),
        ("a<br/>b", "b<br/>a", True),
        ("a < b", "b < a", True),
    ],
)
def test_tags_are_closed_in_order_where_those_of_the_source_are(source, text, same):
    assert lines.is_nested_like(source, text) == same


def test_what_a_translation_was_made_from_is_found_without_spaces_too():
    known = memory.Memory([("The file is open.", "文件已打开。"), ("Close it.", "关闭。")])
    assert [*known.translated_from(["文件未打开。"], ["The file is not open."])] == [
        "The file is open."
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("（`os.stat`）を参照", ["`os.stat`"]),
        ("使用`os.stat`、`os.walk`。", ["`os.stat`", "`os.walk`"]),
        ("„`os.stat`“ und «MAX_SIZE»", ["`os.stat`", "MAX_SIZE"]),
        ("راجع `os.stat`، و", ["`os.stat`"]),
        ("x_y। 《a_b》", ["x_y", "a_b"]),
        ("see (`a_b`), *c_d*.", ["`a_b`", "c_d"]),
        ("use -x_y and @user", ["-x_y", "@user"]),
    ],
)
def test_identifiers_are_known_between_the_marks_of_any_script(text, expected):
    assert codes.codes_of(text) == expected


@pytest.mark.parametrize(
    ("known", "text"),
    [
        ("Işık için", "IŞIK İçin"),
        ("cafe\u0301", "café"),
        ("हिन्दी में", "में हिन्दी"),
        ("Größe", "GRÖSSE"),
    ],
)
def test_a_word_is_known_however_its_letters_are_written(known, text):
    assert not memory.Memory([("a", known)]).made_up(text, "b")
    assert memory.Memory([("a", "b")]).made_up("हिन्दा", "हिन्दी") == ["हिन्दा"]


def test_a_glossary_may_have_comments_and_several_translations(tmp_path):
    text = "\ufeff\n# ours\nfile\tfichero\ta noun\nfile\tarchivo\nfile name\tnombre\n"
    terms = proposals.read_terms(written(tmp_path, text, "terms.tsv"))
    for old, new in (("archivo", "archivo"), ("fichero", "fichero")):
        path = written(tmp_path, entry("The file 4", f"El {old} 3", "The file 3"))
        fill(path, proposer(Editor(), terms=terms))
        assert f'msgstr "El {new} 4"' in path.read_text()
    path = written(tmp_path, entry("The file name 4", "El nombre 3", "The file name 3"))
    fill(path, proposer(Editor(), terms=terms))
    assert 'msgstr "El nombre 4"' in path.read_text()


def test_a_term_stands_in_a_text_without_spaces(tmp_path):
    terms = proposals.read_terms(written(tmp_path, "file\t文件\n", "terms.tsv"))
    path = written(tmp_path, entry("Open file 4", "打开文件夹3", "Open file 3"))
    fill(path, proposer(Editor(), terms=terms))
    assert 'msgstr "打开文件夹4"' in path.read_text()


@given(st.text("aB3.,_ 文ん한ไב\u05b0ع", max_size=12), st.text("aB3文ב", min_size=1, max_size=3))
def test_the_places_of_a_part_are_where_no_word_goes_on(text, part):
    for start, end in scripts.places(text, part):
        assert text[start:end] == part
        assert not (text[:start][-1:].isascii() and text[:start][-1:].isalnum()
                    and part[0].isascii())  # fmt: skip
    assert scripts.places(part, part) == [(0, len(part))]


@pytest.mark.parametrize("written_so", ["1.500", "1\u202f500", "1500", "1,500", "1’500"])
def test_thousands_are_parted_as_the_memory_does_where_the_draft_does_not_tell(
    written_so, tmp_path
):
    pairs = [(f"{n},500 files", written_so.replace("1", str(n), 1)) for n in (2, 3, 4)]
    path = written(tmp_path, entry("See 1,500 files, 7", "Vedi 500 file, 7", "See 500 files, 7"))
    fill(path, proposer(Editor(), *pairs))
    assert f'msgstr "Vedi {written_so} file, 7"' in path.read_text()
    path = written(tmp_path, entry("See 1,500 files, 7", "Vedi 500 file, 7", "See 500 files, 7"))
    fill(path, proposer(Editor(), *pairs[:2]))
    assert 'msgstr "Vedi 1,500 file, 7"' in path.read_text(), "two say nothing"


def test_a_mark_that_only_the_model_has_doubled_stands_once():
    change = proposals.Change("see :issue:`3`. and so on...", "", "véase `:issue:`2`.")
    for text, proposed in (("véase ..", "véase ."), ("y...", "y..."), ("`a`,, b", "`a`, b")):
        editor = Editor((change.draft, text))
        (output,) = proposals.propose(editor, [change], 0.5, memory.Memory([("a", "b")]))
        assert output.text == proposed


def test_a_memory_the_other_way_round_is_refused(tmp_path):
    words = [f"parola{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
    known = " ".join(words)
    text = "".join(entry(word, "a", "b").partition("\n\n")[2] for word in words)
    path = written(tmp_path, entry("x", "y") + "\n" + text.replace("#, fuzzy\n", "\n#, fuzzy\n"))
    content = path.read_bytes()
    with refuses("a.po", "other way round"):
        fill(path, proposer(Editor(), ("quite other words", known)))
    assert path.read_bytes() == content
    fill(path, proposer(Editor(), (known, "quite other words")))
