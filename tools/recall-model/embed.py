"""Both teachers embed all texts and all word pieces. Needs a GPU.

    python3 embed.py texts.json work/

Writes work/texts.pt and work/pieces.pt: the two teachers side by side, MiniLM weighted 0.6 and mpnet 0.8, so that their
product is 0.36 and 0.64 of each teacher's cosine.
"""

import json
import sys
from pathlib import Path

import torch
from transformers import AutoModel, AutoTokenizer

TEACHERS = [("sentence-transformers/all-MiniLM-L6-v2", 0.6), ("sentence-transformers/all-mpnet-base-v2", 0.8)]
VOCABULARY = Path(__file__).parent / "../../crates/recall/assets/vocab.txt"
TEXT_TOKENS_MAX = 128
PIECE_TOKENS_MAX = 16
BATCH = 1024


def main():
    texts_file, work = Path(sys.argv[1]), Path(sys.argv[2])
    work.mkdir(parents=True, exist_ok=True)
    texts = json.loads(texts_file.read_text(encoding="utf-8"))["texts"]
    pieces = VOCABULARY.read_text(encoding="utf-8").splitlines()
    bare = [piece.removeprefix("##") for piece in pieces]
    torch.save(side_by_side(texts, TEXT_TOKENS_MAX), work / "texts.pt")
    torch.save(side_by_side(bare, PIECE_TOKENS_MAX), work / "pieces.pt")


def side_by_side(texts, tokens_max):
    return torch.cat([weight * embed(name, texts, tokens_max) for name, weight in TEACHERS], dim=1)


@torch.inference_mode()
def embed(name, texts, tokens_max):
    """The mean over a teacher's tokens, of length one."""
    tokenizer = AutoTokenizer.from_pretrained(name)
    model = AutoModel.from_pretrained(name, dtype=torch.float16).cuda().eval()
    vectors = torch.zeros(len(texts), model.config.hidden_size, dtype=torch.float16)
    by_length = sorted(range(len(texts)), key=lambda at: len(texts[at]))
    for start in range(0, len(by_length), BATCH):
        batch = by_length[start : start + BATCH]
        tokens = tokenizer([texts[at] for at in batch], padding=True, truncation=True, max_length=tokens_max, return_tensors="pt").to("cuda")
        states = model(**tokens).last_hidden_state.float()
        mask = tokens["attention_mask"][..., None].float()
        mean = (states * mask).sum(1) / mask.sum(1)
        vectors[batch] = torch.nn.functional.normalize(mean, dim=1).half().cpu()
    return vectors


if __name__ == "__main__":
    main()
