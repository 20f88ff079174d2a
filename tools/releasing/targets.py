"""The machines that are released for, and what each package format calls them."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Target:
    triple: str
    # npm's words for the system and the processor.
    npm_os: str
    npm_cpu: str
    # The wheel's platform tags. A static binary runs on every Linux, whatever its C library.
    wheel: str
    # Debian's word for the processor, where there is a package.
    debian: str | None = None
    # The oldest macOS that runs it, where it is for macOS.
    macos: str | None = None

    @property
    def is_windows(self) -> bool:
        return "windows" in self.triple

    @property
    def program(self) -> str:
        return "mnemon.exe" if self.is_windows else "mnemon"

    @property
    def archive_suffix(self) -> str:
        return "zip" if self.is_windows else "tar.gz"


def _linux(cpu: str) -> str:
    return f"manylinux2014_{cpu}.manylinux_2_17_{cpu}.musllinux_1_1_{cpu}"


_ALL = [
    Target("x86_64-unknown-linux-musl", "linux", "x64", _linux("x86_64"), "amd64"),
    Target("aarch64-unknown-linux-musl", "linux", "arm64", _linux("aarch64"), "arm64"),
    Target("aarch64-apple-darwin", "darwin", "arm64", "macosx_11_0_arm64", macos="11.0"),
    Target("x86_64-apple-darwin", "darwin", "x64", "macosx_10_12_x86_64", macos="10.12"),
    Target("x86_64-pc-windows-gnu", "win32", "x64", "win_amd64"),
]
TARGETS = {target.triple: target for target in _ALL}
