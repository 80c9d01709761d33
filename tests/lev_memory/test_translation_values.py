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


def in_source(integer: int, decimals: int | None) -> str:
    return f"{integer:,}" + ("" if decimals is None else f".{decimals}")


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
