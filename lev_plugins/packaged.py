"""The LevT that comes with the package: Spanish translations whose English source has changed."""

from pathlib import Path

#: Folder of lev-export, with CARD.md.
ENGLISH_SPANISH = Path(__file__).with_name("english_spanish")
#: What ``lev-trace --demo`` shows; a line: source, draft, older source.
DEMO_LINES = ENGLISH_SPANISH / "demo.tsv"
