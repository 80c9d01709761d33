"""What recipes for fairseq's own Levenshtein Transformer ask for, by its name here."""

import re

_ROLL_IN = "roll-in does its work (--alpha, --beta, --kept-tokens); leave it out"
# Flags of task translation_lev and arch levenshtein_transformer that ours do not have
STOCK_FLAGS = {
    "--noise": f"--noise is of --task translation_lev: with --task translation_edit {_ROLL_IN}",
    "--no-share-discriminator": "for --no-share-discriminator give --weight-sharing plh-tok",
    "--no-share-maskpredictor": "for --no-share-maskpredictor give --weight-sharing tok-del",
    "--share-discriminator-maskpredictor": "for --no-share-discriminator "
    "--share-discriminator-maskpredictor give --weight-sharing plh-del",
    "--sampling-for-deletion": "for --sampling-for-deletion give --roll-in-tokens sample",
}
_BOTH = {"--no-share-discriminator", "--no-share-maskpredictor"}
_UNKNOWN = "unrecognized arguments: "


def with_our_flags(message: str) -> str:
    """argparse's ``message``; where it is about flags of a stock recipe, with what to give here."""
    if not message.startswith(_UNKNOWN):
        return message
    given = re.findall(r"(?<!\S)--[a-z-]+", message.removeprefix(_UNKNOWN))
    flags = [flag for flag in STOCK_FLAGS if flag in given]
    hints = [STOCK_FLAGS[flag] for flag in flags]
    if "--share-discriminator-maskpredictor" in flags:
        hints = [hint for flag, hint in zip(flags, hints) if flag not in _BOTH]
    elif set(flags) >= _BOTH:
        hints = [hint for flag, hint in zip(flags, hints) if flag not in _BOTH]
        hints.append(f"for {' '.join(sorted(_BOTH))} give --weight-sharing none")
    return "; ".join([message, *hints])
