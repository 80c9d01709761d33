"""What looks alike in print: what a recogniser takes for what where nothing was measured."""

from .segments import table

# Each takes the place of the other.
_ALIKE = """
rn m    l 1     O 0     o 0     I l     I 1     I |     l |     S 5     s 5     B 8     Z 2
z 2     g 9     q 9     b 6     G 6     D 0     T 7     cl d    cl ol   vv w    VV W    ii u
ri n    li h    lc k    nn m    ni m    in m    c e     o e     a o     o c     u n     u v
h b     i j     i l     t f     f s     r t     k h     y v     C G     E F     P R     U V
Q O     D O     M N     K X     , .     ; :     . ·     - —     ' ’     ' `     " ”     fi ﬁ
fl ﬂ    ae æ    oe œ    é e     è e     ê e     é è     à a     â a     ä a     á a     ö o
ô o     ó o     ü u     û u     ú u     ü ii    î i     ï i     í i     ç c     ñ n     ß B
и н     п н     ш щ     е с     о с     з э     ь б     ц и     ы ьт    г т     л п     й и
ν υ     ο σ     η n     α ο     ρ p     ι ί     ו ן     ד ר     ה ח     ב כ     ם ס     ت ث
ب ت     ج ح     ح خ     د ذ     ر ز     س ش     ص ض     日 曰     未 末     土 士     己 已
"""
# Only the first is taken for the second: old print.
_ONE_WAY = "ſ f    ſ l    w vv    tt H    ll U    ff if"


#: segment → segments that are read in its place
SHAPES = table(_ALIKE, _ONE_WAY)
