// Sends a file to import in pieces of whole lines, and says how far it came. Without it the form sends the file at once.
"use strict";
(() => {
  const form = document.querySelector("[data-import]");
  if (!form) return;
  const PIECE = 512 * 1024;
  const [place, words] = [form.querySelector("[data-import-progress]"), form.querySelector("[data-import-words]")];
  const [bar, out] = [form.querySelector("progress"), document.querySelector("[data-import-report]")];
  const buttons = [...form.querySelectorAll("button")];

  // Where the piece that begins here ends: after the last line break in it, or after the next one.
  const endOf = async (file, from) => {
    for (let size = PIECE; ; size *= 2) {
      if (from + size >= file.size) return file.size;
      const bytes = new Uint8Array(await file.slice(from, from + size).arrayBuffer());
      const at = bytes.lastIndexOf(10);
      if (at >= 0) return from + at + 1;
    }
  };
  const linesIn = async (piece) => new Uint8Array(await piece.arrayBuffer()).reduce((n, byte) => n + (byte === 10), 0);
  const item = (list, text) => list.appendChild(document.createElement("li")).textContent = text;

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const [file, way] = [form.elements.file.files[0], event.submitter.value];
    const sum = { saved: 0, present: 0, sources: 0, redacted: 0, cautioned: 0, other_author: 0, refused: 0 };
    const problems = [];
    let [from, before, ended] = [0, 0, ""];
    place.hidden = false;
    buttons.forEach((button) => { button.disabled = true; });
    while (from < file.size && !ended) {
      const end = await endOf(file, from);
      const piece = file.slice(from, end);
      const body = new FormData();
      body.append("seal", form.elements.seal.value);
      body.append("way", way);
      body.append("file", piece, "piece.jsonl");
      const answer = await fetch(form.action, { method: "POST", body, headers: { accept: "application/json" } }).catch(() => null);
      const told = await answer?.json().catch(() => null);
      if (!answer?.ok || !told) { ended = told?.error || "The service did not answer. Send the same file again: what is here already is left alone."; break; }
      Object.keys(sum).forEach((name) => { sum[name] += told[name] || 0; });
      (told.problems || []).forEach(({ line, message }) => { if (problems.length < 50) problems.push(`Line ${before + line}: ${message}`); });
      if (told.stopped) ended = `Stopped at line ${before + told.stopped.line}: ${told.stopped.message}.`;
      before += await linesIn(piece);
      from = end;
      bar.value = Math.round(100 * from / file.size);
      words.textContent = `${bar.value} %: ${sum.saved.toLocaleString("en")} ${way === "import" ? "saved" : "would be saved"}`;
    }
    buttons.forEach((button) => { button.disabled = false; });
    const notice = document.createElement("div");
    notice.className = ended ? "notice is-stale" : "notice is-unverified";
    notice.setAttribute("role", "status");
    const inside = notice.appendChild(document.createElement("div"));
    inside.appendChild(document.createElement("b")).textContent = way === "import" ? "Imported" : "This is what an import would do. Nothing was changed.";
    const list = inside.appendChild(document.createElement("ul"));
    const named = { saved: way === "import" ? "saved" : "would be saved", present: "here already", sources: "sources known", redacted: "secrets replaced", cautioned: "marked by the guard", other_author: "by somebody who is no member here; they get your name", refused: "refused" };
    Object.entries(named).forEach(([name, word]) => { if (sum[name] || name === "saved") item(list, `${sum[name].toLocaleString("en")} ${word}`); });
    if (ended) item(list, ended);
    problems.forEach((text) => item(list, text));
    out.replaceChildren(notice);
  });
})();
