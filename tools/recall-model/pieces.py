"""How texts are cut into pieces: the reference for `crates/recall/src/model`, and what the training uses."""
import unicodedata
from functools import lru_cache

MARK_WEIGHT, MARKS_MAX = 4, 6
OTHER_SCRIPT = 24
WORD_CHARS_MAX, RUN_CHARS_MAX = 100, 8

HAN = [(0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF), (0x2A700, 0x2CEAF), (0x2F800, 0x2FA1F)]
KANA = [(0x3005, 0x3007), (0x3041, 0x309F), (0x30A1, 0x30FA), (0x30FC, 0x30FF)]
HANGUL = [(0xAC00, 0xD7A3)]


def is_in(c, ranges):
    return any(low <= ord(c) <= high for low, high in ranges)


@lru_cache(None)
def is_punctuation(c):
    if ord(c) < 128:
        return c.isprintable() and not c.isalnum() and c != " "
    return unicodedata.category(c)[0] == "P"


@lru_cache(None)
def normal_form(c):
    if c in "\0\ufffd":
        return ""
    if c.isspace():
        return " "
    if 0xFF01 <= ord(c) <= 0xFF5E:
        c = chr(ord(c) - 0xFEE0)
    if unicodedata.category(c)[0] == "C":
        return ""
    if is_in(c, HAN + KANA + HANGUL):
        return c
    bare = (part for part in unicodedata.normalize("NFD", c) if unicodedata.category(part) != "Mn")
    return "".join(bare).lower()


def normalise(text):
    if text.isascii() and text.isprintable():
        return text.lower()
    return "".join(map(normal_form, unicodedata.normalize("NFC", text)))


@lru_cache(None)
def kind(c):
    if c == " ":
        return "space"
    if is_punctuation(c):
        return "punctuation"
    return "run" if is_in(c, HAN + KANA) else "plain"


def words(normal):
    """Kind and text of every word; punctuation marks stand alone."""
    found, at = [], 0
    while at < len(normal):
        own, end = kind(normal[at]), at + 1
        while own in ("run", "plain") and end < len(normal) and kind(normal[end]) == own:
            end += 1
        if own != "space":
            found.append((own, normal[at:end]))
        at = end
    return found


def is_latin(word):
    return all(c < "\u0250" or not c.isalpha() for c in word)


def weight_of_marks(text):
    is_marked = lambda c: "\u00c0" <= c < "\u0250" or "\u1e00" <= c < "\u1eff"
    return MARK_WEIGHT * min(MARKS_MAX, sum(map(is_marked, text)))


class Tables:
    """The pieces of English and those of the other languages; `lean` says how much a whole word speaks against English."""

    def __init__(self, english, other, lean=None):
        self.english = {word: at for at, word in enumerate(english)}
        self.other = {word: at + len(english) for at, word in enumerate(other)}
        self.lean = lean or {}

    def cut(self, table, word):
        """The longest pieces from the left; none where a part has no piece."""
        if len(word) > WORD_CHARS_MAX:
            return []
        found, at = [], 0
        while at < len(word):
            mark = "##" if at else ""
            end = next((end for end in range(len(word), at, -1) if mark + word[at:end] in table), None)
            if end is None:
                return []
            found.append(table[mark + word[at:end]])
            at = end
        return found

    def cut_run(self, run):
        """The same for a run without spaces; a character without a piece is skipped."""
        found, at = [], 0
        while at < len(run):
            ends = range(min(len(run), at + RUN_CHARS_MAX), at, -1)
            end = next((end for end in ends if run[at:end] in self.other), None)
            if end is not None:
                found.append(self.other[run[at:end]])
            at = end or at + 1
        return found

    def foreign(self, own, word):
        if own == "run":
            return self.cut_run(word)
        for table in (self.other, self.english):
            if word in table:
                return [table[word]]
        return self.cut(self.other, word) or self.cut(self.english, word)

    def is_english(self, text):
        vote = weight_of_marks(text)
        for own, word in words(normalise(text)):
            if own == "run" or own == "plain" and not is_latin(word):
                vote += OTHER_SCRIPT
            elif own == "plain":
                vote += self.lean.get(word, 0)
        return vote <= 0

    def pieces(self, text, is_english=None):
        is_english = self.is_english(text) if is_english is None else is_english
        found = []
        for own, word in words(normalise(text)):
            is_own = is_english and (own == "punctuation" or own == "plain" and is_latin(word))
            found += self.cut(self.english, word) if is_own else self.foreign(own, word)
        return found
