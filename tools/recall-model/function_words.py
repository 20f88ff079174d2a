"""Finds the function words of the other languages in the model itself, and writes crates/recall/assets/function_words.txt.

Usage: python3 function_words.py ../../crates/recall/assets

A word of the second table says nothing of its own if its row is short, or if it lies where an English stop word lies.
Words of Latin letters must lean away from English: the list counts only in texts that are not English.
"""
import json
import struct
import sys

import numpy as np

SHORT = 4.0  # Shorter rows say nothing: "die" 1.4, "datenbank" 12.4.
LIKE_A_STOP_WORD = 0.66
LEAN = 8
UNTRAINED = 0.05
# Endings, and words with a meaning of their own beside their grammar.
NOT_COMPARED = "re d m s t ll ve down off up out own both same further cannot let".split()
COMPARED_TOO = "many much".split()


def load(folder):
    data = open(f"{folder}/model.safetensors", "rb").read()
    (length,) = struct.unpack("<Q", data[:8])
    kinds = {"I8": np.int8, "U8": np.uint8, "F32": np.float32}

    def tensor(entry):
        start, end = (8 + length + at for at in entry["data_offsets"])
        return np.frombuffer(data[start:end], kinds[entry["dtype"]]).reshape(entry["shape"])

    header = json.loads(data[8 : 8 + length])
    return {name: tensor(entry) for name, entry in header.items() if name != "__metadata__"}


def is_between(low, high):
    return lambda c: low <= c <= high


IS_HIRAGANA = is_between("\u3041", "\u309f")
IS_KANA = is_between("\u3041", "\u30ff")
IS_HANGUL = is_between("\uac00", "\ud7a3")
IS_HAN = is_between("\u3400", "\u9fff")


def pairs(word):
    return {word[at : at + 2] for at in range(len(word) - 1)}


def main(folder):
    model = load(folder)
    vocabulary = open(f"{folder}/vocab.txt", encoding="utf-8").read().split("\n")[:-1]
    count = len(model["scales"])
    english = model["embeddings"] * model["scales"][:, None]
    more = np.empty((len(model["more"]), 256), np.float32)
    more[:, 0::2] = (model["more"] & 15).astype(np.float32) - 8
    more[:, 1::2] = (model["more"] >> 4).astype(np.float32) - 8
    more *= model["more_scales"][:, None]
    lengths = np.linalg.norm(more, axis=1)

    numbers = {word: at for at, word in enumerate(vocabulary[:count])}
    stop_words = set(open(f"{folder}/stopwords.txt").read().split()) - set(NOT_COMPARED) | set(COMPARED_TOO)
    stops = np.stack([english[numbers[word]] for word in sorted(stop_words) if word in numbers])
    stops /= np.linalg.norm(stops, axis=1, keepdims=True)
    likeness = (more @ stops.T).max(1) / np.maximum(lengths, 1e-9)

    found = set()
    for word, length, like, lean in zip(vocabulary[count:], lengths, likeness, model["lean"][count:]):
        bare = word.removeprefix("##")
        if length < UNTRAINED or not bare.isalpha() or not (length < SHORT or like >= LIKE_A_STOP_WORD):
            continue
        if all(map(IS_HANGUL, bare)):
            # Indexed by pairs. Particles continue a word.
            found |= pairs(bare)
        elif word != bare:
            continue
        elif all(IS_HAN(c) or IS_KANA(c) for c in bare):
            # Pairs of hiragana need no list.
            found |= {pair for pair in pairs(bare) if not all(map(IS_HIRAGANA, pair))}
        elif bare >= "\u0250" or lean >= LEAN or len(bare) == 1:
            found.add(bare)
    with open(f"{folder}/function_words.txt", "w", encoding="utf-8") as out:
        out.write("\n".join(sorted(found)) + "\n")
    print(len(found), "words")


main(sys.argv[1])
