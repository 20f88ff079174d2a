"""Claude's memory tool with Mnemon's records as its files."""

from anthropic.lib.tools import BetaAbstractMemoryTool, ToolError

from mnemon_adapters.client import Mnemon, MnemonError

ROOT = "/memories"
PATH_CHARS_MAX = 128
CONTENT_BYTES_MAX = 16 * 1024


class MnemonMemoryTool(BetaAbstractMemoryTool):
    def __init__(self, url: str | None = None, key: str | None = None, workspace: str = "memories", **options) -> None:
        super().__init__(**options)
        self.mnemon = Mnemon(url, key)
        self.workspace = workspace

    def execute(self, command):
        try:
            return super().execute(command)
        except MnemonError as error:
            raise ToolError(f"The memory service refused this: {error}") from error

    def view(self, command) -> str:
        path = checked(command.path)
        if path != ROOT:
            text = self._text(path)
            if text is not None:
                return numbered(path, text, command.view_range)
        below = {name: text for name, text in self._files().items() if name.startswith(path + "/")}
        if path != ROOT and not below:
            raise missing(path)
        return listing(path, below)

    def create(self, command) -> str:
        path = checked_file(command.path)
        if self._text(path) is not None:
            raise ToolError(f"{path} exists already; edit it with str_replace or insert.")
        self._write(path, command.file_text)
        return f"Created {path}."

    def str_replace(self, command) -> str:
        path, text = self._existing(command.path)
        count = text.count(command.old_str) if command.old_str else 0
        if count == 0:
            raise ToolError(f"No replacement was performed: old_str `{command.old_str}` does not stand in {path}.")
        if count > 1:
            lines = ", ".join(str(number) for number in lines_with(text, command.old_str))
            raise ToolError(f"No replacement was performed: old_str `{command.old_str}` stands in lines {lines}. Make it unique.")
        self._write(path, text.replace(command.old_str, command.new_str))
        return f"Edited {path}."

    def insert(self, command) -> str:
        path, text = self._existing(command.path)
        lines = text.splitlines(keepends=True)
        if not 0 <= command.insert_line <= len(lines):
            raise ToolError(f"Invalid insert_line {command.insert_line}: it must lie between 0 and {len(lines)}.")
        if lines and command.insert_line == len(lines) and not lines[-1].endswith("\n"):
            lines[-1] += "\n"
        lines.insert(command.insert_line, command.insert_text.removesuffix("\n") + "\n")
        self._write(path, "".join(lines))
        return f"Edited {path}."

    def delete(self, command) -> str:
        path = checked_file(command.path)
        for name in self._at_or_below(path):
            self.mnemon.call("forget", source_id=name, workspace=self.workspace)
        return f"Deleted {path}."

    def rename(self, command) -> str:
        old, new = checked_file(command.old_path), checked_file(command.new_path)
        files = self._files()
        if any(is_at_or_below(name, new) for name in files):
            raise ToolError(f"{new} exists already; choose another path.")
        for name in self._at_or_below(old):
            # The copy stands before the original goes.
            self._write(checked_file(new + name.removeprefix(old)), files[name])
            self.mnemon.call("forget", source_id=name, workspace=self.workspace)
        return f"Moved {old} to {new}."

    def clear_all_memory(self) -> str:
        for name in self._files():
            self.mnemon.call("forget", source_id=name, workspace=self.workspace)
        return "Deleted all files."

    def _files(self) -> dict[str, str]:
        records = self.mnemon.records(self.workspace)
        return {record["fact_key"]: unpacked(record["content"]) for record in records if record["fact_key"].startswith(ROOT + "/")}

    def _text(self, path: str) -> str | None:
        record = self.mnemon.find(self.workspace, path)
        return None if record is None else unpacked(record["content"])

    def _existing(self, path: str) -> tuple[str, str]:
        path = checked_file(path)
        text = self._text(path)
        if text is None:
            raise missing(path)
        return path, text

    def _at_or_below(self, path: str) -> list[str]:
        names = [name for name in self._files() if is_at_or_below(name, path)]
        if not names:
            raise missing(path)
        return names

    def _write(self, path: str, text: str) -> None:
        size = len(text.encode())
        if size > CONTENT_BYTES_MAX:
            raise ToolError(f"{path} would be {size} bytes long; the limit is {CONTENT_BYTES_MAX}. Split it into several files.")
        self.mnemon.replace(self.workspace, path, text or EMPTY)


# A record can't be empty, a file can.
EMPTY = "(empty file)"


def unpacked(content: str) -> str:
    return "" if content == EMPTY else content


def checked(path: str) -> str:
    path = path.rstrip("/")
    inside = path == ROOT or path.startswith(ROOT + "/")
    if not inside or any(part in ("", ".", "..") for part in path.split("/")[1:]):
        raise ToolError(f"Path must lie inside {ROOT} and name no `..`, got: {path}")
    if len(path) > PATH_CHARS_MAX:
        raise ToolError(f"The path is {len(path)} characters long; the limit is {PATH_CHARS_MAX}")
    return path


def checked_file(path: str) -> str:
    path = checked(path)
    if path == ROOT:
        raise ToolError(f"{ROOT} itself can't be changed")
    return path


def is_at_or_below(name: str, path: str) -> bool:
    return name == path or name.startswith(path + "/")


def missing(path: str) -> ToolError:
    return ToolError(f"Nothing is saved at {path}; view {ROOT} lists what is there.")


def lines_with(text: str, part: str) -> list[int]:
    found, start = [], text.find(part)
    while start != -1:
        found.append(text.count("\n", 0, start) + 1)
        start = text.find(part, start + 1)
    return found


def numbered(path: str, text: str, view_range: list[int] | None) -> str:
    lines = text.split("\n")
    first, last = 1, len(lines)
    if view_range:
        first, last = max(1, view_range[0]), len(lines) if view_range[1] == -1 else view_range[1]
    shown = [f"{number:>6}\t{line}" for number, line in enumerate(lines[first - 1 : last], first)]
    return f"{path}, with line numbers:\n" + "\n".join(shown)


def listing(path: str, files: dict[str, str]) -> str:
    """The files and folders, at most two levels deep, each with its size."""
    sizes: dict[str, int] = {path: 0}
    for name, text in files.items():
        parts = name.removeprefix(path + "/").split("/")
        size = len(text.encode())
        sizes[path] += size
        for depth in range(1, min(len(parts), 2) + 1):
            entry = f"{path}/{'/'.join(parts[:depth])}" + ("/" if depth < len(parts) else "")
            sizes[entry] = sizes.get(entry, 0) + size
    entries = [path, *sorted(name for name in sizes if name != path)]
    head = f"Files and folders in {path}, two levels deep, with their sizes in bytes:"
    return "\n".join([head, *(f"{sizes[name]}\t{name}" for name in entries)])
