"""Of a Markdown file prose is corrected; what its grammar says is code or an address stays."""

from fake_backend import document, ranking

from lev_correct.files.markdown import read_markdown
from lev_correct.text.units import spans
from lev_correct.words.lexicon import Lexicon
from lev_correct.words.ngrams import Bigrams

#: What is prose says *teh*, what is code *hte*.
TEXT = """\
---
hte: hte
title: Teh teh
hte: so the teh cat sat on mats
---
# Teh **teh** `hte` and __hte__ #

A [teh text](http://a.example/hte "Teh title") and [hte] and [teh text][hte], ![teh](hte.png).
Teh `hte
hte` teh and _teh_ and ~~teh~~ and <http://a.example/hte> and **teh
teh** <b>teh</b> <kbd>hte</kbd> <!-- teh -->

[hte]: http://a.example/hte
   "teh title"

1. teh

   teh, a paragraph of the list

       hte

> ```
> hte
> ```
> teh `` ` hte ``

| teh | `hte` | so \\| teh |
|-----|-------|------------|
| teh | **teh** | teh |

<div class="hte"
  title="teh" id="hte">
 teh <code>hte</code>
</div>

<!-- teh
  teh -->

<pre>
hte

hte</pre>

teh
	teh, for no empty line is before

{% include hte %} teh {{ hte }} teh {{< hte >}} <%= hte %> teh {props.hte} teh{.hte}

{% highlight hte %}
hte

hte
{% endhighlight %}

$$
hte

hte
$$

\\begin{align}
hte

hte
\\end{align}

Teh $hte$ \\(hte\\), it costs $5 for teh cat and $6 for teh other.

:::hte{.hte}
teh :abbr[teh]{title="hte"}
:::

teh[^hte] [[hte]] [[hte|teh]] <Hte hte={hte} alt="teh">teh</Hte> teh&nbsp;teh

[^hte]: Teh
~~~
hte"""


def test_prose_of_markdown_is_read_and_code_is_not():
    lines = TEXT.split("\n")
    markdown = read_markdown(lines)
    for line, shown, code in zip(lines, markdown.shown, markdown.code, strict=True):
        places = [] if code else spans(shown, "letters")
        words = [shown[start:end].lower() for start, end in places]
        assert words.count("teh") == line.lower().count("teh"), line
        assert "hte" not in words, line


def test_spaces_are_not_changed_over_markup():
    """*wor*ld* is no *wor ld*."""
    counts = dict(zip("the of to world cat".split(), (1000.0, 900.0, 800.0, 50.0, 40.0)))
    bigrams = Bigrams({("the", "world"): 5.0, ("of", "the"): 90.0, ("world", "to"): 5.0})
    corrector = ranking(lexicon=Lexicon(counts), bigrams=bigrams)
    lines = ["of the wor ld to the cat", "of the wor*ld* to the cat"]
    text = document(path="a.md", text=lines)
    corrected = [line.text for line in corrector.correct(lines, document=text)]
    assert corrected == ["of the world to the cat", lines[1]]
