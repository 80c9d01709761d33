"""Kinds of code in a text: what a program fills in or runs has to stand in a translation, too."""

import regex

PRINTF, TAGS, LINKS = "printf placeholders", "tags", "links"
TAG = regex.compile(r"<!--(?:(?!<!--).)*?-->|</?[a-zA-Z][\w:.-]*(?=[\s/>])[^<>]*>|</?\d+\s*/?>")
# an element of HTML that has no end, its name, what else it has
VOID = regex.compile(
    r"(?i)<(area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)\b([^<>]*?)\s*/?>"
)
# flags, width, precision and type, in C, gettext, Python, Objective-C, Go, Lua, Ruby …
_VALUE = (
    r"[-+#0'I]*(?:\*(?:\d+\$)?|\d+)?(?:\.(?:\*(?:\d+\$)?|\d+)?)?"
    r"(?:<PRI[a-zA-Z0-9]+>|(?:hh|h|ll|l|L|q|j|z|Z|t)?[a-zA-Z@%])"
)
#: what is replaced whole: a pattern without groups for each kind, which messages name
FORMATS = {
    # Windows, Symfony and phpBB; Apple
    "variables between per cent signs": r"%[A-Z_]{2,}%|%[A-Za-z_][\w.-]+%(?![\w%])|%#@\w+@",
    PRINTF: rf"%(?:\([^()]*\)|\d+\$|\d+:|<\w+>(?=[\w.+-]))?{_VALUE}",
    "placeholders of Qt or Ruby": r"%L?\d+(?![\d.,]*\d)|%\{\w+\}",
    # ERB, Jinja, Template Toolkit; PHP; FreeMarker
    "template code": r"(?:<%|\{%|\[%)(?:(?![<{\[]%|%[\]>}]).)*%[\]>}]|<\?(?:(?!<\?|\?>).)*\?>"
    r"|</?[#@][a-zA-Z][^<>]*>",
    # i18next, Vue
    "references to other messages": r"\$t\([^()]*\)"
    r"|(?<![\w.@])@(?:\.\w+)?:(?:\([^()\s]*\)|[\w-]+(?:\.[\w-]+)*)",
    "placeholders of Lisp": r"(?<!\S)~[adsADS](?!\w)",
    # shells, make, PHP, ECMAScript; Ruby
    "variables": r"\$\{[^{}]*\}|\$\(\w+\)|\$[^\W\d]\w*\$?|\$\d+(?![\d.,]*\d)|#\{[^{}]*\}",
    # Python, .NET, ICU; Mustache, Handlebars, Angular
    "placeholders in braces": r"\{\{\{[^{}]*\}\}\}|\{\{[^{}]*\}\}|\{[^{}]*\}",
}
#: what stays as often as it is there, beside these
GUARDS = {
    # of a wiki, some with their own text; in Markdown
    LINKS: r"\[\[[^\[\]|\n]*(?:\]\]|\|(?=[^\[\]\n]*\]\]))"
    r"|\]\((?:[^()\s]|\([^()\s]*\))+|(?<=\])\[[\w-]+\]",
    "BBCode or short codes": r"\[/?(?:[bius*]|url|img|quote|code|list|size|color|font|center)"
    r"(?:=[^\[\]]+)?\]|\[/\w+\]|\[[\w-]+(?:\s+[\w-]+=[^\[\]\s]*)+\]",
    # mail and content management, Drupal, Maketext; no synopsis of a command
    "names in brackets": r"\[_\d+\]|\[[a-z*#]+,_\d+"
    r"|(?<![\w=\]\[]|[Uu]sage:(?s:.*)|:\s*%s\s(?s:.*))\[(?!OPTIONS?\])"
    r"(?:[A-Z][A-Z\d_]+|[%#@$*+]?[A-Za-z]\w*[_:]\w[\w:.-]*[%#]?|[%#@$*+][A-Za-z]\w+[%#]?)\]"
    r"(?!\.\.|…| ?\[+\w+:)",
    # mail, Mailchimp, TYPO3, Sphinx, Windows
    "names between marks": r"\*\|[^|*\n]+\|\*"
    r"|(?<![\w#@])(?P<wide>##+|@@)[^\W\d](?:[\w .-]*\w)?(?P=wide)(?![\w#@])"
    r"|(?<![\w#%^|!:$])(?P<mark>[#^|]|%%%?|\^\^|\|\||!!|:::?|\$\$)[^\W\d][\w.-]*(?P=mark)"
    r"(?![\w#%^|!:$])",
    # Laravel, emoji, roles of Sphinx: not the ending of a word in quotes
    "names after a colon": r"(?<![\w:/.\\\[>})\]’”»])(?<![\w})\]>:][\"'`]):[A-Za-z_][\w-]*:?",
    # Drupal; i18next
    "names after a mark": r"(?<![\w.@/])@[A-Za-z]\w*@?(?![\w.]*:)|(?<![\w!])![a-z]\w*"
    r"|\b__[A-Za-z]\w*?__\b",
    "escapes": r"\\(?:[nrt0]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2})",
}
_FORMATS = "|".join(FORMATS.values())
#: a tag or what is replaced whole, as a pattern without groups
FIXED = f"(?:{TAG.pattern}|{_FORMATS})"
GUARD = regex.compile("|".join(GUARDS.values()))
# a blank after the per cent sign is a flag of formats alone: "100 % de" is text
FORMAT = regex.compile(_FORMATS), regex.compile(_FORMATS.replace("'I]", "'I ]"))
ORDERED = regex.compile(f"% ?{_VALUE}")  # is identified by its place


def tag_key(tag: str) -> str:
    """Returns what all ways to write a tag have in common: ``<BR />`` and ``<br>`` are one."""
    return VOID.sub(lambda match: f"<{match[1].lower()}{match[2]}>", tag)


def kind_of(code: str) -> str:
    """Returns the kind that a message names a code by; a link is none without what is around it."""
    kinds = {TAGS: TAG.pattern, **FORMATS, **GUARDS}.items()
    return next((kind for kind, pattern in kinds if regex.fullmatch(pattern, code)), LINKS)
