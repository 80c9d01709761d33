"""lev_memory: files of other tools, their states and segments; languages, and what
is left alone."""

import pytest
from refusals import refuses
from test_translation_files import Editor, fill, proposer, translated, written
from test_translation_formats import trans_unit, xliff

from lev_memory.formats import files, units

XLIFF_2 = (
    '<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="en" trgLang="it">'
    '<file id="f"><unit id="1"><segment state="final"><source>Read</source><target>Leggi</target>'
    '</segment><segment state="initial"><source>Go</source><target>Vai</target></segment></unit>'
    "</file></xliff>"
)
FURTHER = {
    "a.ts": '<!DOCTYPE TS><TS version="2.0" language="it"><context><name>a</name><message>'
    "<source>Read</source><translation>Leggi</translation></message></context></TS>",
    "a.qph": '<!DOCTYPE QPH><QPH language="it" sourcelanguage="en"><phrase><source>Read</source>'
    "<target>Leggi</target></phrase></QPH>",
    "a.tbx": '<martif type="TBX" xml:lang="en"><text><body><termEntry id="1">'
    '<langSet xml:lang="en"><tig><term>Read</term></tig></langSet>'
    '<langSet xml:lang="it"><tig><term>Leggi</term></tig></langSet>'
    "</termEntry></body></text></martif>",
    "a.catkeys": "1\tItalian\tapplication/x-vnd.Haiku-x\t12345\nRead\tctx\t\tLeggi\n",
    "a.lang": "## active ##\n;Read\nLeggi\n\n",
    "a.utx": "#UTX-S 1.00; en/it; 2013\r\n#src\ttgt\tsrc:pos\r\nRead\tLeggi\tverb\r\n",
    "a.xlf": XLIFF_2,
}


@pytest.mark.parametrize("name", FURTHER)
def test_translate_toolkit_reads_further_formats_as_a_memory(name, tmp_path):
    pytest.importorskip("translate.storage.factory")
    pairs, language = files.folder_memory(
        written(tmp_path, FURTHER[name], name), "", files.Problems()
    )
    assert pairs == [("Read", "Leggi")] and language in ("it", "")


@pytest.mark.parametrize("name", ["a.json", "a.properties", "a.xml", "a.txml"])
def test_a_format_without_sources_is_refused(name, tmp_path):
    with refuses(name, "prop2po"):
        files.folder_memory(written(tmp_path, "{}", name), "", files.Problems())


@pytest.mark.parametrize("runs", [(2,), (1, 2)])
def test_each_segment_of_a_unit_is_one_of_its_own(runs, tmp_path):
    segment = '<mrk mtype="seg" mid="{}">{}</mrk>'
    sources, targets = (
        "".join(segment.format(number, text) for number, text in enumerate(texts))
        for texts in (
            ("Go 4", "Stay", "Stop <x/> 4", "New"),
            ("vai 3", "Resta", "ferma <x/> 3", ""),
        )
    )
    states = "Draft", "Translated", "RejectedSignOff", ""
    segments = "".join(f'<sdl:seg id="{n}" conf="{conf}"/>' for n, conf in enumerate(states))
    target = f"<seg-source>{sources}</seg-source><target>{targets}</target>"
    text = xliff(trans_unit("Go", target, f"<sdl:seg-defs>{segments}</sdl:seg-defs>"))
    path = written(tmp_path, text, "a.sdlxliff")
    assert files.memory_of(path, "")[0] == [("Stay", "Resta")]
    pairs = [("Go 3", "vai 3"), ("Stop <␛x/> 3", "ferma <␛x/> 3")]
    for number in runs:
        fill(path, proposer(Editor(), *pairs[:number]))
    after = path.read_text()
    assert f"<target>{targets.replace('3<', '4<')}</target>" in after
    assert after.count("<note") == 2
    assert "2 have a proposal" in fill(path, proposer(Editor()))


@pytest.mark.parametrize("version", ["2.0", "2.1"])
def test_xliff_2_gets_no_proposals(version, tmp_path):
    path = written(tmp_path, XLIFF_2.replace("2.0", version, 1), "a.xlf")
    with refuses("a.xlf", version, "XLIFF 1.2"):
        fill(path, proposer(Editor()))


@pytest.mark.parametrize(
    ("named", "asked", "is_one", "is_chosen"),
    [
        ("ES-ES", "es", True, True),
        ("es_ES", "es-es", True, True),
        ("es", "es_MX", True, True),
        ("es-419", "es_MX", True, False),
        ("zh_CN", "zh-Hans", True, True),
        ("zh_TW", "zh_CN", False, False),
        ("zh", "zh_HK", False, False),
        ("sr@latin", "sr", False, False),
        ("sr_Cyrl", "sr", True, True),
        ("es", "eu", False, False),
        ("", "es", True, True),
    ],
)
def test_regions_of_a_language_are_one_language_and_scripts_are_not(
    named, asked, is_one, is_chosen
):
    assert units.same_language(named, asked) == units.same_language(asked, named) == is_one
    assert units.is_language(named, asked) == is_chosen


def test_files_of_a_kind_that_are_left_alone_are_one_line(tmp_path, capsys):
    for number in range(40):
        written(tmp_path, "no entry", f"{number:02}.po")
        written(tmp_path, "<a>", f"{number:02}.xlf")
        written(tmp_path, "const a = 1", f"{number:02}.ts")
    written(tmp_path, translated("es"), "es.po")
    written(tmp_path, translated("es_MX"), "es_MX.po")
    problems = files.Problems()
    assert files.folder_memory(tmp_path, "", problems)[1] == "es"
    err = capsys.readouterr().err
    assert problems.count == 80 and err.count("\n") == 2
    assert "00.po:1" in err and "39 more .po" in err and "39 more .xlf" in err
