"""Which texts are keys, which other code names or looks for: an edit of one is reported and not
made, as other places would have to change with it."""

import re

from .formats import one_of
from .markup import Span

#: Characters before and after a string that tell what it is for.
BEFORE, AFTER = 200, 60
#: The call, or the command, that a string is an argument of.
_CALL = re.compile(r"(?P<name>\w+[!?]?)\s*(?:<[^<>]*>)?\(\s*(?:(?:[^(){};]|\([^(){};]*\))*,\s*)?\Z")
_COMMAND = re.compile(
    r"(?:\A|[\n;|&({`[]|\b(?:if|while|until|then|do|sudo)\b)\s*!?\s*(?P<name>\w+)\b[^\n;|&(){}]*\Z"
)
#: Names of calls, in small letters without underscores, that look in a text for what a string says;
#: those whose argument names a thing; such commands; and calls of tests.
_SEEKS = set(
    "awk compile contains contain containsstring cut expr find findall findfirst finditer "
    "fullmatch grep egrep fgrep grepl gsub hasprefix hassuffix include includes index indexof "
    "instr lastindexof match matches matchall mustcompile pattern pregmatch pregreplace regexp "
    "regex regexpmatch regsub removeprefix removesuffix replace replaceall rfind rg rindex "
    "scanf search sed sscanf split startswith startwith endswith endwith strpos strstr "
    "strcasestr strtok strptime sub subn trimprefix trimsuffix".split()
)
_NAMES = set(
    "arraykeyexists arraysearch at basename chdir "
    "compare compareto count define del delattr delete deleteitem dirname dispatch emit entry "
    "environ eq eql equal equals equalsignorecase exec execute exists fetch file filereader "
    "filewriter fopen forname freopen get getattr getattribute getbyname getelementbyid getenv "
    "getitem getkey getopt getorelse getordefault getproperty getresource getstring getvalue "
    "has hasattr haskey hasownproperty import importmodule inarray isfile isset join key load "
    "loads lookup memcmp mkdir newfile of off on once open opendir openfile path pop popen put "
    "putenv putifabsent putitem queryselector queryselectorall readfile readfilesync register "
    "registerhandler remove removeitem rename require requireonce resource run set setattr "
    "setattribute setdefault setenv setitem setproperty spawn stat strcasecmp strcmp strncmp "
    "strncasecmp strcoll stringcompare stringequal system trigger unlink wcscmp "
    "writefile".split()
)
_COMMANDS = set(
    "cat cd chmod cp dict export info ln load ls lsearch mkdir mv open require rm source string "
    "switch test touch unset".split()
)
_EXPECTS = re.compile(
    r"\w*assert\w+|should\w+|to(?:be|contain|equal|match|throw)\w*|(?:to)?have\w+|raiseerror|\w*bytext"
    r"|(?:has|with|expect)\w*(?:eq|error|message)\w*"
)
_SHELLS = {"bash", "fish", "tcsh", "tcl", "docker", "perl", "ruby"}
#: Signs before a string and after one: of what is looked for, compared, a case, a subscript, a pair
#: of a table, a module, a setting that is no prose, what a test expects.
_SOUGHT_BEFORE, _SOUGHT_AFTER = (
    re.compile(r"(?:[=!]~|(?<=\s)~)\s*\Z"),
    re.compile(r"\s*(?:not\s+)?in\b(?!\s*[\[({])"),
)
_IMPORTS = r"import require\w* include\w* from use load source open package"
_SETTINGS = (
    r"run cmd command script exec entrypoint pattern regex regexp path file key id glob selector "
    r"const enum match golden expect\w* want\w*"
)
_NAMED_BEFORE = re.compile(
    r"(?:[=!]==?|/=|\b(?:eq|ne|eql|is|is not|i?like|rlike|glob)|\s-[ci]?(?:eq|ne|like|match))\s*\Z"
    r"|[\w\])>]\s?\[\s*\Z|(?<![\w-])(?:case|when|in)\b[^:;{}\n]*\Z|\bfrom\s*\Z"
    rf"|^\s*(?:{one_of(_IMPORTS)})\b[^\n;=:]*\Z"
    rf"|(?i:(?<![^\W_])(?:{one_of(_SETTINGS)})[\"']?\s*[:=]\s*\[?\s*\Z)"
    r"|\b(?:MATCHES|STREQUAL|FIND|REGEX \w+|\w+_EXPRESSION|msgid)\s+\Z"
    r"|(?:\.(?:to|should)\w* \w+|\bshould\w+)\s+\Z",
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
#: Strings before a string, but for names of settings; a prefix of it.
_STRING = re.compile(r"(?:\"[^\"\n]*\"|'[^'\n]*')(?!\s*[:=])")
_PREFIX = re.compile(r"(?<!\w)[bBuUrRfFL@$]{1,2}\Z")


def is_key(text: str, span: Span, language: str) -> bool:
    """Returns whether a string is a key by what is around it: an argument of a call that looks it
    up or looks for it, a subscript, a case, a side of a comparison, a step of a test."""
    start, end = span
    before = _STRING.sub('""', _PREFIX.sub("", text[max(0, start - BEFORE) : start]))
    after = text[end : end + AFTER]
    call = _CALL.search(before)
    command = None if call or language not in _SHELLS else _COMMAND.search(before)
    name = (call or command or {"name": ""})["name"].lower().replace("_", "").rstrip("!?")
    return (
        name in _SEEKS
        or name in (_COMMANDS if command else _NAMES)
        or bool(_EXPECTS.fullmatch(name))
        or bool(_SOUGHT_BEFORE.search(before) or _SOUGHT_AFTER.match(after))
        or _is_named(language, before, after)
        or _is_script(text, start)
    )


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
