"""Which grammar a file is read by: a format of text, a lexer of Pygments, or none that is known."""

import os
import re
from collections.abc import Sequence
from fnmatch import translate
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pygments.lexer import Lexer

#: Kinds that are neither a format of :mod:`.formats` nor a lexer of Pygments: prose; files with
#: comments after a ``#`` that begins a line; files of which nothing is known.
PROSE, HASH, UNKNOWN = "", "hash", "unknown"
MARKDOWN, NOTEBOOK, DIFF, HTML = "markdown", "notebook", "diff", "html"
#: Characters by which a file's kind is told, at most.
HEAD = 8192

#: Kinds, and the names of their files in small letters, where Pygments has another kind or none.
_BY_NAME = """
markdown  *.md *.mdx *.markdown *.mdown *.mkd *.rmd *.qmd
notebook  *.ipynb
po  *.po *.pot
diff  *.diff *.patch
adoc  *.adoc *.asciidoc
org  *.org
bib  *.bib
pod  *.pod
texinfo  *.texi *.texinfo *.txi
control  control copyright *.dsc *.templates pkg-info
html  *.plist *.vcxproj *.docbook *.dbk *.sgml *.ejs *.hbs *.mustache *.phtml *.vue *.xsl *.xslt
components  *.svelte *.astro
hash  *.conf *.cnf *.env .env .env.* .*ignore .*attributes .npmrc .screenrc .inputrc *.muttrc
hash  *.nanorc justfile *.just *.ninja hosts crontab fstab procfile manifest.in *.m4 *.ac *.pri
BashLexer  *.bats *.postinst *.prerm *.postrm *.preinst *.bash_completion
CLexer  *.y *.yy *.dox *.nut *.move
CssLexer  *.postcss *.pcss
DockerLexer  dockerfile.* *.dockerfile containerfile
GnuplotLexer  *.gp *.gnuplot *.dem
GoLexer  go.mod go.work
GroovyLexer  jenkinsfile *.jenkinsfile
IniLexer  .gitconfig .gitmodules
JsonLexer  *.jsonc *.code-workspace *.webmanifest
MakefileLexer  *.am
PythonLexer  *.star *.gyp *.gypi
ScalaLexer  *.sbt
TypeScriptLexer  *.cts *.mts *.gts
WikitextLexer  *.wiki *.mediawiki *.wikitext
"""
#: Names that kinds of files share where Pygments knows one of them, or none by their text: a kind
#: is the file's if its pattern is found, the first one counts.
_BY_NAME_AND_TEXT = r"""
html  *.ts *.tsx *.typ *.mm *.mod *.rs  \A\s*<
man  *.n *.l *.ms *.mm *.me *.x *.m *.[1-9]*  ^[.'](?:TH|Dd|SH|Sh|PP|TL|so)\b
tex  *.cls *.sty *.dtx *.clo  \\(?:NeedsTeXFormat|Provides|documentclass|newcommand|def)\b
VbNetLexer  *.cls *.frm *.bas  ^(?:Attribute|VERSION|Option|Dim|Public|Private|Sub|Function)\b
CbmBasicV2Lexer  *.bas  \A\d+ ?[A-Z]
OpenEdgeLexer  *.cls *.p  (?i:^define (?:variable|temp-table|input)\b|^using\b.*\.$|^class\b.*:$)
DelphiLexer  *.p *.inc *.pp  (?i:^(?:program|procedure|unit) [\w.]+.*;)
MakefileLexer  *.d  \A[\w./-]+ ?:
CLexer  *.cl  \b(?:__)?(?:kernel|global)\b[^;]*\(|^#(?:define|include|pragma)\b
CLexer  *.def *.inc *.i *.l *.x *.fs *.vs *.gs  ^#\s*(?:define|if|ifdef|include|version)\b|^%[%{]
CommonLispLexer  *.l *.lsp  ^\((?:def|in-package|setq)
BashLexer  *.inc  ^(?:SRC_URI|inherit|DEPENDS|SUMMARY)\b
FSharpLexer  *.fs  ^\s*(?:let|module|namespace|open|type)\b
GoLexer  *.v  ^(?:pub )?fn |^import \w+$
IDLLexer  *.pro  (?i:^\s*(?:pro|function)\s+\w+)
hash  *.pro  ^\w+\s*[+*-]?=|^-(?:keep|dont)
Modula2Lexer  *.mod *.def  ^(?:DEFINITION |IMPLEMENTATION )?MODULE\b
PrologLexer  *.pl *.pro *.ecl *.m  ^:- |^\w+\(.*\) ?:-
ScalaLexer  *.sc  ^\s*(?:object|def|val|import [a-z]+\.)
RebolLexer  *.r  ^\s*(?i:REBOL)\b
SLexer  *.r
SmalltalkLexer  *.st  ^!|\bsubclass:
unknown  *.cls *.def *.frm *.l *.lsp *.mod *.p *.pro *.st *.x
"""
#: Kinds of files whose names say nothing, by what is found in them.
_BY_TEXT = r"""
html  *  \A\s*<(?:\?xml|!DOCTYPE|!doctype|html)\b
PhpLexer  *  \A<\?php\b
man  *  ^[.'](?:TH|Dd)\s
"""
#: Lexers that are right where several claim a name and the text tells nothing.
_LIKELY = set(
    "ActionScript3Lexer BugsLexer CLexer CppLexer GasLexer GherkinLexer IniLexer Lean4Lexer "
    "NasmLexer ObjectiveCppLexer PerlLexer RagelCLexer SqlLexer SuperColliderLexer TexLexer "
    "TurtleLexer VbNetLexer VerilogLexer".split()
)
_BY_LEXER = {"RstLexer": "rst", "TexLexer": "tex", "GroffLexer": "man", "TextLexer": PROSE} | {
    name: name for name in "DtdLexer HamlLexer PugLexer ScamlLexer TiddlyWiki5Lexer".split()
}
_TAGGED = ("pygments.lexers.html", "pygments.lexers.markup")
_TEMPLATES = "pygments.lexers.templates"
_TAG = re.compile(r"<[A-Za-z!]")
_TEMPLATE = re.compile(
    r"(?<=\w)\.(?:in|te?mpl|tpl|template|example|sample|dist|orig|bak|old|save|erb|j2|jinja2?"
    r"|mustache|hbs|ejs|liquid|twig)\Z"
)
_SHEBANG = re.compile(r"#!\s*\S*?(?:env\s+(?:-S\s+)?)?@?([A-Za-z]+)[\d.@]*(?:\s|$)")
#: Files of prose, by their endings and by how their names begin.
_PROSE_ENDINGS = set(".txt .text .csv .tsv .log .srt .vtt .en .eml .1st .news .readme".split())
_DOCUMENT = re.compile(
    r"(?=[A-Z]|(?i:read-?me|change-?log|copying|licen[cs]e))(?i:read-?me|news|change(?:s|-?log)|todo"
    r"|install|hacking|copying|copyright|(?:un)?licen[cs]e|bugs|about|history|releases?|notice|faq"
    r"|up(?:grad|dat)ing|contributing)(?![A-Za-z])"
)
_PLAIN_TOKEN = re.compile(r"[(\"'\[*_-]*(?:[^\W\d_]+(?:['\u2019/-][^\W\d_]+)*|\d[\d.,]*)?[\W_]{,4}")
_COMMENT = re.compile(r"\s*(?:#|//|;|/\*|--)")
#: A text without an ending is prose if so many of its tokens are words and numbers, and no more of
#: its lines look like comments: of 470 such files in 14 source trees none of code or settings is.
WORDS, COMMENTS = 0.75, 1 / 3


_HAS_TAGS = re.compile(
    r"\.(?:j2|jinja2?|erb|ejs|hbs|mustache|liquid|twig|te?mpl|tpl|template|sls|sql)(?:\.|\Z)"
)


def is_template(path: str) -> bool:
    """Returns whether tags may stand in a file that its grammar does not know."""
    return bool(_HAS_TAGS.search(os.path.basename(path).lower()))


def has_grammar(path: str) -> bool:
    """Returns whether a file of that name may be something else than prose."""
    return bool(kind_of(path, ()))


def kind_of(path: str, lines: Sequence[str]) -> str:
    """Returns the kind of a file, by its name and its lines: a format of text, the name of a lexer,
    or one of those above."""
    name, text = os.path.basename(path), "\n".join(lines)[:HEAD]
    inner = _TEMPLATE.sub("", name)
    for written in dict.fromkeys((inner, name)):
        if kind := _by_name(written, text):
            return kind
    ending = os.path.splitext(inner)[1].lower()
    if ending in _PROSE_ENDINGS or _DOCUMENT.match(inner):
        return PROSE
    shebang = _SHEBANG.match(text)
    if kind := by_language(shebang[1]) if shebang else _listed(_BY_TEXT, name, text):
        return kind
    is_named = inner != name or (ending and not ending[1:].isdigit())
    return UNKNOWN if is_named or not _looks_like_prose(text) else PROSE


def _looks_like_prose(text: str) -> bool:
    lines = [line for line in text.split("\n") if line.strip()]
    tokens = text.split()
    words = sum(bool(_PLAIN_TOKEN.fullmatch(token)) for token in tokens)
    comments = sum(bool(_COMMENT.match(line)) for line in lines)
    return words >= WORDS * len(tokens) > 0 and comments <= COMMENTS * len(lines)


def by_language(language: str) -> str:
    """Returns the lexer of a language or an interpreter."""
    from pygments.lexers._mapping import LEXERS

    small = language.lower()
    named = (name for name, row in LEXERS.items() if small in row[2])
    return next(named, "BashLexer" if small.endswith("sh") else HASH)


@cache
def _rows(table: str) -> list[tuple[str, re.Pattern[str], re.Pattern[str]]]:
    """Returns the kinds of a table, each with patterns of names and of texts."""
    rows = []
    for line in table.strip().splitlines():
        kind, globs, pattern = [*line.split("  "), ""][:3]
        names = "|".join(map(translate, globs.split()))
        rows.append((kind, re.compile(names), re.compile(pattern, re.MULTILINE)))
    return rows


def _listed(table: str, name: str, text: str) -> str:
    """Returns the first kind of a table that a file may be, else nothing."""
    rows = _rows(table)
    return next((kind for kind, is_it, has in rows if is_it.match(name) and has.search(text)), "")


def _by_name(name: str, text: str) -> str:
    """Returns the kind of a file whose name the tables or Pygments have, else nothing."""
    small = name.lower()
    if kind := _listed(_BY_NAME, small, text) or _listed(_BY_NAME_AND_TEXT, small, text):
        return kind
    ends = [f"*{name[place:]}" for place, char in enumerate(name) if char == "."]
    known = _lexers()
    patterns = [name, *ends, *(end.lower() for end in ends[-1:])]
    claims = next((known[pattern] for pattern in patterns if pattern in known), [])
    if not claims:
        return ""

    def fits(lexer: str) -> tuple[float, bool]:
        return _class(lexer).analyse_text(text), lexer in _LIKELY

    best = max(claims, key=fits) if len(claims) > 1 else claims[0]
    return _of_lexer(best, text) if len(claims) == 1 or any(fits(best)) else UNKNOWN


def _of_lexer(lexer: str, text: str) -> str:
    """Returns the kind that is read for one of Pygments' lexers: of a template its base language,
    of what stands between tags :data:`HTML`."""
    from pygments.lexers._mapping import LEXERS

    module, title = LEXERS[lexer][:2]
    base, plus, _ = title.partition("+")
    if lexer in _BY_LEXER:
        return _BY_LEXER[lexer]
    if module == _TEMPLATES and plus and base not in ("HTML", "XML"):
        return by_language(base)
    if module == _TEMPLATES and not plus and not _TAG.search(text):
        return UNKNOWN
    return HTML if module in (*_TAGGED, _TEMPLATES) else lexer


@cache
def _lexers() -> dict[str, list[str]]:
    """Returns the names of Pygments' lexers by the patterns of file names."""
    from pygments.lexers._mapping import LEXERS

    names: dict[str, list[str]] = {}
    for name, (_, _, _, patterns, _) in LEXERS.items():
        for pattern in patterns:
            names.setdefault(pattern, []).append(name)
    return names


def _class(name: str) -> Any:
    import pygments.lexers

    return getattr(pygments.lexers, name)


@cache
def lexer_of(name: str) -> "Lexer":
    """Returns the lexer of a kind that is one of Pygments'."""
    lexer: Lexer = _class(name)()
    return lexer
