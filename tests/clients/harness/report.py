"""What was tried and how it ended: one line per story, counts at the end."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

# Shorter ones need no figure.
SECONDS_SHOWN = 1.0


class Broken(Exception):
    """A story did not go as it should; the text says what was seen and what was expected."""


class Report:
    def __init__(self) -> None:
        self.passed = 0
        self.failed = 0
        # Stories may be told side by side.
        self.lock = threading.Lock()

    def ok(self, name: str, seconds: float = 0) -> None:
        with self.lock:
            self.passed += 1
            print(f"ok      {name}" + (f" ({seconds:.0f} s)" if seconds >= SECONDS_SHOWN else ""), flush=True)

    def fail(self, name: str, reason: str) -> None:
        with self.lock:
            self.failed += 1
            print(f"FAILED  {name}: {one_line(reason)}", flush=True)

    @contextmanager
    def story(self, name: str) -> Iterator[None]:
        """Whatever goes wrong inside fails this story alone, so that one run shows everything that is broken."""
        began = time.monotonic()
        try:
            yield
        except Broken as broken:
            self.fail(name, str(broken))
        except Exception as error:
            self.fail(name, f"{type(error).__name__}: {error}")
        else:
            self.ok(name, time.monotonic() - began)

    def closing_line(self) -> str:
        return f"{self.passed} passed, {self.failed} failed"


def expect(condition: bool, otherwise: str) -> None:
    if not condition:
        raise Broken(otherwise)


def expect_equal(seen: object, expected: object, what: str) -> None:
    expect(seen == expected, f"{what} is {seen!r}, expected {expected!r}")


def one_line(text: str, limit: int = 1200) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[:limit] + " …"
