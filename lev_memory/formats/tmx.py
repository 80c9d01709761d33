"""Read and write TMX, translation memories of many tools."""

from collections.abc import Iterable
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from lev_runtime import __version__
from lev_runtime.errors import UserError
from lev_runtime.io.output import whole_file

from .tree import Element, Tree
from .units import is_language, same_language

_ANY = "*all*"  # a source language that is none
Texts = dict[str, str]  # of a unit, by language


def tmx_pairs(path: Path, data: bytes, language: str) -> tuple[list[tuple[str, str]], set[str]]:
    """Returns sources and translations into a language, "" for any, and their languages.

    Raises:
        UserError: no TMX.
    """
    units: list[tuple[str, Texts]] = []
    root = Tree(path, data, lambda unit: units.append(texts_of(unit))).root.children[0]
    if root.name != "tmx":
        raise UserError(f"{path} is not a TMX file but {root.name}")
    header = root.first("header")
    named = header.get("srclang", _ANY) if header else _ANY
    units = [(asked or named.replace("-", "_"), texts) for asked, texts in units]
    is_named = any(source_language(texts, asked) for asked, texts in units)
    pairs, languages = [], set()
    for asked, texts in units:
        source = source_language(texts, asked)
        if asked.lower() == _ANY or not is_named:
            source = other_language(texts, language)
        for target in translations(texts, source):
            if is_language(target, language):
                languages.add(target)
                pairs.append((texts[source], texts[target]))
    return pairs, languages


def texts_of(unit: Element) -> tuple[str, Texts]:
    """Returns the source language that a unit names, and its texts."""
    texts: Texts = {}
    for variant in unit.all("tuv"):
        named = variant.get("xml:lang") or variant.get("lang")
        segment = variant.first("seg")
        texts.setdefault(named.replace("-", "_"), segment.text if segment else "")
    return unit.get("srclang").replace("-", "_"), texts


def source_language(texts: Texts, asked: str) -> str:
    """Returns the language that is asked for, or another of its kind; "" if none is there."""
    alike = [named for named in texts if same_language(named, asked)]
    return asked if asked in texts else "".join(alike[:1])


def other_language(texts: Texts, wanted: str) -> str:
    """Returns the first language that is not the wanted one."""
    others = [named for named in texts if wanted and not is_language(named, wanted)]
    return next(iter([*others, *texts]), "")


def translations(texts: Texts, source: str) -> list[str]:
    """Returns the languages of the translations; another variant of the source is none."""
    others = [named for named in texts if named != source and source in texts]
    return [named for named in others if not same_language(named, source)] or others


def write_tmx(path: Path, units: Iterable[tuple[str, str, str]]) -> None:
    """Writes English sources, translations and the language of each, as TMX 1.4."""
    head = f'creationtool="lev-memory" creationtoolversion="{__version__}" segtype="block"'
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<tmx version="1.4">',
        f'<header {head} o-tmf="po" adminlang="en" srclang="en" datatype="plaintext"/>',
        "<body>",
    ]
    for text, translation, language in units:
        pair = ("en", text), (language.replace("_", "-") or "und", translation)
        sides = (
            f"<tuv xml:lang={quoteattr(named)}><seg>{escape(part)}</seg></tuv>"
            for named, part in pair
        )
        lines.append(f"<tu>{''.join(sides)}</tu>")
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(str(path)) as file:
        file.write("\n".join([*lines, "</body>", "</tmx>", ""]))
