#!/usr/bin/env node
// Starts the binary that npm installed for this platform, and ends as it ends.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const platform = `${process.platform}-${process.arch}`;
const program = process.platform === "win32" ? "mnemon.exe" : "mnemon";

let binary;
try {
  binary = require.resolve(`@mnemon/cli-${platform}/bin/${program}`);
} catch {
  console.error(
    `error: there is no @mnemon/cli-${platform}. Either Mnemon is not built for this platform, or npm left out ` +
      "optional dependencies: install again without --omit=optional.",
  );
  process.exit(1);
}

const child = spawn(binary, process.argv.slice(2), { stdio: "inherit" });
// A terminal sends Ctrl-C to both; a service manager sends its signal to this process alone.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`error: can't start ${binary}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
