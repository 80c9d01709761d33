"""Frequent words that are a slip of one letter away: those that are met in any text, and names that
are well known."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from rapidfuzz.distance import OSA

#: Names of English text, of which no word in small letters is as frequent: from SCOWL's lists those
#: that are met 16 times or more in a million words, and others.
NAMES = (
    "Aaron Adam Adams Afghanistan Africa African Alabama Alan Alaska Albany Albert Alberta Alex "
    "Alexander Alice Allen America American Americans Amsterdam Anderson Andrew Android Andy "
    "Angeles Anna Anne Anthony Antonio Apache April Arab Arabia Arabic Argentina Arizona Arkansas "
    "Arthur Asia Asian Athens Atlanta Atlantic Austin Australia Australian Austria Baltimore "
    "Barbara Barcelona Barry Beijing Belgium Benjamin Berkeley Berlin Birmingham Blair Boston "
    "Brazil Brian Bristol Britain British Britney Britons Brooklyn Bruce Brunswick Buddhist "
    "Bulgaria Calgary California Cambridge Campbell Canada Canadian Caribbean Carl Carolina "
    "Catherine Catholic Charles Charlotte Chicago Chile China Chinese Chris Christ Christian "
    "Christians Christmas Christopher Cincinnati Cisco Clark Cleveland Clinton Cole Collins "
    "Colombia Colorado Columbia Columbus Connecticut Craig Croatia Cuba Cyprus Czech Dakota "
    "Dallas Daniel Danish Darwin Dave David Davis Debian December Delaware Delhi Denmark Dennis "
    "Denver Detroit Diego Disney Donald Doug Douglas Dublin Durham Dutch Edinburgh Edward Edwards "
    "Egypt Einstein Elizabeth England English Eric Europe European Evans Facebook February "
    "Finland Finnish Firefox Florence Florida France Francis Francisco Frank Franklin Fred French "
    "Friday Gary George Georgia German Germans Germany Glasgow Google Gordon Greece Greek Greg "
    "Halloween Hamilton Hampshire Harris Harrison Harry Harvard Hawaii Helen Henry Hewlett Hindu "
    "Hispanic Holland Hollywood Honda Houston Howard Hudson Hungary Idaho Illinois India Indian "
    "Indiana Indianapolis Indians Indonesia Internet Iowa Iran Iraq Iraqi Ireland Irish Islam "
    "Islamic Israel Israeli Italian Italians Italy Jackson Jacksonville Jamaica James Jane Janet "
    "January Japan Japanese Jason Jeff Jefferson Jennifer Jerry Jessica Jesus Jewish Jews Joel "
    "John Johnson Jonathan Jones Jordan Joseph Juan Julie July June Justin Kansas Karen Kate "
    "Katrina Keith Kelly Kennedy Kenneth Kent Kentucky Kenya Kerry Kevin Kingston Kodak Korea "
    "Korean Lang Lanka Larry Latin Laura Lawrence Lebanon Leeds Lewis Lincoln Linda Linux Lisa "
    "Liverpool London Lopez Louis Louisiana Louisville Luke Luxembourg Lynn Macintosh Madison "
    "Madonna Madrid Maine Malaysia Manchester Manhattan Marc Margaret Marie Mario Marriott "
    "Marshall Martin Mary Maryland Massachusetts Matthew Mediterranean Melbourne Melissa Memphis "
    "Mexican Mexico Miami Michael Michelle Michigan Microsoft Mike Milwaukee Minneapolis "
    "Minnesota Mississippi Missouri Mitchell Mitsubishi Monday Monica Montana Montgomery Montreal "
    "Moore Morgan Morris Moscow Mozilla Murphy Murray Muslim Muslims Nancy Napoleon Nashville "
    "Nebraska Neil Nepal Netherlands Netscape Nevada Newport Nigeria Nintendo Nissan Nokia "
    "Norfolk Norman Norton Norway November Oakland October Ohio Oklahoma Olympic Olympus Ontario "
    "Oregon Orlando Orleans Ottawa Pakistan Palestinian Paris Parker Patrick Paul Penn "
    "Pennsylvania Pentium Perry Peru Pete Peter Philadelphia Philip Philippines Phillips Pierre "
    "Pittsburgh Poland Polish Portland Portugal Portuguese Protestant Quebec Queensland Rachel "
    "Raleigh Ralph Reuters Richard Richmond Robert Roberts Robinson Rome Ross Russell Russia "
    "Russian Russians Ryan Sacramento Salem Samsung Samuel Sarah Saturday Saudi Scotland Scott "
    "Scottish Sean Seattle September Shakespeare Sharon Sherlock Simon Simpson Singapore Skype "
    "Sony Spain Spanish Stanley Stephen Steve Steven Stewart Sunday Susan Sweden Swedish Swiss "
    "Switzerland Sydney Taiwan Tampa Taylor Tennessee Texas Thai Thailand Thomas Thompson "
    "Thursday Todd Tokyo Toronto Toyota Tuesday Turkey Turkish Twitter Ukraine Unicode Utah "
    "Vancouver Vegas Venezuela Vermont Victoria Vietnam Vincent Virginia Walter Washington Wayne "
    "Wednesday Wikipedia William Williams Wilson Windows Wisconsin Wyoming York Yorkshire Zealand "
    "Zimbabwe"
).split()


class Slips:
    """Finds the words of a list, all in small letters, that a word may be a slip for."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words: dict[str, list[str]] = defaultdict(list)
        for word in words:
            for part in _parts(word):
                self._words[part].append(word)

    def near(self, word: str) -> list[str]:
        """Those with a letter more, less or another one, or two of them exchanged."""
        alike = {other for part in _parts(word) for other in self._words.get(part, ())}
        return sorted(other for other in alike if OSA.distance(word, other) == 1)


def _parts(word: str) -> Iterator[str]:
    """A word, and it without each of its letters: those of two words meet."""
    yield word
    yield from {word[:place] + word[place + 1 :] for place in range(len(word))}
