"""Misspellings that a line mentions: it sets them next to their correction, marks them by [sic],
says that they are misspelt, or that a thing is called so."""

import re
from collections.abc import Callable, Iterable
from functools import cache, reduce

from .units import Span, core_of

#: A change, ``line[start:end]`` and its new text, with its probability.
Change = tuple[tuple[int, int, str], float]
#: Characters on each side of a word that tell whether it is mentioned.
AROUND = 200
#: A pattern and, in the order in which they are put into it, its parts. What an edit writes stands
#: between two \x01 in place of the word, the same or what a list has for it between two \x02 where
#: it stands in the line anyway.
_GRAMMAR = r"""
MENTION =
  # beside its correction
  (?P<side> [\x01\x02]) (?: [^\x01\x02]+ (?P=side) AGAINST | [^\x01\x02]{5,} (?P=side) BESIDE )
    (?!(?P=side)) [\x01\x02]
  | (?: \A | [\n(:] ) \W{0,6} (?P<edge> [\x01\x02]) [^\x01\x02]+ (?P=edge) \W{1,5}
    (?!(?P=edge)) [\x01\x02] [^\x01\x02]+ [\x01\x02] \W* (?: \Z | [\n,;)] )
  | RIGHT \W{1,4} (?: \w+ ,\s? ){1,20} WRONG
  | WRONG (?: ,\s? \w+ ){1,20} \W{1,4} (?<= [>→|=⇒:(/]\s | .[>→|=⇒:(/] ) RIGHT
  | \b (?P<head> \w+ [\s_-] ) WRONG GAP{0,5} INTO GAP{0,5} (?P=head) RIGHT
  | WRONG (?P<tail> [\s_-] \w+\b ) GAP{0,5} INTO GAP{0,5} RIGHT (?P=tail)
  | \b (?: replac|chang|renam|correct|fix|turn|substitut|swap|switch|convert ) \w* REST{0,40} WRONG
    (?: QUOTE \s to \s QUOTE RIGHT | REST{0,40} \b (?: with | by | into ) \W{1,3} RIGHT
      | REST{0,40} \b to \W{1,3} RIGHT (?= \W*\Z | ["'`”’»,.;)] ) )
  | \b TYPO NEAR (?: WRONG NEAR RIGHT | RIGHT NEAR WRONG )
  | (?: WRONG NEAR RIGHT | RIGHT NEAR WRONG ) NEAR \b TYPO
  | WRONG NEAR \b TYPO NEAR RIGHT | RIGHT NEAR \b TYPO NEAR WRONG
  # marked, or said to be misspelt
  | WRONG \W{0,3} (?: \w+ \W+ )? [\[({<*_]+ !?sic\b
    | \b sic (?: \s [^<>\n]* )? [>|{] \W{0,2} WRONG
  | \b TYPO [^\n.\x01\x02]{0,40}? (?: : \s QUOTE | OPENS ) LIST{0,9} WRONG
  | (?!typos\ \x01) \b TYPO (?: \s (?: like | such\ as | includ\w+ | are
    | THING ) )? \W{1,3} LIST{0,9} NAME
  | \b TYPO NEAR \( (?: \w+ ,\s )* WRONG (?: , | \) )
  | \b TYPO NEAR QUOTED | QUOTED \s TYPO
  | \b TYPO \s (?: as | of ) \s (?: the\s )? (?: THING\s )? QUOTE WRONG
  | WRONG QUOTE \s (?: is | was | are | were | looks
    | seems ) \s (?: \w+ \s ){0,4}? TYPO (?!\ out)
  | WRONG QUOTE (?: \s? [(\[] | : \s | \s (?: [\#*–—] | -+ | // ) \s ) (?: \w+ \s ){0,3} TYPO
  | (?<!\ba\s) (?<!\ban\s) NAME \s (?: typo | misspelling )\b
  # a name
  | \b (?: THING s? (?: \s (?: is | are | was | were ) )?
      | (?: an? | any | each | its? | no | one | some | that | the | this ) \s (?: \w+ \s )?
        (?! are\b | be\b | been\b | being\b | is\b | so\b | was\b | were\b ) \w+ )
    \s (?: called | dubbed | entitled | labell?ed | named | titled ) \s QUOTE NAME
  | \b THING [\s:=]{1,2} (?: (?: is | was | of | like ) \s )? OPENS WRONG CLOSES
  | OPENS WRONG CLOSES \s THING \b
  | \b (?: old | former | deprecated | legacy | wrong | incorrect | original | previous ) \s
    (?: alias | form | identifier | keyword | name | spelling | term | variant
      | word ) s? \s QUOTE NAME
  | \b (?: the | this | that ) \s (?: name | noun | term | verb | word ) \s WRONG \s (?: means
    | comes
      | derives | refers | appears | occurs | is \s (?: used | often | also | an? | not\ a
        | spel\w+ ) )

AGAINST = (?:
    (?: TAG | GAP ){0,9} (?: TAG | [-=~]+> | <[-=~]+ | [→⇒⟶➔➜←↔≠|/=\t] | \s[<>]\s | -\]\s?\{\+
      | \s\s | CLOSES \s? [,:;]? \s? OPENS
      | QUOTE \s? (?: instead\ of | rather\ than | in\ place\ of
        | (?: should | ought | must ) (?: \ \w+ ){0,2} ) \s ) (?: TAG | GAP ){0,9}
  | \s? \( \W{0,2} (?= [\x01\x02] [^\x01\x02]+ [\x01\x02] \W{0,2} \) ) )

BESIDE = (?: GAP | [?!] (?=\s\() ){1,5} (?:
    \b (?: into | not | (?:is\ )?now | or | over | use | versus | vs | write ) \b GAP{1,4}
  | \b (?: and | as | by | for | from | to | with ) \s OPENS
  | (?<=CLOSES\s) (?: as | by | for | from | to | with ) \s
  | FILLER{0,4} \b (?: actually | alias | became | becomes? | changed | corrected | deprecated
    | error
      | fixed | formerly | incorrectly | instead | meant? | means | mistake | mis-?sp\w+
        | mis-?typed
      | obsolete | rather | renamed | replaced | should | spell(?:ed|ing|s)? | spelt | typo
        | wrongly
      | (?: you | i | he | she | they | we ) \s (?: wrote | typed | said )
      | (?: correct | incorrect | proper | right | wrong ) (?!\s[\x01\x02]) )
    GAP{1,5} FILLER{0,4} )

FILLER = (?: \b (?: also | an? | as | be(?:en)? | by | common(?:ly)? | correct(?:ly)? | for
  | form | from
    | he | here | i | in | is | it | its | known | mis-?sp\w+ | must | not | now | of | often
      | ought | she
    | some | sometimes | spell(?:ed|ing) | than | the | they | to | use | usually | was | we
      | were | with
    | word | would | wrong(?:ly)? | you ) GAP{1,5} )

NAME = \x01 (?! [^\x01]* ly\x01 | (?: a | about | after | again | all | along | and | any | are
  | as | at
    | because | been | before | between | but | by | during | each | either | else | every
      | everywhere
    | for | from | have | if | in | inside | instead | into | is | it | its | later | like
      | more | of
    | off | on | once | only | or | other | otherwise | out | outside | over | since | so
      | some | still
    | such | than | that | the | their | then | there | they | this | through | throughout | to
      | today
    | together | too | twice | under | until | upon | using | was | were | when | whenever | where
    | whether | which | while | will | with | within | without | you )\b ) [^\x01]+ \x01

TYPO = (?: typos? (?: \ (?: errors? | fix(?:e[sd])? ) )? | typo'?ed | mis-?spel\w* | mispel\w*
    | mis-?typ\w* | spellings? (?: \ (?: errors? | mistakes? | fix(?:e[sd])? ) )? | spelled
      | spelt )\b

THING = (?: alias | argument | attribute | branch | class | column | command | constant
  | directory
    | element | entered | enum | event | field | file | flag | folder | function | header
      | identifier
    | key | keyword | label | macro | method | module | names? | node | noun | option | package
      | param
    | parameter | path | property | query | reads? | says? | setting | spells? | string
      | symbol | table
    | tag | term | token | types? | typed | variable | verb | words? | writes? | wrote )

INTO = (?: [-=~]+> | [→⇒] | \b (?: by | instead\ of | into | not | to | with ) \b )

NEAR = (?: (?! [.!?…]\s ) [^\n\x01] ){0,60}

LIST = (?: \w+ (?: ,\s | \s(?:and|or)\s | / ) QUOTE )

QUOTED = (?: "[^"\n]* WRONG [^"\n]*" | '[^'\n]* WRONG [^'\n]*' | `[^`\n]* WRONG [^`\n]*` )

QUOTE = ["'`“”‘’«»*_]{0,3}

OPENS = ["'`“‘«]

CLOSES = ["'`”’»]

TAG = </?\w[^<>\n]*>

GAP = (?: (?! [.!?…]\s ) [^\w\n\x01\x02] )

REST = [^\n.;!?\x01\x02]

WRONG = (?: \x01 [^\x01]+ \x01 )

RIGHT = (?: \x02 [^\x02]+ \x02 )
"""

#: What the line of any mention has.
_SIGN = re.compile(
    r"(?i)\x02|sic\b|typo|mis-?sp|mispel|mis-?typ|spell|spelt|called|dubbed|entitled|label|named"
    r"|titled|(?:alias|form|identifier|keyword|name|noun|term|variant|verb|word|[\"'`“‘«])s?[\W_]*\x01"
)


@cache
def _mention() -> re.Pattern[str]:
    """Returns the pattern, which takes 30 ms to compile."""
    rules = (rule.partition(" =") for rule in _GRAMMAR.strip().split("\n\n"))
    pattern = reduce(lambda pattern, rule: pattern.replace(rule[0], rule[2]), rules, "MENTION")
    return re.compile(pattern, re.VERBOSE | re.IGNORECASE)


def mentioned(
    line: str,
    changes: Iterable[Change],
    listed: Callable[[str], Iterable[str]],
) -> list[Span]:
    """Returns where the words stand that a line mentions, of those that changes are of.

    Args:
        listed: the corrections that a list has for a word.
    """
    found = list[Span]()
    for (start, end, after), _ in changes:
        word = core_of(line[start:end]).lower()
        others = map(re.escape, filter(None, (core_of(after), *listed(word))))
        right = re.compile(rf"(?i)(?<!\w)(?:{'|'.join(others)})(?!\w)")
        before, behind = line[max(start - AROUND, 0) : start], line[end : end + AROUND]
        # the same word elsewhere may be used there
        around = (right.sub("\2\\g<0>\2", part) for part in (before, behind))
        marked = re.sub(rf"(?i){re.escape(word)}", f"\1{after}\1", line[start:end], count=1)
        text = marked.join(around)
        if word and after and _SIGN.search(text) and _mention().search(text):
            found.append((start, end))
    return found
