"""Formats of text: patterns of what in them is no prose."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from html import unescape

#: What is shown for a character that no word touches, and for markup at which a sentence begins: it
#: is white space.
CODE, BREAK = "\0", "\x1e"
#: Signs for what is hidden, the first of them before others: markup at which a sentence begins;
#: spaces; code; markup, over which words are neighbours.
_BREAK, _SPACE, _CODE, _MARKUP = "\1\2\3\4"
_HIDDEN_RUN = re.compile(f"[{_CODE}{_MARKUP}{_SPACE}{_BREAK}]+")
_BLANK, _VISIBLE = re.compile(r"[^\S\n]"), re.compile(r"\S")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|[A-Za-z]\w{1,30});")
#: Words of the patterns below, which name them, too; some are patterns themselves.
_WORDS = {
    # reStructuredText: directives whose bodies are code or names, those whose arguments are prose,
    # fields of types and of names.
    "CODE_BODIES": "autosummary code code-block command-output csv-table digraph doctest graphviz "
    "highlight image include index inheritance-diagram ipython jupyter-execute "
    "literalinclude math mermaid parsed-literal plot productionlist program-output "
    "prompt raw role sourcecode tabularcolumns testcleanup testcode testoutput "
    "testsetup toctree uml",
    "PROSE_ARGUMENTS": "admonition attention card caution centered contents danger deprecated "
    "dropdown epigraph error hint important legend list-table note pull-quote replace rubric "
    "seealso sidebar tab tab-item table tip title todo topic version-added "
    "versionadded version-changed versionchanged version-removed versionremoved "
    "warning",
    "OPTIONS": "alt caption deprecated subtitle summary synopsis title",
    "CODE_FIELDS": "author authors class contact copyright date default file kwtype license "
    "maintainer meta module name organization platform rtype status tags type "
    "vartype version ytype",
    # Comments: tags before a name and prose, tags before prose, programs that read a comment,
    # commands of Doxygen with one argument.
    "NAMED_TAGS": "arg argument option param prop property retval tparam typeparam typeParam "
    "yieldparam",
    "PROSE_TAGS": "attention brief bug deprecated desc description details exception fileoverview "
    "invariant note overview post pre raise remark remarks result return returns short "
    "summary throw throws todo warning yield yieldreturn yields",
    "TOOLS": r"biome c8 clang-format coverage cspell codespell eslint[\w-]* flake8 fmt "
    r"hadolint isort istanbul jshint jslint markdownlint[\w-]* mypy nolint\w* noqa "
    r"nosec nosonar phpcs phpstan pragma prettier-\w+ pylint pyright rubocop ruff "
    "shellcheck swiftlint tslint vi vim yapf",
    "SWITCHES": "disable enable ignore skip off on next env",
    "DOXYGEN": "a c e p cite class copydoc def defgroup enum file fn headerfile include "
    "ingroup link namespace ref relates sa see snippet struct subpage var",
    # TeX: commands whose last argument is prose: words in a sentence, a text of its own, after one
    # of code; environments of prose, and of code whatever stands in them.
    "STYLES": "alert bf bfseries centering emph enquote fbox footnotesize framebox hbox hl "
    "huge Huge it itshape LARGE Large large lowercase makebox MakeLowercase "
    "MakeUppercase mbox noindent normalsize par scriptsize small sout structure "
    "text textbf textit textmd textnormal textquote textrm textsc textsf textsl "
    "textup tiny ul uline underline uppercase uwave",
    "TEXTS": "addchap addsec blockquote caption centerline chapter endnote epigraph footnote "
    "footnotetext framesubtitle frametitle intertext item keywords marginnote "
    "marginpar minisec paragraph part section sidenote subcaption subparagraph "
    "subsection subsubsection subtitle thanks title todo vbox",
    "BOXES": "captionof colorbox href hyperlink hyperref parbox raisebox scalebox textcolor",
    "PROSE_BLOCKS": "abstract acknowledgement acknowledgements acknowledgment acknowledgments "
    "adjustwidth alertblock block center centering claim column columns compactdesc "
    "compactenum compactitem conclusion conjecture cor corollary def defn defi "
    "defin definition description displayquote document dedication enumerate ex "
    "example exampleblock exercise fact figure flushleft flushright frame framed "
    "inparaenum itemize keywords landscape lem lemma letter longtable mdframed "
    "minipage multicols notation note observation part preface problem proof prop "
    "property proposition question quotation quote raggedright rem remark "
    "sidewaystable singlespace sloppypar small solution spacing subfigure summary "
    "table tablenotes tabular tabularx tabulary tcolorbox theorem thm "
    "threeparttable titlepage trivlist verse wrapfigure",
    "ARGUMENT_BLOCKS": "columns? longtable minipage multicols spacing tablenotes tabular[xy]? "
    "tcolorbox wrapfigure",
    "CODE_BLOCKS": "algo align alltt code comment console eqnarray equation filecontents gather "
    "input listing math minted multline output picture plot program shell source "
    "terminal tikz verb",
    # Man pages: requests whose arguments are prose, macros called inside of others.
    "PROSE_REQUESTS": "Dq Nd Pq Qq SH SS Sh Sq Ss",
    "SIGNS": "em en bu lq rq",
    "CALLED": "Ad Ar Cm Dv Er Ev Fa Fl Fn Ft Ic In Li Nm Pa Ql Va Vt Xr",
    # HTML and XML: elements inside sentences, of code, and that may hold one word of prose.
    "IN_WORDS": "abbr b big em font i mark s small span strong sub sup u",
    "CODE_ELEMENTS": "base64 binary checksum classname code command computeroutput constant envar "
    r"filename function\d* guid hash id identifier kbd key keyword\d* literal\d* "
    "literallayout math operator parameter path pattern pre programlisting prompt "
    "regex regexp replaceable samp screen script style synopsis systemitem textarea "
    "token tt type uri url userinput uuid var varname",
    "PROSE_ELEMENTS": "<IN_WORDS> a attribution blockquote body button caption cite dd div dt "
    r"emphasis entry figcaption footer guibutton guilabel guimenu guimenuitem h\d "
    "header label legend li long_description main note option p para primary q "
    "quote refpurpose secondary section short_description simpara string summary td "
    "term text th title",
    "ATTRIBUTES": "alt aria-label caption label placeholder summary title",
    # Front matter of Markdown; blocks of code of templates.
    "PROSE_KEYS": "about abstract alt caption description excerpt heading lead sidebar_label "
    "sub-title subtitle summary tagline title",
    "TEMPLATE_BLOCKS": "codeblock highlight mermaid math raw verbatim",
    # Messages of git: what stands before what they refer to.
    "TRAILERS": "bug cc closes fixes issue link refs",
    # AsciiDoc and Texinfo: macros without prose; blocks, commands before prose and with none.
    "MACROS": "anchor asciimath icon image include indexterm indexterm2 kbd latexmath menu "
    "pass stem toc video",
    "TEXINFO_BLOCKS": "example smallexample lisp smalllisp verbatim display format menu tex iftex "
    "html ifhtml macro direntry ignore",
    "TEXINFO_PROSE": "c comment chapter section subsection subsubsection unnumbered unnumberedsec "
    "appendix heading subheading appendixsec title subtitle settitle top item itemx "
    "tab noindent center emph strong",
    "TEXINFO_CODE": "anchor code command email env file image key kbd math option pxref ref samp t "
    "uref url value var verb xref",
}
#: Parts of the patterns below, which name them in pointed brackets.
_PARTS = {
    # What follows in a sentence and seldom in code: words with nothing else between.
    "SENTENCE": r"\b(?:[^\W\d_]++[,;:]? ){3}[^\W\d_]",
    "LONG": r"\b(?:[^\W\d_]++[,;:]?\s){4}[^\W\d_]",
    # reStructuredText: names of parameters.
    "NAMES": r"\*{0,2}[A-Za-z_][\w.]*(?:, \*{0,2}[A-Za-z_][\w.]*)*",
    # Comments: the beginning of a line, a type.
    "AT": r"^[^\w@\\\n]*",
    # Comments that programs read: a name, a colon and what it gets, or a word that they know.
    "DIRECTIVE": r"(?!TODO|FIXME|NOTE|XXX|HACK|BUG)[A-Za-z][\w.-]*:(?=[A-Za-z]).*"
    r"|(?://)(?:export|extern|line|sys|sysnb) \S+$|\+build\b.*|#cgo\b.*"
    r"|(?:<TOOLS>)\b"
    r"(?:[:(=,]|[-\w]* (?:<SWITCHES>)\b|$|-).*"
    r"|(?:exported|globals?) [\w$]+(?:,.*|\s*\*/)?$|type: .*"
    r"|@ts-[\w-]+.*",
    "TYPE": r"(?:\{(?:[^{}\n]|\{[^{}\n]*\})*\}|\[[^\]\n]*\])",
    # TeX: what comes after one or two arguments of code, arguments in braces.
    "AFTER_CODE": r"<BOXES>|(?:fcolorbox|multicolumn|multirow|resizebox)\*?(?:\[[^\]]*\])?"
    r"\{[^{}]*\}",
    "BRACED": r"\{(?:[^{}\\]|\\(?s:.)|<INNER>)*+\}",
    "INNER": r"\{(?:[^{}\\]|\\(?s:.)|<INMOST>)*+\}",
    "INMOST": r"\{(?:[^{}\\]|\\(?s:.)|\{[^{}]*\})*+\}",
    # HTML: what stands before an attribute of prose; an apostrophe.
    "ATTRIBUTE": r"[^<>]*?\s(?:<ATTRIBUTES>)=[\"']",
    "APOSTROPHE": r"(?:apos|rsquo|#0*39|#8217|#[xX]27|#[xX]2019)",
    # Markdown.
    "TITLE": r"(?:\s+[\"'(](?P<title>[^\n]+?)[\"')])?",
    # White space of a line; what stands between brackets or braces; the end of a word; lines.
    "GAP": r"[^\S\n]*",
    "SPACES": r"[^\S\n]+",
    "OPTION": r"(?:\[[^\]]*\])?",
    "BRACKETED": r"\[[^\]]*\]",
    "BRACKETS": r"\[[^\[\]]*\]",
    "BRACES": r"\{[^{}]*\}",
    "POINTED": r"<[^<>\n]*>",
    "ENDS": r"(?=\s|$)",
    "LINES": r"\n(?:.*\n)*?",
}
_NAMED_PART = re.compile(r"<([A-Z_]+)>")
_TEX_ENVIRONMENT = r"\\begin\{([\w*]+)\}(?:[^\\]|\\(?!(?:begin|end)\{\1\}))*+\\end\{\1\}"
_TEX_MATH = (
    r"\\\((?:[^\\]|\\[^()])*+\\\)|\\\[(?:[^\\]|\\[^\[\]])*+\\\]|\$\$(?:[^$\\]|\\.)*+\$\$"
    r"|\$(?:[^$\\\n]|\\.|\\?\n(?!<GAP>\n))*+\$|\\."
)
_LINE = (
    r"</?(?:<IN_WORDS>)\b[^<>]*>(?P<markup>)",
    r"<!--|-->|</?(?!(?:<IN_WORDS>)\b)[A-Za-z](?:<ATTRIBUTE>(?P<first>[^<>\"]+))?"
    r"(?:<ATTRIBUTE>(?P<second>[^<>\"]+))?[^<>]*>(?P<opening>)",
    r"(?<=[^\W\d_])&<APOSTROPHE>;s\b(?P<space>)",
    r"(?<=[^\W\d_])&(?:<APOSTROPHE>|shy|zwn?j|hyphen|#45);(?=[^\W\d_])"
    r"|(?<![^\W\d_])[^\W\d_]*+&amp;#?\w+;?",
    r"(?<![\w*~\\])(\*{1,3}|~~)(?=[^\s*~])(?P<marked>[^*~]*[^\s*~])\1(?![\w*~])",
    r"!?\[(?P<text>[^\[\]]*)\](?:\([^()\s]*(?:\s+\"[^\"]*\")?\)|<BRACKETS>)",
    r"(?<![\w/.@:~-])(?P<before>[^\W\d_]{2,})/(?P<behind>[^\W\d_]{2,})(?![\w/@-]|\.\w)(?P<space>)",
)
_TAGS = (
    r"(?i:<(<CODE_ELEMENTS>)\b[^<]*(?:<(?!/?\1\b)[^<]*)*</\1\s*>)",
    r"<!--(?!\W{,9}<SENTENCE>)\s*(?:[\w.]+[-:=@/]|#|\$|ko\b)[^<>\n]*?-->",
    *_LINE[:4],
)
_DIRECTIVE = r"(?:^|#|//|/\*|;|--)(?<!:)<GAP>(?:#|//|/\*|;|--)?(?<![:\w])<GAP>(?i:<DIRECTIVE>)"
_PO = (
    r"^msgctxt .*(?:\n\".*)*|^#[,:|~].*|^\"[A-Z][\w-]+: .*\\n\"$",
    r"^msg(?:id|id_plural|str(?:\[\d+\])?)(?= )",
)
_RST = (
    r"^(<GAP>)\.\. (?:<CODE_BODIES>)::.*(?:\n(?:\1<SPACES>\S.*|<GAP>(?=\n)))*",
    r"^(<GAP>)\.\. (?:\|[^|\n]+\| )?(?:(?!(?:<PROSE_ARGUMENTS>)::)[\w:-]+::(?!.*<SENTENCE>)"
    r"(?:<SPACES>\S.*(?:\n\1<SPACES>[^\s:].*)*)?|[\w-]+::)",
    r"^<GAP>\.\. (?P<arguments>.*(?:\n<SPACES>[^\s:].*)*+)"
    r"(?:\n<SPACES>:(?:(?:<OPTIONS>):[ \t]"
    r"(?P<option>.*)|[\w-]+:.*))+",
    r"^(?P<prose>(<GAP>)(?!\.\. )(?:\S.*)?::)<GAP>\n(?:<GAP>\n)+"
    r"(\2<SPACES>)\S.*(?:\n(?:\3.*|<GAP>(?=\n)))*",
    r"^(<GAP>):(?i:<CODE_FIELDS>)\b[^:\n]*:<ENDS>.*(?:\n\1<SPACES>\S.*)*",
    r"^<GAP>:\w[^:\n`]*:<ENDS>(?P<opening>)",
    r"^<GAP>(?:>>> |In \[\d+\]: ).*(?:\n<GAP>\S.*)*",
    r"^<GAP><NAMES> :<ENDS>(?:(?! <SENTENCE>).*)?",
    r"^<GAP>\.\. (?:_[^:\n]+:.*|\[[^\]\n]+\])|\[[#*\w.:-]*\]_|^<GAP>__ .*"
    r"|^([^\w\s])\1+<GAP>$",
    r"``(?:[^`\n]|`(?!`)|\n(?!<GAP>\n))+``|(?<!\w)\|[^|\s]+\|_{0,2}"
    r"|(?:(?<![\w:+.-]):[\w:+.-]+:)?(?<!\w)`(?:(?P<prose>[^`<\n]+(?:\n[^`<\n]+)?)\s<[^`<>]+>"
    r"|[^`\n]+(?:\n[^`\n]+)?)`(?!\d)_{0,2}(?::[\w:+.-]+:)?",
)
#: What is no prose, by format: each match, but for its named groups. One with such a group is
#: markup; ``space`` parts words, at ``opening`` a sentence begins.
FORMATS: Mapping[str, Sequence[str]] = {
    "directive": (_DIRECTIVE,),
    "line": _LINE,
    "rst": _RST,
    "docstring": (
        *_RST,
        r"^(<GAP>)<NAMES><GAP>(?=\n\1<SPACES>\S)",
        r"^<SPACES><NAMES><GAP>\((?![^\n)]*<SENTENCE>)[^()\n]*(?:\([^()\n]*\)[^()\n]*)*\):"
        r"(?P<opening>)",
        r"^<SPACES>\*{0,2}[a-z_][\w.]*:(?=\s)(?P<opening>)",
        r"^<GAP>@(?:type|rtype)\b.*|^<GAP>@[a-z]+(?:<SPACES>\S+)?:(?P<opening>)",
    ),
    "comment": (
        _TAGS[0],
        _DIRECTIVE,
        r"[@\\](code|verbatim|dot|msc|startuml|f\[)\b(?:[^@\\]|[@\\](?!(?:end)?\1))*+[@\\]end\1",
        r"<AT>@examples?\b.*(?:\n(?!<AT>@|.*\*/).*)*",
        r"\{@[^{}]*\}|(?<![\w~])[\w~]*+(?:::[\w~]++)+",
        r"<AT>[@\\](?:<NAMED_TAGS>)\b(?:\[[\w, ]*\])?(?:<GAP><TYPE>)?<SPACES>"
        r"(?:\[[^\]\n]*\]+|[^\s{]\S*)(?:<SPACES>(?:-(?=\s)|\[[^\]\n]*\]))?(?P<opening>)",
        r"<AT>[@\\](?:throws?|exception|raise)<SPACES>[^\s{]\S*(?P<opening>)",
        r"<AT>[@\\](?:<PROSE_TAGS>)\b(?:<GAP><TYPE>)?(?P<opening>)",
        r"<AT>@(?!(?:<NAMED_TAGS>|<PROSE_TAGS>)\b)[A-Za-z][\w-]*+(?!:|.*<SENTENCE>).*",
        r"<AT>@[A-Za-z_][\w.-]*:(?P<opening>)",
        r"[@\\](?:<DOXYGEN>)<SPACES>\S+",
        r"(?<![\w\])}.])\[(?P<label>[A-Za-z][a-z]+)\](?![\w(\[:])",
    ),
    "tex": (
        r"(?P<comment>(?<!\\)%.*)|\\verb\*?([^\w\s*])[^\n]*?\2|\\(?:lstinline|mintinline\{\w+\})"
        r"<OPTION>([^\w\s*{])[^\n]*?\3"
        r"|\\begin\{((?i:(?=\w*(?:<CODE_BLOCKS>)))[\w@*-]+|(?!(?:<PROSE_BLOCKS>)\*?\})[\w@*-]+"
        r"(?=\}(?!(?:[^\\]|\\(?!end\b)){,600}?<LONG>)))\}"
        r"(?:[^\\]|\\(?!(?:begin|end)\{\4\}))*+\\end\{\4\}",
        r"^<GAP>%+<GAP>(?:!|-\*-|Local Variables|End:).*",
        _TEX_MATH,
        r"\\(?:<STYLES>)\*?<OPTION>\{?(?![A-Za-z@])(?P<markup>)",
        r"\\(?:<TEXTS>)\*?(?:<POINTED>)?(?:\[(?P<short>[^\[\]\s]*\s[^\[\]]*)\]|<BRACKETS>)*"
        r"\{?(?![A-Za-z@])(?P<opening>)",
        r"\\(?:<AFTER_CODE>)\*?(?:<BRACKETED>)*(?:<BRACES>)?\{(?P<markup>)",
        r"\\begin\{(?:frame|\w*block)\}(?:<POINTED>|<BRACKETED>)*\{?(?P<opening>)",
        r"\\(?:begin|end)<BRACES>(?:<POINTED>|\[(?P<name>[^\[\]\s=]*\s[^\[\]=]*)\]|<BRACKETED>)*"
        r"(?P<opening>)",
        r"\\begin\{(?:<ARGUMENT_BLOCKS>|(?!(?:<PROSE_BLOCKS>)\*?\})[\w@*-]+)\*?\}(?:<BRACKETED>|<BRACED>)*",
        r"\\(?!(?:(?:<STYLES>|<TEXTS>|<AFTER_CODE>|begin|end)(?![A-Za-z@])))[A-Za-z@]+\*?"
        r"(?:(?:<BRACKETS>|(?!\{[^{}]*?<LONG>)<BRACED>|<POINTED>|#\d)+[^\W\d_]*+)?",
        r"\\(?:re|provide)?(?:new)?(?:command|environment|DeclareMathOperator|def)\*?\s*"
        r"(?:\\[A-Za-z@]+|<BRACKETS>|<BRACED>|#\d|%?\s*\n\s*(?=[\[{]))*",
        r"\{\\tt(?:family)?\b[^{}]*\}",
        r"(?<![^\W\d_])[^\W\d_]*+(?:\\(?:['`^\"~=.]|[cbdHrtuvk](?![A-Za-z]))\s?\{?\\?[A-Za-z]?\}?"
        r"[^\W\d_]*+)++",
        r"(?:~|\\[ ,;:!]|---?|``|'')(?P<space>)",
        r"(?:\\\\|(?<!\\)&)(?P<opening>)",
        r"[{}]",
    ),
    "man": (
        r"^\.(?:nf|EX)\b.*(?:\n(?!\.(?:fi|EE)).*)*|^\.(?:Vb|EQ)\b.*(?:\n(?!\.(?:Ve|EN)).*)*",
        r"^\.<GAP>(?:de1?|am1?|ig)\b.*(?:\n(?!\.<GAP>\.).*)*|^\.TS.*(?:\n.*[^.\n]$)*\n.*\.$",
        r"^\.Bd .*-(?:literal|unfilled).*(?:\n(?!\.Ed).*)*",
        r"^\.S[Hh]<SPACES>\"?SYNOPSIS\"?<GAP>(?:\n(?!\.S[Hh]).*)*"
        r"|^\.S[Hh]<SPACES>\"?NAME\b.*\n.*?\\-",
        r"^[.'](?:<GAP>(?:<PROSE_REQUESTS>)\b(?!.* (?:<CALLED>) )"
        r"|<GAP>(?:B|Em|I|It|SB|SM|Sy)\b(?=.*<SENTENCE>)(?!.* (?:<CALLED>) )"
        r"|\\\"|(?:.*?(?P<prose>\"[^\" \n]+ [^\"\n]* [^\"\n]+\"))?.*)",
        r"^\.T[PQ]\b.*\n(?![.'])\S+$",
        r"(?<![^\W\d_])[^\W\d_]*+(?:\\(?:\((?:['`:^,~/o][A-Za-z]|[aAoO][eE]|ss)|\[[^\]\n\w]\w\]"
        r"|\[u[\dA-F]{4,}\]|\*['`:^,~])[^\W\d_]*+)++",
        r"(?<![\w\\-])(?:[^\W_]|\\-)*+(?:\\f(?!R|P|1|\[R\])(?:[A-Z234]|\((?!C)..|<BRACKETED>)"
        r"(?!<SENTENCE>)(?:[^\\\n]|\\[^f\n])*+"
        r"(?:\\f(?:[RP1]|\[R?\])(?:(?:\\\([ac]q|\\\*\(Aq)?[^\W_]*+)|(?=\\f)|$))+",
        r"\\f(?:C|\(C[A-Z]|\[C\w*\]).*?(?:\\f|$)|\\\*\(C`[^`\n]*?\\\*\(C'",
        r"(?:\\(?:[|^~0 &]|\((?:<SIGNS>)|\[(?:<SIGNS>)\]|\*\([LR]\"))(?P<space>)",
        r"\\(?:[f*n](?:\[[^\]\n]{,40}\]|\(..|.)|s[+-]?\d|\(..|\[[^\]\n]{,40}\]|.)",
    ),
    "html": (
        *_TAGS,
        r"<!\[CDATA\[(?:[^\]]|\](?!\]>))*+(?:\]\]>)?|<!\w(?:[^<>\"]|\"[^\"]*\")*[>\[]?",
        r"(?s:<%.{,999}?%>|<\?.{,999}?\?>|\{\{.{,99}?\}\}|\{%.{,99}?%\})",
        r"<(?!(?i:<PROSE_ELEMENTS>)\b)([A-Za-z][\w:.-]*+)[^<>]*>\s*+[^\s<>]+\s*+</\1\s*>",
    ),
    "markdown": (
        *_TAGS,
        r"(?<![`\\])(`+)(?!`)(?s:.*?)(?<!`)\1(?!`)|<(?:[A-Za-z][\w+.-]+:|[\w.+-]+@)[^<>\s]*>",
        r"!?\[(?=[^\[\]]*\][(\[])(?P<markup>)",
        r"\]\(<?(?:[^()\s]|\([^()\s]*\))*<TITLE>\s*\)|\]\[[^\[\]\n]+\]",
        r"^[ >]*\[(?!\^)[^\[\]\n]+\]:\s*\S+<TITLE><GAP>$",
        r"(?<![\w*~_\\])(\*{1,3}|~~|_|__(?!\w+__))(?![\s*~_])"
        r"(?P<prose>(?:[^*~_\\]|(?<=[^\W_])[*~_]+(?=\w)|\\.)*[^\s*~_])\1(?![\w*~_])",
        r"\[\^[^\[\]\s]+\]:?|\[\[(?:[^\[\]|\n]*\|(?P<prose>[^\[\]|\n]*)|[^\[\]\n]*)\]\]",
        r"^[ >]*:{3,}<GAP>[\w-]*(?P<opening>)",
        r"(?<![\w:]):{1,2}[\w-]+(?=[\[{])(?:\[(?P<text>[^\[\]\n]*)\])?",
        r"(?<![\w:]):[+-]?\w[\w+-]*:(?![\w:])",
        r"\{(?!\W{,9}<SENTENCE>)[^{}\n]*\}"
        r"|^(?:import\b.* from ['\"]|export (?:const|default|function)\b).*",
        r"(?<![\w$\\])\$(?![\s${]|\d[\d.,]*\W*\s\W*[A-Za-z]{2})(?:[^$\n\\`]|\\.)*(?<=[^\s\\])"
        r"\$(?![\w$])",
        r"\\\((?!\W{,9}<SENTENCE>)(?:[^\\]|\\[^()])*+\\\)"
        r"|\\\[(?!\W{,9}<SENTENCE>)(?:[^\\]|\\[^\[\]])*+\\\]",
    ),
    "front matter": (
        r"^[ \t-]*['\"]?[\w./-]+['\"]?<GAP>[:=](?=\s)(?P<opening>)",
        r"^(?!.*<SENTENCE>)(?![ \t-]*(?i:<PROSE_KEYS>)<GAP>[:=]).*",
    ),
    # What reaches over several blocks of Markdown.
    "template": (
        r"^[ >]*\$\$<GAP>(?:\n[^$]*|[^$\n]+)\$\$<GAP>$"
        r"|^<GAP>\\\[<GAP><LINES><GAP>\\\]<GAP>$",
        r"(?s:\{\{[^{}]{,400}\}\}|\{\{[{<%].{,400}?[}>%]\}\}|\{%.{,400}?%\}|<%.{,400}?%>"
        r"|\{#.{,400}?#\}(?!\w))",
        r"\{[%{][-<%]?\s*(<TEMPLATE_BLOCKS>)\b"
        r"(?:[^{]|\{(?![%{][-<%]?\s*(?:/|end)?\1))*+\{[%{][-<%]?\s*(?:/|end)\1",
        _TEX_ENVIRONMENT,
    ),
    "english.po": _PO,
    "po": (*_PO, r"^msgstr.*(?:\n\".*)*"),
    "adoc": (
        r"^(-{4,}|\.{4,}|`{3,}|\+{4,}|/{4,})<GAP><LINES>\1<GAP>$",
        r"^\[(?:source|listing|literal)\b.*\]\n(?![-.]{4})\S.*(?:\n\S.*)*",
        r"^:[\w!-]+:.*|^\[.*\]$|^\w+::\S.*|^[\w.-]+:{2,4}<ENDS>",
        r"(?<![\w:])(?:<MACROS>)::?[^\s\[\]]*\[[^\]\n]*\]|(?<!\w)\+\S[^+\n]*\+(?!\w)",
        r"(?:(?<![\w:])(?:link|xref|mailto|footnote|btn):|https?://)[^\s\[\]]*\[(?P<markup>)",
        r"<<[^<>,\n]*(?:,(?P<prose>[^<>\n]*))?>>",
        r"(?:^\.(?=\w)|\|)(?P<opening>)",
    ),
    "org": (
        r"(?i:^<GAP>#\+begin_(?:src|example|export)\b.*(?:\n(?!<GAP>#\+end_).*)*+)",
        r"(?i:^<GAP>#\+(?!title|caption|description)\w+:?.*)|^<GAP>: .*|^<GAP>:[\w-]+:.*",
        r"(?<!\w)[=~]\S(?:[^=~\n]*[^\s=~])?[=~](?!\w)"
        r"|\[\[(?:[^\[\]]*\]\[)?(?P<text>[^\[\]]*)\]\]",
        r"\[<BRACKETS>\]|\[fn:[^\[\]]*\]|<<POINTED>>|\{\{\{[^{}\n]*\}\}\}"
        r"|\bsrc_\w+<OPTION><BRACES>",
        _TEX_ENVIRONMENT,
        _TEX_MATH,
    ),
    "components": (  # of Svelte and Astro
        r"\A---<LINES>---$|\{(?:[^{}]|<BRACES>)*+\}",
        *_TAGS,
    ),
    "pod": (
        r"^=begin (?!rdoc|comment).*(?:\n(?!=end).*)*|^=(?:head\d|item)(?=\s)|^=\w+.*"
        r"|^<SPACES>\S.*",
        r"[CEFLSXZ](?:<<+ .*? >>+|<[^<>]*>)",
        r"(?:[BI]<(?:<+ )?| >>+|>)(?P<markup>)",
    ),
    "texinfo": (
        r"^@(<TEXINFO_BLOCKS>)\b.*(?:\n(?!@end \1).*)*",
        r"^@(?!(?:<TEXINFO_PROSE>)\b)[a-z]+\b(?![{@]).*",
        r"@(?:<TEXINFO_CODE>)<BRACES>",
        r"(?:@[A-Za-z]+\{?|\})(?P<markup>)",
        r"@.",
    ),
    "bib": (
        r"^@\w+\{.*",
        r"^\s*(?!(?:abstract|annot\w*|note)\b)\w+\s*=.*(?:\n(?!\s*(?:\w+\s*=|\}|@)).*)*",
        r"^\s*\w+\s*=\s*(?P<markup>)|[{}\"](?P<space>)",
        r"\\[A-Za-z]+|\$[^$\n]*\$",
    ),
    "commit": (  # messages of git, with what git writes into their files
        r"^\S+ -{24} >8 -{24}$(?s:.*)",
        r"^#.*",
        # another core.commentChar: git's explanation, at the end; at most 500 lines, since each
        # line of a longer block is tried as the first
        r"^([;@!$%^&|:]).*(?:\n\1(?! -{24} >8).*){2,500}+(?=\s*\Z|\n\1 -{24} >8)",
        # titles that name other commits
        r"\A(?:(?:fixup|squash|amend)! |Merge |Revert \").*",
        r"^(?:[A-Za-z\d]+(?:-[A-Za-z\d]+)+|(?i:<TRAILERS>)):\s.*"
        r"(?:\n<SPACES>\S.*)*",
        r"^\(cherry picked from commit .*",
        r"^ {,3}(`{3,}|~{3,}).*(?:\n(?! {,3}\1).*)*+",
        r"(?<=\n\n)(?: {4}|\t).*(?:\n(?: {4}|\t).*)*",
    ),
    "control": (  # of Debian's packages
        r"^(?!_?(?:Comment|Description|Disclaimer|License)[\w-]*:)\w[\w-]*:.*(?:\n[ \t].*)*",
        r"^License:.*|^\w[\w-]*:|^ \.$",
    ),
}
#: What is shown for the matches of a pattern with such a group.
_SIGNS = {"space": _SPACE, "opening": _BREAK}


@cache
def _patterns(name: str) -> list[tuple[re.Pattern[str], str]]:
    """Returns the patterns of a format, each with the sign for what it hides."""
    patterns = []
    for text in FORMATS[name]:
        pattern = re.compile(_NAMED_PART.sub(_part, text), re.MULTILINE)
        signs = [_SIGNS.get(group, _MARKUP) for group in pattern.groupindex]
        patterns.append((pattern, min(signs, default=_CODE)))
    return patterns


def _part(name: re.Match[str]) -> str:
    return _NAMED_PART.sub(_part, _PARTS.get(name[1]) or one_of(_WORDS[name[1]]))


def one_of(words: str) -> str:
    """Returns a pattern of any of some words, without brackets around it."""
    return "|".join(words.split())


_ENGLISH = re.compile(r"^\"Language: en\b", re.MULTILINE)


def masked(text: str, name: str) -> str:
    """Returns a text with what its format hides :func:`hidden`."""
    if name == "po" and _ENGLISH.search(text):
        name = "english.po"
    places: list[tuple[int, int, str]] = []
    for pattern, sign in _patterns(name):
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


def _decoded(entity: re.Match[str]) -> str:
    """Returns the character that an entity means before spaces; code for what words have."""
    size, char = len(entity[0]), unescape(entity[0])
    if len(char) > 1:
        return _CODE * size
    return CODE * size if char.isalnum() or char in "'\u2019" else char.strip().ljust(size)


def hidden(text: str, sign: str = _CODE) -> str:
    """Returns a text as long that is hidden until it is :func:`settled`, with its white space where
    there is no other."""
    if not text or text.isspace():
        return text
    if text.isascii():
        return text.translate(_as_sign(sign))
    return _BLANK.sub(_SPACE, _VISIBLE.sub(sign, text))


@cache
def _as_sign(sign: str) -> dict[int, str]:
    """Returns what each ASCII character but a line's end becomes that is hidden by a sign."""
    others = [char for char in map(chr, range(128)) if char != "\n"]
    return {ord(char): _SPACE if char.isspace() else sign for char in others}


def as_code(match: re.Match[str]) -> str:
    """Returns the sign of code for each character but line ends."""
    return re.sub(r"[^\n]", CODE, match[0])


def settled(shown: str) -> str:
    """Returns a text with the signs of code for what is hidden, and spaces where prose touches it
    and for markup, breaks where a sentence begins; but none inside a word, between letters at both
    sides; for an entity of HTML with the character that it means."""
    return _HIDDEN_RUN.sub(_settled, _ENTITY.sub(_decoded, shown))


def _settled(run: re.Match[str]) -> str:
    text, (start, end), size = run.string, run.span(), len(run[0])
    following = text[end : end + 2].lstrip("([")  # a bracket parts a word, too
    is_inside = text[start - 1 : start].isalpha() and following[:1].isalpha()
    if is_inside and _SPACE not in run[0] and _BREAK not in run[0]:
        return CODE * size
    blank = BREAK if _BREAK in run[0] else " "
    return blank * size if size < 3 or _CODE not in run[0] else f"{blank}{CODE * (size - 2)}{blank}"
