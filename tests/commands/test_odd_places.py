"""Commands with the plug-in under another name.

Models that were moved: tests/fairseq_patches/test_checkpoint_files.py.
"""

import shutil

from conftest import PACKAGE


def test_the_plug_in_is_found_under_another_name(commands, triples, tmp_path):
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "my_edits", ignore=ignored)
    command = f"preprocess {triples.flags} --joined-dictionary --trainpref {triples.folder}/train"
    environ = {"PYTHONPATH": str(tmp_path)}
    commands.ok(f"python -m my_edits {command} --destdir {tmp_path}/bin", tmp_path, environ=environ)
    for name in ("train.src-tgt.mt.bin", "dict.tgt.txt"):
        assert (tmp_path / "bin" / name).read_bytes() == (triples.data / name).read_bytes()
    last = tmp_path / "ck" / "checkpoint_last.pt"
    training = triples.train("--max-update 2 --disable-validation --save-dir ck")
    for command in (training, triples.generate("--gen-subset test1", last)):
        commands.ok(f"{command} --user-dir my_edits --task translation_edit", tmp_path)
