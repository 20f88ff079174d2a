"""Fits the second table: pieces of twenty languages, so that a text lands where its English translation lands.

Usage: python3 fit_languages.py pairs/ ../../crates/recall/assets

`pairs/<language>.tsv` has a line per aligned pair: source, English, other, parted by tabs. English rows are read from the model
in the assets and stay as they are, to the bit. Writes `model.safetensors` and `vocab.txt` there. Needs a GPU.
"""
import math
import random
import sys
from collections import Counter

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from pieces import Tables, is_latin, normalise, words

# How many pieces each language gets, before those in common are joined.
SIZES = dict(
    ru=10500, de=9500, fr=7000, es=7000, pt=6500, it=6500, pl=8500, uk=8500, nl=5500, cs=7000,
    tr=7500, zh=9000, ja=9000, ko=9000, sv=5000, fi=6500, hu=6500, vi=3000, id=4000, ar=6500,
)  # fmt: skip
UNSPACED = ("zh", "ja")
OTHER_SCRIPTS = ("ru", "uk", "ar", "ko", "zh", "ja")
DICTIONARIES = {"wiktionary"}
PAIRS_PER_SOURCE = 120_000
PIECES_MAX = 64
STEPS, BATCH, RATE = 5_000, 8_192, 0.01
COSINE_WEIGHT, DICTIONARY_SHARE, SIZE_POWER = 16.0, 0.2, 0.5
# The last quarter is fitted with rows rounded to four bits.
ROUNDED_FROM, LEVELS, CLIP = STEPS * 3 // 4, 7, 0.8
DEVICE = "cuda"


def unit(x):
    return F.normalize(x, dim=-1)


def load_pairs(folder, language):
    """No source drowns the others."""
    pairs = [line.rstrip("\n").split("\t") for line in open(f"{folder}/{language}.tsv", encoding="utf-8")]
    pairs = [pair for pair in pairs if len(pair) == 3]
    random.Random(7).shuffle(pairs)
    taken, kept = Counter(), []
    for source, english, other in pairs:
        taken[source] += 1
        if taken[source] <= PAIRS_PER_SOURCE:
            kept.append((source, english, other))
    return kept


def count_words(texts):
    plain, runs = Counter(), []
    for text in texts:
        for kind, word in words(normalise(text)):
            if kind == "plain":
                plain[word] += 1
            elif kind == "run":
                runs.append(word)
    return plain, runs


def vocabulary_of(language, plain, runs, english):
    if language in UNSPACED:
        maker = Tokenizer(models.BPE())
        trainer = trainers.BpeTrainer(
            vocab_size=SIZES[language], min_frequency=3, limit_alphabet=3600, max_token_length=6
        )
        texts = runs
    else:
        total, total_english = sum(plain.values()), sum(english.values())

        def is_own(word, count):
            if len(word) > 40 or not any(c.isalpha() for c in word):
                return False
            if language in OTHER_SCRIPTS:
                return not is_latin(word)
            return count / total >= 0.3 * english.get(word, 0) / total_english

        maker = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        alphabet = 1400 if language == "ko" else 120
        trainer = trainers.WordPieceTrainer(vocab_size=SIZES[language], min_frequency=2, limit_alphabet=alphabet)
        texts = (word for word, count in plain.items() if is_own(word, count) for _ in range(min(count, 3000)))
    maker.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    maker.train_from_iterator(texts, trainer)
    return [piece for piece in maker.get_vocab() if piece not in ("[UNK]", "<unk>")]


def leanings(vocabulary, counts, english):
    """Eight times the logarithm of how much more often a word stands in the language most fond of it than in English."""
    latin = [language for language in SIZES if language not in OTHER_SCRIPTS]
    totals, total_english = {own: sum(counts[own].values()) for own in latin}, sum(english.values())
    lean = {}
    for word in vocabulary:
        if word.startswith("##") or len(word) == 1 or not is_latin(word) or not any(c.isalpha() for c in word):
            continue
        share = max(counts[own].get(word, 0) / totals[own] for own in latin)
        ratio = (share + 2e-5) / (english.get(word, 0) / total_english + 2e-5)
        lean[word] = max(-60, min(60, round(8 * math.log(ratio))))
    return lean


def rounded(table):
    scale = table.abs().amax(1, keepdim=True) / LEVELS * CLIP + 1e-9
    return scale, torch.round(table / scale).clamp(-LEVELS, LEVELS)


class Training:
    def __init__(self, english, mean, ids, targets, target_of, groups):
        self.english, self.mean = english, mean
        self.ids, self.targets, self.target_of = ids, targets, target_of
        self.weights = self.weigh(groups)
        self.table = torch.nn.Parameter(self.start())

    def weigh(self, groups):
        """Languages by the root of their size; dictionaries a fifth of all."""
        weights = np.zeros(len(groups))
        for language in SIZES:
            for is_dictionary in (False, True):
                own = np.array([group == (language, is_dictionary) for group in groups])
                if own.any():
                    weights[own] = own.sum() ** SIZE_POWER / own.sum()
        is_dictionary = np.array([group[1] for group in groups])
        for own, share in ((is_dictionary, DICTIONARY_SHARE), (~is_dictionary, 1 - DICTIONARY_SHARE)):
            if own.any():
                weights[own] *= share / weights[own].sum()
        has_pieces = (self.ids > 0).any(1).cpu().numpy()
        return torch.tensor(weights * has_pieces, device=DEVICE, dtype=torch.float32)

    def start(self):
        """The mean of the targets where a piece stands, seen from the general mean; less for frequent pieces."""
        base, rows = len(self.english), int(self.ids.max()) + 1 - len(self.english)
        sums, counts = torch.zeros(rows, 256, device=DEVICE), torch.zeros(rows, device=DEVICE)
        for at in range(0, len(self.ids), 100_000):
            some = self.ids[at : at + 100_000]
            pair, place = (some >= base).nonzero(as_tuple=True)
            pieces = some[pair, place].long() - base
            sums.index_add_(0, pieces, self.targets[self.target_of[at + pair]] - self.mean)
            counts += torch.bincount(pieces, minlength=rows)
        means = sums / (counts[:, None] + 3)
        length = (means.norm(dim=1, keepdim=True) / 0.35).clamp(max=1) * self.english.norm(dim=1).median()
        frequency = counts / counts.sum()
        return unit(means) * length * (1e-4 / (1e-4 + frequency))[:, None].clamp(min=0.05)

    def encode(self, ids, table):
        rows = torch.cat([self.english, table])
        return unit(F.embedding_bag(ids.long(), rows, mode="sum", padding_idx=0))

    def run(self):
        sharpness = torch.nn.Parameter(torch.tensor(math.log(15.0), device=DEVICE))
        optimiser = torch.optim.Adam([self.table], lr=RATE, betas=(0.9, 0.99))
        optimiser.add_param_group(dict(params=[sharpness], lr=0.005))
        for step in range(STEPS):
            decay = 0.5 + 0.5 * math.cos(math.pi * step / STEPS)
            optimiser.param_groups[0]["lr"] = RATE * min(1, step / 100) * decay
            loss = self.loss(torch.multinomial(self.weights, BATCH, replacement=True), step, sharpness)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        return rounded(self.table.data)

    def loss(self, batch, step, sharpness):
        """Near its translation, and nearer than to the translations of others, both ways."""
        table = self.table
        if step >= ROUNDED_FROM:
            with torch.no_grad():
                scale, steps = rounded(table)
            table = table + (steps * scale - table).detach()
        found, target = self.encode(self.ids[batch], table), self.targets[self.target_of[batch]]
        same = self.target_of[batch][:, None] == self.target_of[batch][None]
        same &= ~torch.eye(len(batch), dtype=torch.bool, device=DEVICE)
        likeness = unit(found - self.mean) @ unit(target - self.mean).T * sharpness.exp()
        likeness = likeness.masked_fill(same, -1e4)
        own = torch.arange(len(batch), device=DEVICE)
        contrast = 0.5 * (F.cross_entropy(likeness, own) + F.cross_entropy(likeness.T, own))
        return contrast + COSINE_WEIGHT * (1 - (found * target).sum(1)).mean()


def padded(texts, cut):
    ids = np.zeros((len(texts), PIECES_MAX), np.int32)
    for at, text in enumerate(texts):
        found = cut(text)[:PIECES_MAX]
        ids[at, : len(found)] = found
    return torch.tensor(ids, device=DEVICE)


def main(folder, assets):
    torch.manual_seed(1)
    pairs = {language: load_pairs(folder, language) for language in SIZES}
    english_texts = sorted({english for own in pairs.values() for _, english, _ in own})
    counted = {language: count_words([other for _, _, other in own]) for language, own in pairs.items()}
    english_counts, _ = count_words(english_texts)
    old = load_file(f"{assets}/model.safetensors")
    base = len(old["scales"])
    english_pieces = open(f"{assets}/vocab.txt", encoding="utf-8").read().split("\n")[:base]
    other = {}
    for language, (plain, runs) in counted.items():
        for piece in vocabulary_of(language, plain, runs, english_counts):
            other.setdefault(piece)
    other = list(other)
    lean = leanings({*english_pieces, *other}, {own: plain for own, (plain, _) in counted.items()}, english_counts)
    tables = Tables(english_pieces, other, lean)

    rows = torch.tensor(old["embeddings"].astype(np.float32) * old["scales"][:, None], device=DEVICE)
    rows[0] = 0
    number = {text: at for at, text in enumerate(english_texts)}
    flat = [(language, pair) for language, own in pairs.items() for pair in own]
    target_ids = padded(english_texts, lambda text: tables.pieces(text, is_english=True))
    targets = torch.cat([unit(F.embedding_bag(some.long(), rows, mode="sum", padding_idx=0)) for some in target_ids.split(50_000)])
    ids = padded([pair[2] for _, pair in flat], lambda text: tables.pieces(text, is_english=False))
    target_of = torch.tensor([number[pair[1]] for _, pair in flat], device=DEVICE)
    groups = [(language, pair[0] in DICTIONARIES) for language, pair in flat]
    training = Training(rows, torch.tensor(old["mean"], device=DEVICE), ids, targets, target_of, groups)
    scale, steps = training.run()
    # A piece that no text has was not trained: an empty row.
    bits = np.full((len(other), 256), 8, np.uint8)
    scales = np.zeros(len(other), np.float32)
    bits[: len(steps)] = (steps.cpu().numpy().astype(np.int8) + 8).astype(np.uint8)
    scales[: len(steps)] = scale[:, 0].cpu().numpy()
    model = {name: old[name] for name in ("embeddings", "scales", "mean")}
    model["more"] = (bits[:, 0::2] | bits[:, 1::2] << 4).astype(np.uint8)
    model["more_scales"] = scales
    model["lean"] = np.array([lean.get(piece, 0) for piece in english_pieces + other], np.int8)
    save_file(model, f"{assets}/model.safetensors")
    with open(f"{assets}/vocab.txt", "w", encoding="utf-8") as out:
        out.write("\n".join(english_pieces + other) + "\n")


main(*sys.argv[1:])
