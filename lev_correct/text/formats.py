"""Formats of text: patterns of what in them is no prose."""

import re
from collections.abc import Mapping, Sequence

#: What is shown for a character that no word touches.
CODE = "\0"
#: An escape of a string.
ESCAPE = re.compile(r"\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|[0-7]{1,3}|.)")
#: Signs for what is hidden: code; markup, over which words are neighbours; spaces in either.
_CODE, _MARKUP, _SPACE = "\1\2\3"
_HIDDEN_RUN = re.compile(f"[{_CODE}{_MARKUP}{_SPACE}]+")

#: reStructuredText: directives whose bodies are code or names, and those whose arguments are prose.
_CODE_BODIES = (
    "autosummary|code|code-block|command-output|csv-table|digraph|doctest|graphviz|highlight|image|"
    "include|index|ipython|literalinclude|math|parsed-literal|plot|productionlist|prompt|raw|"
    "sourcecode|testcode|testoutput|testsetup|toctree"
)
_PROSE_ARGUMENTS = (
    "admonition|attention|caution|danger|deprecated|error|hint|important|note|rubric|seealso|"
    "sidebar|tip|topic|versionadded|versionchanged|versionremoved|warning|list-table|table"
)
_TEX_CODE = (
    "begin|bibitem|bibliography|bibliographystyle|cite|citep|citet|DeclareMathOperator|def|"
    "documentclass|end|eqref|geometry|hypersetup|include|includegraphics|input|label|"
    "lstinputlisting|newcommand|newenvironment|pageref|RequirePackage|ref|renewcommand|setcounter|"
    "setlength|url|usepackage|verb|vspace|hspace"
)
_TEX_BLOCKS = "verbatim|lstlisting|minted|equation|align|eqnarray|gather|multline|tikzpicture"
#: Requests of man pages whose arguments are prose.
_PROSE_REQUESTS = "B|Dq|Em|I|Nd|Pq|Qq|SB|SH|SM|SS|Sh|Sq|Ss|Sy"
_QUOTED = r"\"[^\" \n]+ [^\"\n]* [^\"\n]+\""
_NAME_IN_BRACKETS = r"(?:\[[^\]\n]{,40}\]|\(..|.)"

_IN_WORDS = "abbr|b|big|em|font|i|mark|s|small|span|strong|sub|sup|u"
_LINE = (
    rf"</?(?:{_IN_WORDS})\b[^<>]*>(?P<markup>)",
    rf"<!--|-->|</?(?!(?:{_IN_WORDS})\b)[A-Za-z][^<>]*>(?P<space>)",
    r"(?<![\w*~\\])(\*{1,3}|~~)(?=[^\s*~])(?P<marked>[^*~]*[^\s*~])\1(?![\w*~])",
    r"!?\[(?P<text>[^\[\]]*)\](?:\([^()\s]*(?:\s+\"[^\"]*\")?\)|\[[^\[\]]*\])",
    r"(?<![\w/.@:~-])(?P<first>[^\W\d_]{2,})/(?P<second>[^\W\d_]{2,})(?![\w/@-]|\.\w)(?P<space>)",
)
_TAGS = (
    r"(?i:<(code|kbd|pre|samp|script|style|textarea|tt|var)\b[^<]*(?:<(?!/?\1\b)[^<]*)*</\1\s*>)",
    *_LINE[:2],
)
_TITLE = r"(?:\s+[\"'(](?P<title>[^\n]+?)[\"')])?"

_TEXINFO_BLOCKS = (
    "example|smallexample|lisp|smalllisp|verbatim|display|format|menu|tex|iftex|html|ifhtml|macro|"
    "direntry|ignore"
)
_TEXINFO_PROSE = (
    "c|comment|chapter|section|subsection|subsubsection|unnumbered|unnumberedsec|appendix|heading|"
    "subheading|appendixsec|title|subtitle|settitle|top|item|itemx|tab|noindent|center|emph|strong"
)
_TEXINFO_CODE = (
    "anchor|code|command|email|env|file|image|key|kbd|math|option|pxref|ref|samp|t|uref|url|value|"
    "var|verb|xref"
)

_PO = (
    r"^msgctxt .*(?:\n\".*)*|^#[,:|~].*|^\"[A-Z][\w-]+: .*\\n\"$",
    r"^msg(?:id|id_plural|str(?:\[\d+\])?)(?= )|\\[^nt]",
    r"\\[nt](?P<space>)",
)
#: What is no prose, by format: each match, but for its named groups. One with such a group is
#: markup, ``space`` parts words.
FORMATS: Mapping[str, Sequence[str]] = {
    "line": _LINE,
    "rst": (
        rf"^([ \t]*)\.\. (?:{_CODE_BODIES})::.*(?:\n(?:\1[ \t]+\S.*|[ \t]*(?=\n)))*",
        rf"^[ \t]*\.\. (?:\|[^|\n]+\| )?(?:(?!(?:{_PROSE_ARGUMENTS})::)[\w:-]+::.*|[\w-]+::)",
        r"^(?P<prose>([ \t]*)(?!\.\. )(?:\S.*)?::)[ \t]*\n(?:[ \t]*\n)+"
        r"(\2[ \t]+)\S.*(?:\n(?:\3.*|[ \t]*(?=\n)))*",
        r"^[ \t]*:[\w -]+:(?=\s|$)|^[ \t]*\.\. _[^:\n]+:.*|^[ \t]*__ .*|^([^\w\s])\1+[ \t]*$",
        r"``(?:[^`\n]|`(?!`)|\n(?![ \t]*\n))+``|(?<!\w)\|[^|\s]+\|"
        r"|(?:(?<![\w:+.-]):[\w:+.-]+:)?(?<!\w)`(?:(?P<prose>[^`<\n]+(?:\n[^`<\n]+)?)\s<[^`<>]+>"
        r"|[^`\n]+(?:\n[^`\n]+)?)`(?!\d)_{0,2}(?::[\w:+.-]+:)?",
    ),
    "tex": (
        rf"\\begin\{{((?:{_TEX_BLOCKS})\*?)\}}(?:[^\\]|\\(?!end\{{\1\}}))*+",
        rf"\\(?:{_TEX_CODE})\b\*?(?:\[[^\]]*\])*(?:\{{[^{{}}]*\}})*|\\href\{{[^{{}}]*\}}",
        r"\\(?:[A-Za-z@]+\*?|.)|[{}~]|(?<!\\)\$\$?[^$]*\$\$?|\\\(.*?\\\)|(?s:\\\[.*?\\\])",
    ),
    "man": (
        r"^\.(?:nf|EX)\b.*(?:\n(?!\.(?:fi|EE)).*)*",
        r"^\.Bd (?:-literal|-unfilled).*(?:\n(?!\.Ed).*)*",
        rf"^[.'](?:[ \t]*(?:{_PROSE_REQUESTS})\b|\\\"|(?:.*?(?P<prose>{_QUOTED}))?.*)",
        rf"\\(?:[f*n]{_NAME_IN_BRACKETS}|s[+-]?\d|\(..|\[[^\]\n]{{,40}}\]|.)",
    ),
    "html": (
        *_TAGS,
        r"(?s:<!\w[^<>]*>|<%.{,999}?%>|<\?.{,999}?\?>|\{\{.{,99}?\}\}|\{%.{,99}?%\})|&#?\w+;",
    ),
    "markdown": (
        *_TAGS,
        r"(?<![`\\])(`+)(?!`)(?s:.*?)(?<!`)\1(?!`)|<(?:[A-Za-z][\w+.-]+:|[\w.+-]+@)[^<>\s]*>",
        r"!?\[(?=[^\[\]]*\][(\[])(?P<markup>)",
        rf"\]\(<?(?:[^()\s]|\([^()\s]*\))*{_TITLE}\s*\)|\]\[[^\[\]\n]+\]",
        rf"^[ >]*\[[^\[\]\n]+\]:\s*\S+{_TITLE}[ \t]*$",
        r"(?<![\w*~_\\])(\*{1,3}|~~|_|__(?!\w+__))(?![\s*~_])"
        r"(?P<prose>(?:[^*~_\\]|(?<=[^\W_])[*~_]+(?=\w)|\\.)*[^\s*~_])\1(?![\w*~_])",
    ),
    "english.po": _PO,
    "po": (*_PO, r"^msgstr.*(?:\n\".*)*"),
    "adoc": (
        r"^(-{4,}|\.{4,}|`{3,}|\+{4,}|/{4,})[ \t]*\n(?:.*\n)*?\1[ \t]*$",
        r"^:[\w!-]+:.*|^\[.*\]$|^\w+::\S.*",
    ),
    "org": (
        r"(?i:^[ \t]*#\+begin_(?:src|example|export)\b.*(?:\n(?![ \t]*#\+end_).*)*+)",
        r"(?i:^[ \t]*#\+(?!title|caption|description)\w+:?.*)|^[ \t]*: .*|^[ \t]*:[\w-]+:.*",
        r"(?<!\w)[=~]\S(?:[^=~\n]*[^\s=~])?[=~](?!\w)|\[\[[^\[\]]*\]\[?|\]\]",
    ),
    "components": (  # of Svelte and Astro
        r"\A---\n(?:.*\n)*?---$|\{(?:[^{}]|\{[^{}]*\})*+\}",
        *_TAGS,
        r"&#?\w+;",
    ),
    "pod": (
        r"^=begin (?!rdoc|comment).*(?:\n(?!=end).*)*|^=(?:head\d|item)(?=\s)|^=\w+.*|^[ \t]+\S.*",
        r"[CEFLSXZ](?:<<+ .*? >>+|<[^<>]*>)",
        r"(?:[BI]<(?:<+ )?| >>+|>)(?P<markup>)",
    ),
    "texinfo": (
        rf"^@({_TEXINFO_BLOCKS})\b.*(?:\n(?!@end \1).*)*",
        rf"^@(?!(?:{_TEXINFO_PROSE})\b)[a-z]+\b(?![{{@]).*",
        rf"@(?:{_TEXINFO_CODE})\{{[^{{}}]*\}}",
        r"(?:@[A-Za-z]+\{?|\})(?P<markup>)",
        r"@.",
    ),
    "bib": (
        r"^@\w+\{.*",
        r"^\s*(?!(?:abstract|annot\w*|note)\b)\w+\s*=.*(?:\n(?!\s*(?:\w+\s*=|\}|@)).*)*",
        r"^\s*\w+\s*=\s*(?P<markup>)|[{}\"](?P<space>)",
        r"\\[A-Za-z]+|\$[^$\n]*\$",
    ),
    "control": (  # of Debian's packages
        r"^(?!_?(?:Comment|Description|Disclaimer|License)[\w-]*:)\w[\w-]*:.*(?:\n[ \t].*)*",
        r"^License:.*|^\w[\w-]*:|^ \.$",
    ),
}
_PATTERNS = {
    name: [re.compile(pattern, re.MULTILINE) for pattern in patterns]
    for name, patterns in FORMATS.items()
}
_ENGLISH = re.compile(r"^\"Language: en\b", re.MULTILINE)


def masked(text: str, name: str) -> str:
    """Returns a text with what its format hides :func:`hidden`."""
    if name == "po" and _ENGLISH.search(text):
        name = "english.po"
    places: list[tuple[int, int, str]] = []
    for pattern in _PATTERNS[name]:
        sign = " " if "space" in pattern.groupindex else _MARKUP if pattern.groupindex else _CODE
        for match in pattern.finditer(text):
            start = match.start()
            for kept in pattern.groupindex:
                if match[kept]:
                    places.append((start, match.start(kept), sign))
                    start = match.end(kept)
            places.append((start, match.end(), sign))
    pieces, last = [], 0
    for start, end, sign in sorted(places):
        if end > last:
            start = max(start, last)
            pieces += [text[last:start], hidden(text[start:end], sign)]
            last = end
    return "".join([*pieces, text[last:]])


def hidden(text: str, sign: str = _CODE) -> str:
    """Returns a text as long that is hidden until it is :func:`settled`, with its white space where
    there is no other."""
    if text.isspace():
        return text
    return re.sub(r"[^\S\n]", _SPACE, re.sub(r"\S", sign, text))


def settled(shown: str) -> str:
    """Returns a text with the signs of code for what is hidden, and spaces where prose touches it
    and for markup; but none inside a word, between letters at both sides."""
    return _HIDDEN_RUN.sub(_settled, shown)


def _settled(run: re.Match[str]) -> str:
    text, (start, end), size = run.string, run.span(), len(run[0])
    following = text[end : end + 2].lstrip("([")  # a bracket parts a word, too
    is_inside = text[start - 1 : start].isalpha() and following[:1].isalpha()
    if is_inside and _SPACE not in run[0]:
        return CODE * size
    return " " * size if size < 3 or _CODE not in run[0] else f" {CODE * (size - 2)} "
