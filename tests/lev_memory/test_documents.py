"""lev_memory: translations of Markdown documents follow what their sources have become."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal
from scripted_command import commit, git, put, tree

from lev_memory import cli
from lev_memory.formats.markdown import CHANGED, NEW, REPAIRED, Markdown, blocks

OLD = b"""# Tables

A table has 3 rows. Rows are counted from 0. See [rows](https://docs.test/en/rows).

- Open the file.
- This list ends here.

```python
rows = 3  # the count
print(rows)
```

Nobody reads this.

| name | what it is |
|---|---|
| row | one of 3 |
"""
THERE = """# Tabellen

Eine Tabelle hat 3 Zeilen. Zeilen z\u00e4hlen ab 0. Siehe [Zeilen](https://docs.test/de/zeilen).

* \u00d6ffne die Datei.
* Hier endet die  Liste.\t

```python
rows = 3  # die Anzahl
print(rows)
```

Das liest niemand.

Ein Absatz, den die Quelle nicht hat.

| Name | was es ist |
|---|---|
| Zeile | eine von 3 |
""".encode()
NEW_SOURCE = b"""# Tables

A table has 5 rows. Rows are counted from 0. See [rows](https://www.docs.test/en/rows).

- Open the file.
- Close it.
- This list ends here.
- Really.

```python
rows = 3  # the count
print(rows, end="")
```

| name | what it is |
|---|---|
| row | one of 3 |

The end.
"""
WANTED = f"""# Tabellen

Eine Tabelle hat 5 Zeilen.{REPAIRED} Zeilen z\u00e4hlen ab 0. Siehe [Zeilen](https://www.docs.test/de/zeilen).

* \u00d6ffne die Datei.
- Close it.{NEW}
* Hier endet die  Liste.
- Really.{NEW}\t

```python
rows = 3  # die Anzahl
print(rows, end="")
```

Ein Absatz, den die Quelle nicht hat.

| Name | was es ist |
|---|---|
| Zeile | eine von 3 |

The end.{NEW}
"""  # noqa: E501


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    put(old=OLD, new=NEW_SOURCE, **{"t.de.md": THERE, "other.txt": b"not ours\n"})


def followed(old, new, there):
    return Markdown(Path("t.de.md"), there, old, new).with_proposals({}).decode()


# what is written -------------------------------------------------------------------------------


def test_what_changed_follows_the_source_and_all_else_stays_byte_for_byte(capsys):
    before = tree()
    assert cli.main("repair old new t.de.md -o out.md".split()) == 0
    assert Path("out.md").read_text("utf-8") == WANTED
    assert {name: raw for name, raw in tree().items() if name != "out.md"} == before
    printed = capsys.readouterr().out
    assert "4 new" in printed and "2 removed" in printed and "1 proposed" in printed


def test_in_a_repository_the_older_source_is_that_of_a_revision():
    git("init", "-q")
    commit(en__a__page=b"", **{"en__a__t.md": OLD, "de__a__t.md": THERE})
    put(**{"en__a__t.md": NEW_SOURCE, "en__only.md": b"nobody translated this\n"})
    assert cli.main("repair --since HEAD en de --language de".split()) == 0
    assert Path("de/a/t.md").read_text("utf-8") == WANTED
    assert git("status", "--short").split() == "M de/a/t.md M en/a/t.md ?? en/only.md".split()


BLOCKS = st.lists(
    st.sampled_from(OLD.decode().split("\n\n"))
    | st.text(st.sampled_from("ab.# -*>|`~:\n\t1\r\u00e9"), max_size=30)
).map("\n\n".join)


@given(BLOCKS, BLOCKS)
def test_a_source_that_did_not_change_leaves_every_byte(source, there):
    assert followed(source.encode(), source.encode(), there.encode()) == there
    assert "".join(piece.text + piece.gap for piece in blocks(there)) == there


#: older source | new source | translation | the new translation
CASES = rf"""
See http://a.test/en/x. | See https://a.test/en/x. | Voir http://a.test/fr/x. | Voir https://a.test/fr/x.
See http://a.test/en/x. | See http://a.test/en/y/x. | Voir http://b.test/x. | Voir http://b.test/x.{CHANGED}
One. Two. | One. Three things. Two. | Un. Deux. | Un. Three things.{NEW} Deux.
One. Two. | Two. | Un. Deux. | Deux.
x = 1 | x = 2 | x = 1 | x = 2
- One.\n- Two.\n\nEnd. | - One.\n\nEnd. | - Un.\n- Deux.\n\nFin. | - Un.\n\nFin.
A.\n\nOld b\n===== | A.\n\nNew c\n----- | A.\n\nVieux b\n===== | A.\n\nNew c{NEW}\n-----
A. | A.\n\n|a|b|\n|-|-|\n|1 x|y| | A. | A.\n\n|a|b{NEW}|\n|-|-|\n|1 x|y{NEW}|
A. | A.\n\n:::tip\nMore.\n\n::: | A. | A.\n\n:::tip\nMore.{NEW}\n\n:::
```\nf(1) # old\n``` | ```\nf(1) # new\n``` | ```\nf(1) # vieux\n``` | ```\nf(1) # vieux\n```
One.\n | One.\n\nTwo.\n | Un.\r\n | Un.\r\n\r\nTwo.{NEW}\r\n
"""  # noqa: E501


@pytest.mark.parametrize("case", CASES.strip().splitlines())
def test_of_a_paragraph_sentences_and_addresses_follow(case):
    sides = (
        field.strip(" ").replace(r"\n", "\n").replace(r"\r", "\r") for field in case.split(" | ")
    )
    old, new, there, wanted = (side.encode() for side in sides)
    assert followed(old, new, there) == wanted.decode()


def test_a_paragraph_that_moved_takes_its_translation_along():
    old, new = b"One a.\n\nTwo b.\n\n# C\n\nThree.\n", b"One a.\n\n# C\n\nThree.\n\nTwo b.\n"
    there = "Un.\n\nDeux.\n\n# C\n\nTrois.\n"
    assert followed(old, new, there.encode()) == "Un.\n\n# C\n\nTrois.\n\nDeux.\n"


# mistakes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words, named",
    [
        ("old new", "three files"),
        ("--since HEAD old new t.de.md", "three files"),
        ("--since HEAD new t.de.md", "--since HEAD"),
        ("missing new t.de.md", "missing"),
        ("old latin t.de.md", "UTF-8"),
        ("old new marked.md", "<!--new-->"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_written(words, named):
    put(latin=b"caf\xe9\n", **{"marked.md": f"One.{NEW}\n".encode()})
    assert named in refusal(cli.main, "repair", *words.split())
