"""What a person orders on the command line: marks on drafts, terms, and words of their own."""

from tiny import holds

# the model deletes every ! and writes a dot behind every letter
MARKED = [
    ("a b", "A [=!=] . B .", ["!"], []),  # stays
    ("a b", "A . [-B-] . ! H", [], ["B"]),  # goes
    ("a b c", "A . [+B ! ! C+] .", ["B ! ! C"], []),  # whole
    ("", "[+! G !+] [-. A-] [=xyz=]", ["! G !", "<unk>"], [". A"]),  # all three
    ("a b", "A . \\[=B [=\\[-=] ]", ["<unk>"], []),  # characters of marks
    ("e f", "E . F .", [], []),
]


def test_marks_in_typed_drafts_are_followed_in_every_buffer(commands, triples):
    text = "".join(f"{source}\t{draft}\n" for source, draft, _, _ in MARKED)
    outputs = []
    for flags in ("", "--buffer-size 6 --batch-size 4"):
        command = triples.interactive(f"--markup {flags}")
        outputs.append(commands.done(command, triples.folder, stdin=text).texts("H"))
    assert len(outputs[0]) == len(MARKED) and outputs[0] == outputs[1]
    for output, (_, _, kept, gone) in zip(outputs[0], MARKED, strict=True):
        assert holds(output, kept), output
        assert not any(holds(output, [words]) for words in gone), output
    assert holds(outputs[0][1], ["H"]) and outputs[0][5] == "E . F ."
