"""The blocks of a page that a person types, and what the page says will appear."""

import dataclasses
import re


@dataclasses.dataclass
class Block:
    line: int
    text: str
    promised: str = ""

    def title(self) -> str:
        first = self.text.strip().splitlines()[0]
        return first if len(first) <= 70 else first[:69] + "…"


def blocks(page: str) -> list[Block]:
    """Every ```sh block. A ```text block that follows, with no other block between them, is what it prints."""
    found: list[Block] = []
    kind, previous, inside = None, None, []
    for number, line in enumerate(page.splitlines(), 1):
        if not line.startswith("```"):
            inside.append(line)
        elif kind is None:
            kind, began, inside = line.removeprefix("```").strip(), number, []
        else:
            text = "\n".join(inside) + "\n"
            if kind == "sh":
                found.append(Block(began + 1, text))
            elif kind == "text" and previous == "sh":
                found[-1].promised = text
            previous, kind = kind, None
    return found


# What differs from one run to the next: ids, keys, times and scores.
CHANGING = [
    (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "ID"),
    (r"\bmn[mpoc]_[0-9A-Za-z.]+", "KEY"),
    (r"\b\d{4}-\d\d-\d\dT[0-9:.]+Z", "TIME"),
    (r"\b20\d\d-\d\d-\d\d\b", "DAY"),
    (r"^(0\.\d\d|1\.00)\b", "SCORE"),
]


def comparable(line: str) -> str:
    line = " ".join(line.split())
    for pattern, name in CHANGING:
        line = re.sub(pattern, name, line)
    return line


def missing_line(promised: str, seen: str) -> str | None:
    """The first promised line that does not appear after the one before it. A line `…` stands for any lines."""
    shown = iter([comparable(line) for line in seen.splitlines()])
    for line in promised.splitlines():
        wanted = comparable(line)
        if wanted not in ("", "…") and not any(wanted == one for one in shown):
            return line
    return None
