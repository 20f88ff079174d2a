"""Fits the table of word pieces to the teachers. Needs a GPU.

    python3 fit_table.py texts.json work/ ../../crates/recall/assets

A window of 384 neighbouring texts plays a workspace. Questions and some of the texts are asked in it, seen from the
window's mean as the ranking sees them. The student (sums of table rows) shall order the window as the teachers do, both
against its own vectors and against the teachers' (reduced to 256 numbers), and its vectors shall lie near theirs. Where a
question has a known passage, half of the goal is that passage.
"""

import json
import math
import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

VOCABULARY = Path(__file__).parent / "../../crates/recall/assets/vocab.txt"
DIMENSIONS = 256
PIECES_MAX = 128
WINDOW = 384
WINDOWS = 16
ASKED = 64
STEPS = 3000
RATE = 0.01
GOAL_TEMPERATURE = 0.05
KNOWN_PASSAGE = 0.5
AGAINST_TEACHER = 0.5
NEAR_TEACHER = 3.0
MEAN_TEXTS = 200_000
GOLDEN_TEXTS = [
    "The deploy script lives in tools/deploy.sh and needs AWS credentials.",
    "What is Caroline’s relationship status?",
    "Résumé parsing uses naïve regexes, v2.1-beta!",
    "你好 world",
    "",
]


def main():
    texts_file, work, out = map(Path, sys.argv[1:4])
    torch.manual_seed(1)
    np.random.seed(1)
    packed = json.loads(texts_file.read_text(encoding="utf-8"))
    pieces = Pieces(VOCABULARY.read_text(encoding="utf-8").splitlines())
    ids = pieces.padded(packed["texts"])
    teacher = torch.load(work / "texts.pt").cuda()
    reduce = strongest_directions(teacher)
    targets = Targets(teacher, reduce)
    table = first_table(torch.load(work / "pieces.pt").cuda(), reduce, ids)
    fit(table, ids, targets, packed)
    write(out, table.data, ids, pieces)


class Pieces:
    """Cuts texts into word pieces, as crates/recall/src/model/pieces.rs does."""

    def __init__(self, vocabulary):
        numbers = {piece: number for number, piece in enumerate(vocabulary)}
        self.unknown = numbers["[UNK]"]
        model = models.WordPiece(numbers, unk_token="[UNK]", max_input_chars_per_word=100)
        self.tokenizer = Tokenizer(model)
        self.tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        self.tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()

    def ids(self, texts):
        encoded = self.tokenizer.encode_batch(texts, add_special_tokens=False)
        return [[number for number in one.ids if number != self.unknown] for one in encoded]

    def padded(self, texts):
        rows = np.zeros((len(texts), PIECES_MAX), np.int32)
        for row, ids in zip(rows, self.ids(texts)):
            row[: min(len(ids), PIECES_MAX)] = ids[:PIECES_MAX]
        return torch.tensor(rows, device="cuda")


class Targets:
    """What the teachers think of the texts, whole and reduced."""

    def __init__(self, teacher, reduce):
        self.whole = unit(teacher.float()).half()
        self.reduced = unit(teacher.float() @ reduce).half()


def strongest_directions(vectors):
    sample = vectors[torch.randperm(len(vectors), device="cuda")[:300_000]].float()
    centred = sample - sample.mean(0)
    _, directions = torch.linalg.eigh(centred.T @ centred)
    return directions.flip(1)[:, :DIMENSIONS]


def first_table(pieces, reduce, ids):
    """Each piece as the teachers see it alone; frequent ones count less."""
    counts = torch.bincount(ids.flatten().long(), minlength=len(pieces)).float()
    counts[0] = 0
    rarity = 1e-3 / (1e-3 + counts / counts.sum() + 1e-7)
    table = torch.nn.Parameter(unit(pieces.float() @ reduce) * rarity[:, None])
    table.data[0] = 0
    return table


def encode(table, ids):
    return unit(F.embedding_bag(ids.long(), table, mode="sum", padding_idx=0))


def fit(table, ids, targets, packed):
    windows = Windows(packed)
    sharpness = torch.nn.Parameter(torch.tensor(math.log(20.0), device="cuda"))
    optimiser = torch.optim.Adam([{"params": [table], "lr": RATE}, {"params": [sharpness], "lr": 0.005}], betas=(0.9, 0.99))
    for step in range(STEPS):
        warm = min(1, step / 50)
        optimiser.param_groups[0]["lr"] = RATE * warm * (0.5 + 0.5 * math.cos(math.pi * step / STEPS))
        loss = loss_of(table, sharpness.exp(), ids, targets, windows.draw())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step % 500 == 0:
            print(f"step {step}: loss {loss.item():.3f}", flush=True)


class Windows:
    """Neighbouring texts, with the questions whose passages stand among them."""

    def __init__(self, packed):
        last = max(max(group) for group in packed["groups"])
        self.count = (last + 1) // WINDOW
        self.questions = [[] for _ in range(len(packed["texts"]) // WINDOW + 2)]
        for question, passage in packed["pairs"]:
            self.questions[passage // WINDOW].append((question, passage % WINDOW))

    def draw(self):
        """Numbers of the texts, of the asked ones, of known passages (-1: none), of the asked text itself (-1: elsewhere)."""
        chosen = np.random.randint(0, self.count, WINDOWS)
        texts = chosen[:, None] * WINDOW + np.arange(WINDOW)
        asked = np.zeros((WINDOWS, ASKED), np.int64)
        passages, selves = np.full((WINDOWS, ASKED), -1), np.full((WINDOWS, ASKED), -1)
        for row, window in enumerate(chosen):
            known = self.questions[window]
            some = min(len(known), ASKED // 2)
            for at, pick in enumerate(np.random.choice(len(known), some, replace=False) if some else []):
                asked[row, at], passages[row, at] = known[pick]
                own = asked[row, at] - window * WINDOW
                if 0 <= own < WINDOW and own != passages[row, at]:
                    selves[row, at] = own
            own = np.random.choice(WINDOW, ASKED - some, replace=False)
            asked[row, some:], selves[row, some:] = window * WINDOW + own, own
        return [torch.tensor(part, device="cuda") for part in (texts, asked, passages, selves)]


def loss_of(table, sharpness, ids, targets, drawn):
    texts, asked, passages, selves = drawn
    student = encode(table, ids[texts.flatten()]).view(*texts.shape, -1)
    asking = encode(table, ids[asked.flatten()]).view(*asked.shape, -1)
    itself = F.one_hot(selves.clamp(min=0), WINDOW).bool() & (selves >= 0)[..., None]
    with torch.no_grad():
        likeness = centred_cosines(targets.whole[asked].float(), targets.whole[texts].float())
        goal = F.softmax(likeness.masked_fill(itself, -1e4) / GOAL_TEMPERATURE, 2)
        share = (passages >= 0).float()[..., None] * KNOWN_PASSAGE
        goal = goal * (1 - share) + F.one_hot(passages.clamp(min=0), WINDOW).float() * share

    def disagreement(cosines):
        return -(goal * F.log_softmax((cosines * sharpness).masked_fill(itself, -1e4), 2)).sum(2).mean()

    reduced, reduced_asking = targets.reduced[texts].float(), targets.reduced[asked].float()
    own = disagreement(centred_cosines(asking, student))
    theirs = disagreement(centred_cosines(asking, reduced))
    apart = (1 - (student * reduced).sum(-1)).mean() + (1 - (asking * reduced_asking).sum(-1)).mean()
    return (1 - AGAINST_TEACHER) * own + AGAINST_TEACHER * theirs + NEAR_TEACHER * apart


def centred_cosines(asked, texts):
    mean = texts.mean(1, keepdim=True)
    return unit(asked - mean) @ unit(texts - mean).transpose(1, 2)


def write(out, table, ids, pieces):
    mean = torch.cat([encode(table, part) for part in ids[:MEAN_TEXTS].split(10_000)]).mean(0)
    scales = table.abs().amax(1) / 127 + 1e-12
    steps = torch.round(table / scales[:, None]).clamp(-127, 127).to(torch.int8)
    save_file(
        {"embeddings": steps.cpu().numpy(), "scales": scales.cpu().numpy(), "mean": mean.cpu().numpy()},
        out / "model.safetensors",
    )
    rounded = (steps.float() * scales[:, None]).cpu()
    golden = []
    for text, numbers in zip(GOLDEN_TEXTS, pieces.ids(GOLDEN_TEXTS)):
        vector = rounded[numbers].sum(0) if numbers else torch.zeros(DIMENSIONS)
        golden.append({"text": text, "ids": numbers, "vec": [round(float(x), 6) for x in unit(vector[None])[0]]})
    (out / "golden.json").write_text(json.dumps(golden, ensure_ascii=False), encoding="utf-8")


def unit(vectors):
    return F.normalize(vectors, dim=-1)


if __name__ == "__main__":
    main()
