"""lev_memory: translations of Markdown documents follow what their sources have become."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal
from scripted_command import commit, git, put, tree
from tables import cases

from lev_memory import cli
from lev_memory.formats.files import language_of
from lev_memory.formats.markdown import NEW, REPAIRED, Markdown, blocks

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
WANTED = (
    THERE.decode()
    .replace("hat 3 Zeilen.", f"hat 5 Zeilen.{REPAIRED}")
    .replace("//docs.test/de", "//www.docs.test/de")
    .replace("print(rows)", 'print(rows, end="")')
)
WITH_NEW = (
    WANTED.replace("* Hier", f"- Close it.{NEW}\n* Hier")
    .replace("Liste.\t", f"Liste.\n- Really.{NEW}\t")
    .replace("Das liest niemand.\n\n", "")
    + f"\nThe end.{NEW}\n"
)
PAGE = """# t.de.md

- line 3, repaired: A table has 3 rows. → A table has 5 rows.
- line 3, follows: Rows are counted from 0. See [rows](https://docs.test/en/rows). → \
Rows are counted from 0. See [rows](https://www.docs.test/en/rows).
- line 5, new: - Close it.
- line 6, new: - Really.
- line 8, follows: ```python rows = 3 # the count print(rows) ``` → \
```python rows = 3 # the count print(rows, end="") ```
- line 13, no longer in the source: Nobody reads this.
- line 19, new: The end.

"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    put(old=OLD, new=NEW_SOURCE, **{"t.de.md": THERE, "other.txt": b"not ours\n"})


def followed(old, new, there, insert=False):
    return Markdown(Path("t.de.md"), there, old, new, insert).with_proposals({}).decode()


# what is written -------------------------------------------------------------------------------


def test_what_changed_follows_the_source_and_all_else_stays_byte_for_byte():
    made = tree() | {"out.md": WANTED.encode(), "page.md": PAGE.encode()}
    assert cli.main("repair old new t.de.md -o out.md --report page.md".split()) == 0
    assert tree() == made


def test_what_is_new_is_put_in_and_what_is_lost_goes_where_that_is_asked_for():
    assert cli.main("repair old new t.de.md -o out.md --insert-new".split()) == 0
    assert Path("out.md").read_text("utf-8") == WITH_NEW


def test_in_a_repository_the_older_source_is_that_of_a_revision():
    git("init", "-q")
    commit(en__a__page=b"", **{"en__a__t.md": OLD, "de__a__t.md": THERE})
    put(**{"en__a__t.md": NEW_SOURCE, "en__only.md": b"nobody translated this\n"})
    assert cli.main("repair --since HEAD en de --language de".split()) == 0
    assert Path("de/a/t.md").read_text("utf-8") == WANTED
    assert git("status", "--short").split() == "M de/a/t.md M en/a/t.md ?? en/only.md".split()


@pytest.mark.parametrize("name", ["how-to.md", "faq-it.md", "my_tr.md", "id.mdx"])
def test_a_documents_language_is_its_folders_or_the_one_that_is_given(name, capsys):
    put(**{f"en__{name}": NEW_SOURCE, f"was__{name}": OLD, f"de__{name}": THERE})
    assert language_of(Markdown(Path("de", name), THERE, OLD, NEW_SOURCE)) == "de"
    Path("de").rename("there")
    assert cli.main(f"repair was/{name} en/{name} there/{name} --language de".split()) == 0
    assert Path("there", name).read_text("utf-8") == WANTED


BLOCKS = st.lists(
    st.sampled_from(OLD.decode().split("\n\n"))
    | st.text(st.sampled_from("ab.# -*>|`~:\n\t1\r\u00e9"), max_size=30)
).map("\n\n".join)


@given(BLOCKS, BLOCKS, st.booleans())
def test_a_source_that_did_not_change_leaves_every_byte(source, there, insert):
    assert followed(source.encode(), source.encode(), there.encode(), insert) == there
    assert "".join(piece.text + piece.gap for piece in blocks(there)) == there


@given(BLOCKS, st.integers(0, 7))
def test_what_is_new_in_the_source_leaves_every_byte(there, count):
    new = OLD.replace(b"\n\n", b"\n\nQuite new words.\n\n", count)
    assert followed(OLD, new, there.encode()) == there


#: older source | new source | translation | the new translation
CASES = r"""
A long line here. | A longer line is here. | A  long line here. | A longer line is here.
See http://a.test/en/x. | See https://a.test/en/x. | Voir http://a.test/fr/x. | Voir https://a.test/fr/x.
See http://a.test/en/x. | See http://a.test/en/y/x. | Voir http://b.test/x. | Voir http://b.test/x.
Use `f(1)` or [[A|A]]. | Use `f(2)` or [[B|B]]. | Soit `f(1)`, soit [[A|A]]. | Soit `f(2)`, soit [[B|B]].
Use `f(1)`. | Use `g(1)`. | Avec `f(0)`. | Avec `f(0)`.
One. Two. | One. Three things. Two. | Un. Deux. | Un. Deux.
One. Two. | Two. | Un. Deux. | Un. Deux.
x = 1 | x = 2 | x = 1 | x = 2
```\nf(1) # old\n``` | ```\nf(1) # new\n``` | ```\nf(1) # vieux\n``` | ```\nf(1) # vieux\n```
```\n# a\nf(1)\n``` | ```\n# a\nf(2)\n``` | ```\n# un\nf(1)\n``` | ```\n# un\nf(2)\n```
```\n# a\nf(1)\n``` | ```\n# a\nf(2)\ng()\n``` | ```\n# un\nf(1)\n``` | ```\n# un\nf(1)\n```
A.\n\n```\nf(1)\n```\n\nB. | A.\n\nB. | Un.\n\n```\nf(1)\n```\n\nDeux. | Un.\n\nDeux.
A.\n\n```\nf(1)\n```\n\nB. | A.\n\nB.\n\n```\nf(1)\n``` | Un.\n\n```\nf(1)\n```\n\nDeux. | Un.\n\n```\nf(1)\n```\n\nDeux.
"""  # noqa: E501


@pytest.mark.parametrize("case", CASES.strip().splitlines())
def test_code_and_addresses_follow_where_the_translation_has_them(case):
    sides = (
        field.strip(" ").replace(r"\n", "\n").replace(r"\r", "\r") for field in case.split(" | ")
    )
    old, new, there, wanted = (side.encode() for side in sides)
    assert followed(old, new, there) == wanted.decode()


# mistakes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words, named",
    cases("lev_memory/cases.tsv", "documents: a mistake is one line and nothing is written"),
)
def test_a_mistake_is_one_line_and_nothing_is_written(words, named):
    put(latin=b"caf\xe9\n", **{"marked.md": f"One.{REPAIRED}\n".encode()})
    assert named in refusal(cli.main, "repair", *words.split())
