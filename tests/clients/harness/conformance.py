"""Runs the official conformance suite and compares every check with what we expect of a server that offers tools alone.

Stricter than the suite's own baseline, in three ways: scenarios that a revision reports without scoring count too, a check
that was skipped needs its reason as much as one that failed, and an entry that no longer applies is an error.
"""

import json
import pathlib
import re
import subprocess
from collections import defaultdict

from .install import HOME
from .report import Report, expect, expect_equal

SUITE = HOME / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
REVISIONS = ["2026-07-28", "2025-11-25"]
ENTRY = re.compile(r"  - (?P<scenario>[\w-]+):(?P<check>[\w-]+)\s+# (?P<reason>\S.*)")
FOLDER = re.compile(r"server-(?P<scenario>.+)-\d{4}-\d\d-\d\dT[\d-]+Z")
# The suite adds these to every scenario; they say nothing about the scenario's own subject.
COMMON_CHECKS = {"wire-schema-valid", "wire-schema-harness-error"}

# scenario -> check -> what went wrong
Failures = dict[str, dict[str, str]]


def run_suite(report: Report, revision: str, url: str, node: pathlib.Path, results: pathlib.Path, env: dict[str, str]) -> None:
    """One line per scenario that we pass or should pass, one for all that need what we do not offer."""
    name = f"conformance {revision}"
    baseline = HOME / f"conformance/expected-failures-{revision}.yml"
    try:
        expected = read_expected(baseline)
        command = [node, SUITE, "server", "--url", url, "--requirements", revision]
        suite = subprocess.run(
            [*command, "--expected-failures", baseline, "--output-dir", results],
            capture_output=True, text=True, timeout=600, env=env,
        )
        announced = re.findall(r"^=== Running scenario: (\S+) ===$", suite.stdout, re.MULTILINE)
        checks = read_results(results)
        expect(len(announced) > 0, f"the suite ran no scenario: {suite.stdout[-500:]} {suite.stderr[-500:]}")
        expect_equal(sorted(checks), sorted(announced), "the scenarios with results")
    except Exception as error:
        report.fail(name, f"{error}")
        return
    judge_scenarios(report, name, checks, expected)
    with report.story(f"{name}: the suite's own verdict"):
        expect(suite.returncode == 0, f"exit code {suite.returncode}; {verdict_of(suite.stdout)}")


def judge_scenarios(report: Report, name: str, checks: dict[str, list[dict]], expected: Failures) -> None:
    outside: list[str] = []
    not_applicable: list[str] = []
    for scenario in sorted(checks.keys() | expected.keys()):
        seen = failures_of(checks.get(scenario, []))
        excused = expected.get(scenario, {})
        problems = [f"{check}: {message}" for check, message in seen.items() if check not in excused]
        problems += [f"{check} is in the expected-failures file but does not fail" for check in excused if check not in seen]
        passed = [check for check in own_checks(checks.get(scenario, [])) if check["status"] == "SUCCESS"]
        if problems:
            report.fail(f"{name}: {scenario}", "; ".join(problems))
        elif passed:
            excuse = f", expected failures: {len(excused)}" if excused else ""
            report.ok(f"{name}: {scenario} (checks: {len(passed)}{excuse})")
        else:
            (outside if excused else not_applicable).append(scenario)
    print(f"        {name}: {len(outside)} scenarios need features that Mnemon does not offer; the file gives each reason", flush=True)
    if not_applicable:
        print(f"        {name}: the suite itself finds nothing to check in {', '.join(not_applicable)}", flush=True)


def verdict_of(output: str) -> str:
    """The closing lines that name what the suite did not expect, without its colours."""
    lines = re.sub(r"\x1b\[\d+m", "", output).splitlines()
    surprises = [line.strip() for line in lines if line.startswith(("  ✗", "  ✓"))]
    return "; ".join(surprises) or "\n".join(lines[-10:])


def failures_of(checks: list[dict]) -> dict[str, str]:
    failing = [check for check in checks if check["status"] not in ("SUCCESS", "INFO")]
    return {check["id"]: f"{check['status']} {check.get('errorMessage') or check.get('description') or ''}" for check in failing}


def own_checks(checks: list[dict]) -> list[dict]:
    return [check for check in checks if check["id"] not in COMMON_CHECKS]


def read_results(folder: pathlib.Path) -> dict[str, list[dict]]:
    files = sorted(folder.glob("*/checks.json"))
    return {FOLDER.fullmatch(path.parent.name)["scenario"]: json.loads(path.read_text()) for path in files}


def read_expected(path: pathlib.Path) -> Failures:
    """The suite's own file format, narrowed: each entry names one check and says why on the same line."""
    expected: Failures = defaultdict(dict)
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#") or line == "server:":
            continue
        entry = ENTRY.fullmatch(line)
        expect(entry is not None, f"{path.name}:{number} is not of the form `  - scenario:check  # reason`")
        expected[entry["scenario"]][entry["check"]] = entry["reason"]
    return expected
