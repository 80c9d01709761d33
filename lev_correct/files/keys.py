"""Which strings are keys, which other code names or looks for: an edit of one is reported and not
made, as other places would have to change with it."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from .formats import one_of
from .markup import Span

#: Characters before and after a string that tell what it is for.
BEFORE, AFTER = 200, 60
#: The call, or the command, that a string is an argument of.
_CALL = re.compile(r"(?P<name>\w+[!?]?)\s*(?:<[^<>]*>)?\(\s*(?:[^(){};]*,\s*)?\Z")
_COMMAND = re.compile(
    r"(?:\A|[\n;|&({`[]|\b(?:if|while|until|then|do|sudo)\b)\s*!?\s*(?P<name>\w+)\b[^\n;|&(){}]*\Z"
)
#: Names of calls, in small letters without underscores, that look in a text for what a string says,
#: so that a text that has it is a key, too; those whose argument names a thing; and such commands.
_SEEKS = set(
    "awk compile contains contain containsstring cut expr find findall findfirst finditer "
    "fullmatch grep egrep fgrep grepl gsub hasprefix hassuffix include includes index indexof "
    "instr lastindexof match matches matchall mustcompile pattern pregmatch pregreplace regexp "
    "regex regexpmatch regsub removeprefix removesuffix replace replaceall rfind rg rindex "
    "scanf search sed sscanf split startswith startwith endswith endwith strpos strstr "
    "strcasestr strtok strptime sub subn tocontain tomatch tothrow trimprefix trimsuffix "
    "assertin assertraises assertcontains assertmatch assertregex".split()
)
_NAMES = set(
    "arraykeyexists arraysearch asserteq assertequal assertequals assertsame at basename chdir "
    "compare compareto count define del delattr delete deleteitem dirname dispatch emit entry "
    "environ eq eql equal equals equalsignorecase exec execute exists fetch file filereader "
    "filewriter fopen forname freopen get getattr getattribute getbyname getelementbyid getenv "
    "getitem getkey getopt getorelse getordefault getproperty getresource getstring getvalue "
    "has hasattr haskey hasownproperty import importmodule inarray isfile isset join key load "
    "loads lookup memcmp mkdir newfile of off on once open opendir openfile path pop popen put "
    "putenv putifabsent putitem queryselector queryselectorall readfile readfilesync register "
    "registerhandler remove removeitem rename require requireonce resource run set setattr "
    "setattribute setdefault setenv setitem setproperty spawn stat strcasecmp strcmp strncmp "
    "strncasecmp strcoll stringcompare stringequal system tobe toequal trigger unlink wcscmp "
    "writefile".split()
)
_COMMANDS = set(
    "cat cd chmod cp dict export info ln load ls lsearch mkdir mv open require rm source string "
    "switch test touch unset".split()
)
_SHELLS = {"bash", "fish", "tcsh", "tcl", "docker", "perl", "ruby"}
#: Signs before a string and after one: of what is looked for, compared, a case, a subscript, a pair
#: of a table, a module, a setting that is no prose.
_SOUGHT_BEFORE, _SOUGHT_AFTER = (
    re.compile(r"(?:[=!]~|(?<=\s)~)\s*\Z"),
    re.compile(r"\s*(?:not\s+)?in\b(?!\s*[\[({])"),
)
_IMPORTS = r"import require\w* include\w* from use load source open package"
_SETTINGS = (
    "run cmd command script exec entrypoint pattern regex regexp path file key id glob selector"
)
_NAMED_BEFORE = re.compile(
    r"(?:[=!]==?|/=|\b(?:eq|ne|eql|is|is not|i?like|rlike|glob)|\s-[ci]?(?:eq|ne|like|match))\s*\Z"
    r"|[\w\])>]\s?\[\s*\Z|(?<![\w-])(?:case|when|in)\b[^:;{}\n]*\Z|\bfrom\s*\Z"
    rf"|^\s*(?:{one_of(_IMPORTS)})\b[^\n;=:]*\Z"
    rf"|(?i:(?<![^\W_])(?:{one_of(_SETTINGS)})[\"']?\s*[:=]\s*\Z)",
    re.MULTILINE,
)
_NAMED_AFTER = re.compile(
    r"\s*(?:=>|->(?!\s*\w+\()|[=!]==?|/=|=~|(?:eq|ne|(?:not )?in)\b|\.equals\w*\(|:(?![:=]))"
)
_ALTERNATIVE = re.compile(r"\?[^?:;\n]*\Z|\b(?:else|lambda\b[^:\n]*)\s*\Z")
_PAIR = re.compile(r"(?:[\[{,]\s*\{|[\[,]\s*\()\s*\Z")
#: The same in languages with one sign for to be and to become; in a shell and in Perl.
_BY_ONE = set("ada bash cbmbas delphi fsharp ocaml qbasic smalltalk sml vb.net vbscript".split())
_COMPARED_BY_ONE = re.compile(
    r"(?i)(?:\b(?:if|elsif|elseif|while|until|where|and|or|having|when)\b|\[)[^\n;]*?[^=!<>:\n]=\s*\Z"
)
_ARM = re.compile(r"(?:\A|\n|;;|\bin\b|\|)\s*\Z")
_SCRIPTS = re.compile(r"\"scripts\"\s*:\s*\{[^{}]*\Z")
#: Strings before a string; a prefix of it; what of a pattern is text; its words.
_STRING = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
_PREFIX = re.compile(r"(?<!\w)[bBuUrRfFL@$]{1,2}\Z")
_PIECE, _WORD = re.compile(r"[\w ',-]{4,}"), re.compile(r"[^\W\d_]+")


class Literal(NamedTuple):
    """A string: where it stands, what it says, and whether that is prose."""

    start: int
    end: int
    said: str
    is_prose: bool


def keys(
    text: str, language: str, literals: Sequence[Literal], knows: Callable[[str], bool]
) -> list[Span]:
    """Returns where strings stand that are keys, by what is around them: an argument of a call that
    looks it up or looks for it, a subscript, a case, a side of a comparison; those that say the
    same elsewhere; and those that have what is looked for.

    Args:
        knows: whether a word is a right one, which no edit changes.
    """
    everything = "\0".join(literal.said for literal in literals if literal.is_prose)
    named, sought, found = set[str](), list[str](), list[Span]()
    for start, end, said, is_prose in literals:
        said = said.strip()
        if not is_prose and (not said or said not in everything or knows(said)):
            continue
        before = _STRING.sub('""', _PREFIX.sub("", text[max(0, start - BEFORE) : start]))
        after = text[end : end + AFTER]
        call = _CALL.search(before)
        command = None if call or language not in _SHELLS else _COMMAND.search(before)
        name = (call or command or {"name": ""})["name"].lower().replace("_", "").rstrip("!?")
        if name in _SEEKS or _SOUGHT_BEFORE.search(before) or _SOUGHT_AFTER.match(after):
            pieces = (piece.strip() for piece in _PIECE.findall(said))
            sought += [piece for piece in pieces if not all(map(knows, _WORD.findall(piece)))]
        elif is_prose and (
            name in (_COMMANDS if command else _NAMES)
            or _is_named(language, before, after)
            or _is_script(text, start)
        ):
            named.add(said)
        else:
            continue
        found.append((start, end))
    same = (
        (start, end)
        for start, end, said, is_prose in literals
        if is_prose and (said.strip() in named or any(piece in said for piece in sought))
    )
    return [*found, *same]


def _is_named(language: str, before: str, after: str) -> bool:
    """Returns whether what is around a string tells that it is compared, a case, a subscript, or
    the first of a pair."""
    if _NAMED_BEFORE.search(before) or (_PAIR.search(before) and after.lstrip()[:1] == ","):
        return True
    if (language in _BY_ONE or language.endswith("sql")) and _COMPARED_BY_ONE.search(before):
        return True
    if language == "bash" and _ARM.search(before) and after.lstrip()[:1] in (")", "|"):
        return True
    if language.startswith("perl") and before.endswith("{") and after[:1] == "}":
        return True
    return bool(_NAMED_AFTER.match(after) and not _ALTERNATIVE.search(before))


def _is_script(text: str, start: int) -> bool:
    """Returns whether a string is a command of ``package.json``."""
    place = text.rfind('"scripts"', 0, start)
    return place >= 0 and bool(_SCRIPTS.match(text[place:start]))


# headings -----------------------------------------------------------------------------------------

_TARGET = re.compile(
    r"[(<\"'\s\[]#(?P<anchor>[\w%-]+)|`(?P<title>[^`<>]+)`_?|<<(?P<name>[^<>,\n]+)"
    r"|\[\[[*#](?P<place>[^\]|\n]+)"
)
_LETTERS = re.compile(r"[\W_]+")


def headings(text: str) -> list[Span]:
    """Returns where the lines stand that a link in the same text names by their words."""
    targets = {
        _LETTERS.sub("", match[match.lastgroup or 0].lower()) for match in _TARGET.finditer(text)
    }
    spans, place = list[Span](), 0
    for line in text.split("\n") if targets else ():
        if _LETTERS.sub("", line.lower()) in targets - {""}:
            spans.append((place, place + len(line)))
        place += len(line) + 1
    return spans
