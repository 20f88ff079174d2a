"""The files of docs/operations/install.md, used as they stand: the service with the page's settings behind a real HAProxy and a real Caddy."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import time

from harness.report import Report, expect, expect_equal

PAGE = "docs/operations/install.md"
HOST = "memory.example.com"
SECONDS_MAX = 30


def follow(root: pathlib.Path, binary: pathlib.Path, folder: pathlib.Path, report: Report) -> None:
    text = (root / PAGE).read_text()
    for name, start in (("HAProxy", start_haproxy), ("Caddy", start_caddy)):
        own = folder / name
        own.mkdir()
        (own / "mnemon.toml").write_text(block_after(text, "```toml\n"))
        stand_behind(name, start, block_after(text, f"### {name}\n```\n"), binary, own, report)


def stand_behind(name: str, start, configuration: str, binary: pathlib.Path, folder: pathlib.Path, report: Report) -> None:
    running: list[subprocess.Popen] = []
    key = None
    try:
        with report.story(f"{PAGE}: the service and {name} start with the page's files"):
            ready = folder / "ready.json"
            log = (folder / "log").open("wb")
            serve = [binary, "serve", "--config", folder / "mnemon.toml", "--data-dir", folder / "data", "--ready-file", ready]
            running.append(subprocess.Popen(serve, stdout=log, stderr=log, cwd=folder, env={"HOME": str(folder)}))
            wait_for(ready.exists, "the service was not ready", folder)
            proxy, certificate, moved = start(configuration, folder, log)
            running.append(proxy)
            wait_for(lambda: ask(certificate, "/health/ready")[0] == 200, f"{name} did not let a request through", folder)
            key = json.loads(ready.read_text())["key"]
        if key is not None:
            try_it(certificate, moved, key, report)
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(SECONDS_MAX)


def start_haproxy(configuration: str, folder: pathlib.Path, log) -> tuple[subprocess.Popen, pathlib.Path, int]:
    certificate = make_certificate(folder)
    # Only the certificate is somewhere else.
    (folder / "haproxy.cfg").write_text(configuration.replace("/etc/haproxy/memory.pem", str(folder / "memory.pem")))
    # Debian keeps it out of the path of ordinary users.
    haproxy = shutil.which("haproxy") or "/usr/sbin/haproxy"
    return subprocess.Popen([haproxy, "-f", folder / "haproxy.cfg"], stdout=log, stderr=log), certificate, 301


def start_caddy(configuration: str, folder: pathlib.Path, log) -> tuple[subprocess.Popen, pathlib.Path, int]:
    # Only the authority is its own: no public one gives a certificate for this name.
    (folder / "Caddyfile").write_text("{\n    local_certs\n    skip_install_trust\n    admin off\n}\n" + configuration)
    command = ["caddy", "run", "--config", folder / "Caddyfile", "--adapter", "caddyfile"]
    caddy = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder)})
    return caddy, folder / "caddy/pki/authorities/local/root.crt", 308


def try_it(certificate: pathlib.Path, moved: int, key: str, report: Report) -> None:
    with report.story(f"{PAGE}: a save goes through TLS and HTTP/2"):
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "remember", "arguments": {"content": "TLS ends at the proxy."}}}
        status, body = ask(certificate, "/mcp", "--http2", "-H", f"Authorization: Bearer {key}", "-H", "Content-Type: application/json", "-d", json.dumps(call))
        expect_equal(status, 200, "the status")
        expect_equal(json.loads(body)["result"]["isError"], False, "isError")
    with report.story(f"{PAGE}: web clients are told the public address"):
        _, body = ask(certificate, "/.well-known/oauth-protected-resource/mcp")
        expect_equal(json.loads(body)["resource"], f"https://{HOST}/mcp", "the resource")
    with report.story(f"{PAGE}: port 80 leads to HTTPS"):
        plain = curl("-o", "/dev/null", "-w", "%{http_code} %{redirect_url}", f"http://{HOST}/console")
        expect_equal(plain, f"{moved} https://{HOST}/console", "the answer")
    with report.story(f"{PAGE}: a made-up address does not escape the limit on wrong keys"):
        guess = lambda number: ask(certificate, "/mcp", "-H", f"Authorization: Bearer mnm_wrong{number}", "-H", f"X-Forwarded-For: 203.0.113.{number}", "-d", "{}")[0]
        expect_equal([guess(number) for number in range(31)], [401] * 30 + [429], "the answers")


def block_after(text: str, beginning: str) -> str:
    expect(text.count(beginning) == 1, f"{PAGE} has no single block after {beginning!r}")
    return re.split(r"^```$", text.split(beginning)[1], maxsplit=1, flags=re.MULTILINE)[0]


def make_certificate(folder: pathlib.Path) -> pathlib.Path:
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2"]
    subprocess.run([*command, "-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}"], check=True, capture_output=True)
    (folder / "memory.pem").write_text(certificate.read_text() + key.read_text())
    return certificate


def curl(*arguments: str) -> str:
    names = [word for port in (80, 443) for word in ("--resolve", f"{HOST}:{port}:127.0.0.1")]
    return subprocess.run(["curl", "-s", "--noproxy", "*", *names, *arguments], stdout=subprocess.PIPE, text=True).stdout


def ask(certificate: pathlib.Path, path: str, *arguments: str) -> tuple[int, str]:
    body, _, status = curl("--cacert", str(certificate), "-w", "\n%{http_code}", *arguments, f"https://{HOST}{path}").rpartition("\n")
    return int(status or 0), body


def wait_for(is_so, otherwise: str, folder: pathlib.Path) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while not is_so():
        expect(time.monotonic() < deadline, f"{otherwise}: {(folder / 'log').read_text(errors='replace')[-1500:]}")
        time.sleep(0.05)
