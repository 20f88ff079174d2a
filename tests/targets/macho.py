"""What a program for macOS says of itself: the oldest system that it runs on, and the libraries that it loads."""

import pathlib
import struct
import sys

MAGIC_64 = 0xFEEDFACF
LC_LOAD_DYLIB, LC_VERSION_MIN_MACOSX, LC_BUILD_VERSION, LC_CODE_SIGNATURE = 0x0C, 0x24, 0x32, 0x1D
HEADER_BYTES = 32


def commands(content: bytes) -> list[tuple[int, bytes]]:
    magic, count = struct.unpack_from("<I12xI", content)
    if magic != MAGIC_64:
        raise SystemExit("this is no 64-bit program for macOS")
    found, at = [], HEADER_BYTES
    for _ in range(count):
        kind, size = struct.unpack_from("<II", content, at)
        found.append((kind & 0x7FFFFFFF, content[at : at + size]))
        at += size
    return found


def version(number: int) -> str:
    return f"{number >> 16}.{number >> 8 & 0xFF}"


def about(content: bytes) -> dict:
    told: dict = {"oldest": None, "loads": [], "is_signed": False}
    for kind, command in commands(content):
        if kind == LC_BUILD_VERSION:
            told["oldest"] = version(struct.unpack_from("<I", command, 12)[0])
        elif kind == LC_VERSION_MIN_MACOSX:
            told["oldest"] = version(struct.unpack_from("<I", command, 8)[0])
        elif kind == LC_LOAD_DYLIB:
            told["loads"].append(command[struct.unpack_from("<I", command, 8)[0] :].split(b"\0")[0].decode())
        elif kind == LC_CODE_SIGNATURE:
            told["is_signed"] = True
    return told


if __name__ == "__main__":
    told = about(pathlib.Path(sys.argv[1]).read_bytes())
    signed = "signed" if told["is_signed"] else "not signed"
    print(f"runs on macOS {told['oldest']} and later, {signed}; loads {', '.join(told['loads'])}")
