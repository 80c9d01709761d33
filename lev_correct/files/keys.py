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
#: Names of calls, in small letters without underscores, that look in a text for what a string says,
#: or whose argument names a thing; such commands; and calls of tests.
_NAMES = set(
    "arraykeyexists arraysearch at awk basename chdir compare compareto compile contain contains "
    "containsstring count cut define del delattr delete deleteitem dirname dispatch emit endswith "
    "endwith entry environ eq eql exec execute exists expr fetch "
    "fgrep egrep file filereader filewriter find findall findfirst finditer fopen forname freopen "
    "fullmatch get getattr getattribute getbyname getelementbyid getenv getitem getkey getopt "
    "getordefault getorelse getproperty getresource getstring getvalue grep grepl gsub has hasattr "
    "haskey hasownproperty hasprefix hassuffix import importmodule inarray include includes index "
    "indexof instr isfile isset join key lastindexof load loads lookup match matchall matches "
    "memcmp mkdir mustcompile newfile of off on once open opendir openfile path pattern pop popen "
    "pregmatch pregreplace put putenv putifabsent putitem queryselector queryselectorall readfile "
    "readfilesync regex regexp regexpmatch register registerhandler regsub remove removeitem "
    "removeprefix removesuffix rename replace replaceall require requireonce resource rfind rg "
    "rindex run scanf search sed set setattr setattribute setdefault setenv setitem setproperty "
    "spawn split sscanf startswith startwith stat strcasecmp strcasestr strcmp strcoll "
    "stringcompare strncasecmp strncmp strpos strptime strstr strtok sub subn system "
    "trigger trimprefix trimsuffix unlink wcscmp writefile".split()
)
_COMMANDS = set(
    "awk cat cd chmod cp cut dict egrep export expr fgrep find grep gsub include index info ln "
    "load ls lsearch match mkdir mv open regexp regsub replace require rg rindex rm scanf search "
    "sed source split sscanf string sub switch test touch unset".split()
)
_EXPECTS = re.compile(
    one_of(
        r"\w*assert\w+ \w*equal\w* are\w*same should\w+ to(?:be|contain|equal|match|throw)\w* "
        r"(?:to)?have\w+ raiseerror \w*bytext (?:has|with|expect)\w*(?:eq|error|message)\w*"
    )
)
_SHELLS = {"bash", "fish", "tcsh", "tcl", "docker", "perl", "ruby"}
_IMPORTS = r"import require\w* include\w* from use load source open package"
_SETTINGS = (
    r"run cmd command script exec entrypoint pattern regex regexp path file key id glob selector "
    r"const enum match golden expect\w* want\w*"
)
#: What is around a string, which a zero byte stands for: it is looked for, compared, a case, a
#: subscript, the first of a pair, a module, a setting that is no prose, what a test expects; and
#: what comes after it, unless it is one of two values.
_AROUND = re.compile(
    r"(?:[=!](?:==?|~)|/=|(?<=\s)~|\b(?:eq|ne|eql|is|is not|i?like|rlike|glob)"
    r"|\s-[ci]?(?:eq|ne|like|match))\s*\0"
    r"|[\w\])>]\s?\[\s*\0|(?<![\w-])(?:case|when|in)\b[^:;{}\n]*\0|\bfrom\s*\0"
    r"|(?:[\[{,]\s*\{|[\[,]\s*\()\s*\0\s*,"
    rf"|^\s*(?:{one_of(_IMPORTS)})\b[^\n;=:]*\0"
    rf"|(?i:(?<![^\W_])(?:{one_of(_SETTINGS)})[\"']?\s*[:=]\s*\[?\s*\0)"
    r"|\b(?:MATCHES|STREQUAL|FIND|REGEX \w+|\w+_EXPRESSION|msgid)\s+\0"
    r"|(?:\.(?:to|should)\w* \w+|\bshould\w+)\s+\0",
    re.MULTILINE,
)
_AFTER = re.compile(
    r"\s*(?:=>|->(?!\s*\w+\()|[=!]==?|/=|=~|(?:eq|ne|(?:not\s+)?in)\b|\.equals\w*\(|:(?![:=]))"
)
_ALTERNATIVE = re.compile(r"\?[^?:;\n]*\Z|\b(?:else|lambda\b[^:\n]*)\s*\Z")
#: The same in languages with one sign for to be and to become; in a shell; in Perl.
_BY_ONE = set(
    "ada bash cbmbas delphi fsharp mysql ocaml plpgsql postgresql qbasic smalltalk sml sql tsql "
    "vb.net vbscript".split()
)
_COMPARED_BY_ONE = re.compile(
    r"(?i)(?:\b(?:if|elsif|elseif|while|until|where|and|or|having|when)\b|\[)[^\n;]*?[^=!<>:\n]=\s*\0"
)
_OF_LANGUAGE = {
    "bash": re.compile(r"(?:\A|\n|;;|\bin\b|\|)\s*\0\s*[)|]"),
    "perl": re.compile(r"\{\0\}"),
}
_SCRIPTS = re.compile(r"\"scripts\"\s*:\s*\{[^{}]*\Z")
#: Strings before a string, but for names of settings; a prefix of it.
_STRING = re.compile(r"(?:\"[^\"\n]*\"|'[^'\n]*')(?!\s*[:=])")
_PREFIX = re.compile(r"(?<!\w)[bBuUrRfFL@$]{1,2}\Z")


def is_key(text: str, span: Span, language: str) -> bool:
    """Returns whether a string is a key by what is around it: an argument of a call that looks it
    up or looks for it, a subscript, a case, a side of a comparison, a step of a test, a command of
    ``package.json``."""
    start, end = span
    before = _STRING.sub('""', _PREFIX.sub("", text[max(0, start - BEFORE) : start]))
    after = text[end : end + AFTER]
    call, is_command = _CALL.search(before), False
    if not call and language in _SHELLS:
        call, is_command = _COMMAND.search(before), True
    name = call["name"].lower().replace("_", "").rstrip("!?") if call else ""
    if name in (_COMMANDS if is_command else _NAMES) or _EXPECTS.fullmatch(name):
        return True
    if _AFTER.match(after) and not _ALTERNATIVE.search(before):
        return True
    around = [_AROUND]
    if language in _BY_ONE:
        around.append(_COMPARED_BY_ONE)
    if language in _OF_LANGUAGE:
        around.append(_OF_LANGUAGE[language])
    place = f"{before}\0{after}"
    return any(pattern.search(place) for pattern in around) or bool(_SCRIPTS.search(text, 0, start))
