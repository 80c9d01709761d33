"""How fairseq finds the folder that ``--user-dir`` names."""

import os


def accept_imported_package() -> None:
    """Let ``--user-dir lev_plugins`` mean the installed package where that is imported already.

    Fault: fairseq compares the path beside its own package, ``…/fairseq/../lev_plugins``, letter
    for letter with the imported package's, and ends in ``not globally unique`` (processes that are
    spawned, programs that import both). A path that it remembers it does not import again.
    """
    from fairseq import utils

    beside = os.path.join(os.path.dirname(utils.__file__), "..", __name__.partition(".")[0])
    importer = utils.import_user_module
    importer.memo = getattr(importer, "memo", set()) | {beside}
