"""Cuts source into comments, strings and code, each language by one pattern: as Pygments does, in a
tenth of its time, since most of a tree is code, of which names alone are asked for."""

import re
from collections.abc import Iterator

from .formats import as_code

#: What a token is, its place and its text.
Token = tuple[str, int, str]

# Python: what is put into a string, with what is put in there; a brace that is written twice.
_PUT_IN = r"\{\{|\{[^{}LINE]*(?:\{[^{}LINE]*\}[^{}LINE]*)*\}"
_STRINGS = [
    rf"{prefix}{quote}(?:{inner}\\(?s:.)|(?!{quote})[^\\{end}])*+(?:{quote}|(?=\n)|\Z)"
    for prefix, put_in in (
        (r"(?<!\w)(?i:r?[ft]r?)", f"{_PUT_IN}|"),
        (r"(?:(?<!\w)(?i:rb?|br|u|b))?", ""),
    )
    for quote, end in (('"""', ""), ("'''", ""), ('"', r"\n"), ("'", r"\n"))
    for inner in (put_in.replace("LINE", end),)
]
_PYTHON = (
    r"(?=[#'\"]|(?i:[rbuft]{1,2}['\"])|^[^\S\n]*+[rRuUbB]{,2}(?:\"\"\"|'{3}))(?:\A#!.+"
    r"|(?P<comment>#.*(?:\s+#.*)*+(?:\s*+(?![rRuUbB]{,2}(?:\"\"\"|''')))?)"
    r"|^[^\S\n]*[rRuUbB]{,2}(?P<doc>\"\"\"[\s\S]*?\"\"\"|'''[\s\S]*?''')"
    rf"|(?P<string>{'|'.join(_STRINGS)}))"
)
# What has no end goes to the end of the text: else each beginning would be sought to there. The
# others: comments side by side are one, with the space after them. All begin with what tells in
# a quarter of the time where there is none.
_ONE = r"(?://(?:\\\n|.)*|/\*(?s:.*?)(?:\*/|\Z))"
_COMMENT = rf"(?P<comment>{_ONE}(?:\s*{_ONE})*+\s*)"
#: A picture among other source (XPM): its size, and rows of signs.
_PICTURE = r"\"\d+(?:\s+\d+){3,5}\s*\"(?:\s*,(?:\s*/\*[^*]*\*/)*\s*\"[^\"\n]*\")++"
_CHARACTER = r"'(?:\\.[^'\n]{,8}|[^'\\\n])'"
#: A directive; what it leaves out is code, too.
_DIRECTIVE = (
    r"^[^\S\n]*#(?:[^\S\n]*if[^\S\n]+0\b(?s:.*?)(?:^[^\S\n]*#[^\S\n]*(?:el|endif)|\Z)"
    r"|(?:[^/\n\\]|\\(?s:.)|/(?![/*]))*+)"
)
_IN_C = (
    r"(?=[/\"'#]|(?:L|u8?|U)\"|R\"|^[^\S\n]*#)"
    rf"(?:{_COMMENT}|{_DIRECTIVE}|{_PICTURE}"
    r"|(?P<string>(?<!\w)(?:R\"(?P<mark>[^\s()\\]{,16})\((?s:.*?)(?:\)(?P=mark)\"|\Z)"
    r"|(?:L|u8?|U)?\"(?:[^\"\\\n]|\\(?s:.))*+\"))"
    rf"|\"(?:[^\"\\\n]|\\(?s:.))*+\"|{_CHARACTER})"
)
#: Strings that end at the next quotation mark without a backslash, over lines.
_QUOTED = r"\"(?:[^\"\\]|\\(?s:.))*+\""
_SINGLE = r"'(?:[^'\\]|\\(?s:.))*+'"
#: What is put into a text between ticks, to its last brace, and what a regular expression follows.
_TEMPLATE = r"\$\{(?:[^{}`]|\{[^{}]*\}|`[^`]*`)*+(?=\})"
_BEFORE = r"(?<=[=(\[{,;:!?&|+*%<>~^\n-]/)|(?<=[=(\[{,;:!?&|+*%<>~^-] /)|(?<=\s\s/)|(?<=return /)"
_REGEX = rf"/(?![/*])(?:{_BEFORE})(?:\\.|[^\[/\\\n]|\[(?:\\.|[^\]\\\n]){{,200}}+\])++/\w*"
_IN_JAVASCRIPT = (
    rf"(?=[/\"'`]|\A#!)(?:\A#! ?/.*|{_COMMENT}|{_REGEX}"
    rf"|(?P<string>{_QUOTED}|{_SINGLE}"
    rf"|`(?:{_TEMPLATE}\}}|[^`\\]|\\(?s:.))*+`))"
)
# A string of an attribute may be a message: #[error("...")], #[arg(help = "...")].
_IN_RUST = (
    rf"(?=[/\"']|br?[\"#]|r[\"#])(?:{_COMMENT}"
    rf"|(?P<string>(?<!\w)b?r(?P<mark>\#{{,9}})\"(?s:.*?)(?:\"(?P=mark)|\Z)|{_QUOTED})"
    rf"|{_CHARACTER})"
)
_IN_C_SHARP = (
    rf"(?=[/\"'@$]|^[^\S\n]*#)(?:{_COMMENT}|^[^\S\n]*\#.*"
    r"|(?P<string>(?:\$@|@\$?)\"(?:[^\"]|\"\")*+\"|\"\"\"(?s:.*?)(?:\"\"\"|\Z)"
    rf"|\$?\"(?:[^\"\\\n]|\\.)*+\")|{_CHARACTER})"
)
#: A value that is put into a string of Kotlin, Scala or Swift may have strings of its own.
_VALUES = r"\$\{[^{}\n]*\}|\\\((?:[^()\n]|\([^()\n]*\))*\)"
_IN_JAVA = (
    rf"(?=[/\"'])(?:{_COMMENT}|(?P<string>\"\"\"(?s:.*?)(?:\"\"\"|\Z)"
    rf"|\"(?:{_VALUES}|[^\"\\\n]|\\.)*+\")|{_CHARACTER})"
)
#: A text over lines, up to its mark at the beginning of one.
_HERE = r"(?P<mark>[A-Za-z_]\w*).*\n(?s:.*?)(?=^[^\S\n]*(?P=mark)\b|\Z)"
_HASH = r"(?P<comment>#(?!\{).*(?:\s+#.*)*+\s*)"
#: A value that is put into a string of Ruby.
_INTO = r"#\{(?:[^{}\"]|\"[^\"\n]*\"|\{[^{}]*\})*+\}"
#: What stands between brackets, or other marks, after a ``%`` of Ruby.
_BRACKETS = (
    r"(?:\((?:[^()]|\([^()]*\))*+\)|\{(?:[^{}]|\{[^{}]*\})*+\}|\[[^\[\]]*\]"
    r"|([|!/])[^|!/]*\1)"
)
#: What looks like a string or comment of Ruby and is none: a character (``?"``), a list of words, a
#: symbol, a command, a regular expression.
_NO_STRING = (
    r"\A#!.+|^__END__$(?s:.*)|(?<![\w)\]}\"'])\?[\"'#/`%<]"
    rf"|(?<=[\s(,=\[])%[wWiIrsx]{_BRACKETS}|:\"[^\"\n]*\"|`[^`]*`"
    rf"|/(?![/*=])(?:{_BEFORE}|(?<=[a-z] /)(?=\S))(?:\\.|[^/\\\n])++/"
)
_IN_RUBY = (
    rf"(?=[#\"'`/%?:<]|^=begin|^__END__)(?:{_NO_STRING}|{_HASH}"
    r"|(?P<doc>^=begin\b(?s:.*?)(?:^=end.*|\Z))"
    rf"|(?P<string>(?<![\w)\]])<<(?:[~-]['\"`]?|['\"`]|(?=[A-Z])){_HERE}"
    rf"|(?<=[\s(,=\[+])%[qQ]?{_BRACKETS}|\"(?:{_INTO}|[^\"\\]|\\(?s:.))*+\"|{_SINGLE}))"
)
#: What stands around the code of PHP.
_AROUND = r"(?:\A(?!<\?)|\?>)(?s:.*?)(?:<\?(?:php|=)?|\Z)"
_ONE_OF_PHP = r"(?:(?://|#(?!\[))(?:(?!\?>).)*|/\*(?s:.*?)(?:\*/|\Z))"
_IN_PHP = (
    rf"(?=\A|[/#\"'<?])(?:{_AROUND}|(?P<comment>{_ONE_OF_PHP}(?:\s*{_ONE_OF_PHP})*+\s*)"
    rf"|(?P<string>{_QUOTED}|{_SINGLE}|<<<['\"]?{_HERE}))"
)
#: The command whose output a shell puts into a string.
_COMMAND = r"\$\((?:[^()\"]|\"[^\"]*\"|\([^()]*\))*+\)"
_IN_SHELL = (
    rf"(?=[#\"'\\<])(?:\\.|\A#!.+|(?<![^\s;]){_HASH}"
    rf"|(?P<string>(?<![\d)<])<<-?(?=\w|[ \t]*[A-Z_'\"\\])[ \t]*['\"\\]?{_HERE}"
    rf"|\"(?:{_COMMAND}|[^\"\\]|\\(?s:.))*+\"|\${_SINGLE}|'[^']*+'))"
)
_NO_MACRO = r"(?!\s*(?:include|define|undef|ifn?def|if|el\w+|endif|error|pragma|import)\b)"
_TOKENS = {
    name: re.compile(pattern, re.MULTILINE)
    for names, pattern in {
        "python": _PYTHON,
        "c cpp": _IN_C,
        "go": rf"(?=[/\"'`])(?:{_COMMENT}|(?P<string>{_QUOTED}|`[^`]*`)"
        rf"|{_CHARACTER})",
        "javascript typescript": _IN_JAVASCRIPT,
        "rust": _IN_RUST,
        "csharp": _IN_C_SHARP,
        "java kotlin scala swift": _IN_JAVA,
        "ruby": _IN_RUBY,
        "php": _IN_PHP,
        "bash": _IN_SHELL,
        # comments as they look, where comments begin so, and where nothing is known
        "hash": rf"(?P<comment>^[^\S\n]*(?:#{_NO_MACRO}|dnl\b).*)",
        "unknown": rf"(?P<comment>^[^\S\n]*(?:#{_NO_MACRO}|//|--(?!\w)|;|%+(?=\s)|(?:dnl|REM)\b"
        r"|[\"'!*]\s).*|\s(?://|#)\s.*|/\*(?s:.{,9999}?)\*/|<!--(?s:.{,9999}?)-->)",
    }.items()
    for name in names.split()
}
#: Kinds of files that are cut here.
SCANNED = frozenset(_TOKENS)
#: How a string begins into which values are put, and these.
_FORMATTED = {"python": re.compile(r"(?i)r?[ft]r?['\"]")}
_FORMATTED |= dict.fromkeys(("javascript", "typescript"), re.compile("`"))
_FORMATTED["bash"] = re.compile('["<]')
_VALUE = re.compile(rf"{_PUT_IN.replace('LINE', '')}|{_TEMPLATE}|{_COMMAND}")
_NAME = re.compile(r"(?<![\w@])(?!(?:and|in|instanceof|is|not|or|typeof)\b)[^\W\d_]{2,}(?!\w)")


def scanned(text: str, language: str) -> Iterator[Token]:
    """Yields the comments, with the space after them, doc strings and strings of a text in one of
    :data:`SCANNED`, code for the values that are put in; the names of its code at the end, each
    once."""
    code, place = list[str](), 0
    formatted = _FORMATTED.get(language)
    for match in _TOKENS[language].finditer(text):
        role = match.lastgroup or "code"
        role = "string" if role == "mark" else role
        start, end = match.span(role if role != "code" else 0)
        value = text[start:end]
        if role == "string" and formatted and formatted.match(value):
            value = _VALUE.sub(_hidden, value)
        if start > place:
            code.append(text[place:start])
            yield "code", place, ""  # two strings with code between them are two
        yield role, start, value
        place = end
    code.append(text[place:])
    yield from (("name", len(text), name) for name in set(_NAME.findall("\n".join(code))))


def _hidden(value: re.Match[str]) -> str:
    return value[0] if value[0] == "{{" else as_code(value)
