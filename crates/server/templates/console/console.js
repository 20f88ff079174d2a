// The console's only script. Every page works without it; it adds keys, copying, filters that apply themselves,
// the live light and the read-outs of plots. It writes text, never markup (the CSP has trusted-types 'none').
"use strict";
(() => {
  const root = document.documentElement;
  const one = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  root.classList.add("js");

  // Theme: the server renders data-theme from a cookie, and the form posts it. Here the change is made at once, and posted.
  const themes = all("[data-theme-to]");
  const setTheme = (theme) => {
    if (theme === "system") root.removeAttribute("data-theme");
    else root.dataset.theme = theme;
    themes.forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.themeTo === theme)));
  };
  themes.forEach((button) => button.addEventListener("click", (event) => {
    event.preventDefault();
    setTheme(button.dataset.themeTo);
    const body = new URLSearchParams(new FormData(button.form, button));
    fetch(button.form.action, { method: "POST", body, redirect: "manual" }).catch(() => { /* it holds until the next page */ });
  }));

  // Copy: <button data-copy="id of the element whose text is copied">.
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const word = one("[data-word]", button) || button;
    const before = word.textContent;
    try {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent.trim());
      word.textContent = "Copied";
    } catch {
      word.textContent = "Select and copy";
      getSelection().selectAllChildren(document.getElementById(button.dataset.copy));
    }
    say(word.textContent);
    setTimeout(() => { word.textContent = before; }, 1600);
  });

  // What happens is told to screen readers too.
  const voice = one("#voice");
  const say = (text) => { if (voice) voice.textContent = text; };

  // Choices of a filter apply themselves (without script there is a button). Text waits for Enter: a search field that is
  // cleared and left would send the form too.
  all("form[data-auto]").forEach((form) => form.addEventListener("change", (event) => {
    if (!event.target.matches('[type="search"], [type="text"]')) form.requestSubmit();
  }));

  // All records of a page are chosen, or none again.
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-all]")) return;
    const picks = all(".pick");
    const isOn = picks.some((pick) => !pick.checked);
    picks.forEach((pick) => { pick.checked = isOn; });
    say(`${isOn ? picks.length : 0} chosen`);
  });

  // Toasts are rendered by the server. They leave by themselves, unless somebody points at them or has one focused.
  // One that can be undone stays, and what it says is told once the page is there.
  setTimeout(() => say(one(".toast > span")?.textContent || ""), 150);
  all(".toast[data-leave]").forEach((toast) => {
    let left = Number(toast.dataset.leave);
    const timer = setInterval(() => {
      if (toast.matches(":hover, :focus-within") || document.hidden) return;
      left -= 250;
      if (left <= 0) { clearInterval(timer); toast.remove(); }
    }, 250);
  });
  document.addEventListener("click", (event) => event.target.closest("[data-dismiss]")?.closest(".toast")?.remove());

  // Keys. Single letters only outside of fields, never with a modifier.
  const goal = (row) => one("[data-go]", row) || one("a, button, summary", row);
  const move = (step) => {
    const rows = all("[data-rows] [data-row]").filter(goal);
    if (!rows.length) return;
    const here = rows.indexOf(document.activeElement?.closest("[data-row]"));
    const next = here < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, here + step));
    goal(rows[next]).focus();
    rows[next].scrollIntoView({ block: "nearest" });
  };
  if (location.hash === "#q") one("#q")?.focus();

  // Who comes back, or sends a form that leads to the same page, is where they were: at the row, and as far down.
  const here = location.pathname + location.search;
  const [rows, rowLink] = [() => all("[data-rows] [data-row]"), (row) => row && goal(row)?.href];
  let rest = [-1, null];
  addEventListener("pagehide", () => {
    const at = (is) => rows().findIndex(is);
    const row = Math.max(at((one_of) => one_of.contains(document.activeElement)), at((one_of) => one(".pick:checked", one_of)));
    sessionStorage.setItem(`at ${here}`, JSON.stringify([scrollY, ...(row < 0 ? rest : [row, rowLink(rows()[row])])]));
  });
  document.addEventListener("submit", (event) => {
    if (event.target.method === "post") sessionStorage.setItem("sent from", here);
  });
  const [sentFrom, kept] = [sessionStorage.getItem("sent from"), sessionStorage.getItem(`at ${here}`)];
  sessionStorage.removeItem("sent from");
  if (kept && (sentFrom === here || performance.getEntriesByType("navigation")[0]?.type === "back_forward")) {
    const [top, row, link] = JSON.parse(kept);
    const same = rows().find((one_of) => link && rowLink(one_of) === link) || rows()[Math.min(row, rows().length - 1)];
    rest = [row, link];
    if (row >= 0 && same) goal(same)?.focus({ preventScroll: true });
    scrollTo(0, top);
  }

  // Windows take the focus when they open, and keep it until they close; then the browser gives it back.
  const stops = (pop) => all("a[href], button, input:not([type=hidden]), select, textarea", pop).filter((stop) => stop.checkVisibility() && !stop.disabled);
  const keepInside = (pop, event) => {
    const [first, last] = [stops(pop)[0], stops(pop).at(-1)];
    const leaves = document.activeElement === (event.shiftKey ? first : last) || !pop.contains(document.activeElement);
    if (!leaves) return;
    event.preventDefault();
    (event.shiftKey ? last : first)?.focus();
  };
  all(".pop").forEach((pop) => pop.addEventListener("toggle", (event) => {
    if (event.newState === "open" && !pop.contains(document.activeElement)) (one("[autofocus]", pop) || stops(pop)[0])?.focus();
  }));

  let waiting = 0;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const field = event.target.closest("input, textarea, select, [contenteditable]");
    const open = one(".pop:popover-open");
    if (open && event.key === "Tab") return keepInside(open, event);
    if (field) { if (event.key === "Escape" && !open) { event.preventDefault(); field.blur(); } return; }
    if (open && event.key !== "?") return;
    if (Date.now() - waiting < 1200) {
      waiting = 0;
      const link = one(`[data-key="${CSS.escape(event.key)}"]`);
      if (link) { event.preventDefault(); link.click(); }
      return;
    }
    const act = {
      "/": () => { const box = one("[data-search]"); if (box) { box.focus(); box.select(); } else if (one('[data-key="m"]')) location.href = "/console/memory#q"; },
      j: () => move(1), k: () => move(-1),
      o: () => document.activeElement?.closest("[data-row]")?.querySelector("[data-go]")?.click(),
      e: () => { const why = document.activeElement?.closest("[data-row]")?.querySelector("details.why"); if (why) why.open = !why.open; },
      u: () => one("[data-undo]")?.focus(),
      x: () => document.activeElement?.closest("[data-row]")?.querySelector(".pick")?.click(),
      g: () => { waiting = Date.now(); },
      "?": () => one("#keys-help")?.togglePopover(),
    }[event.key];
    if (act) { event.preventDefault(); act(); }
  });

  // Plots: the figure under the pointer, in words below the plot.
  all(".plot").forEach((plot) => {
    const [out, drawn] = [one(".readout", plot), one("svg[data-v]", plot)];
    if (!out || !drawn) return;
    const values = drawn.dataset.v.split(",").map(Number);
    const [idle, from] = [[...out.childNodes], Date.parse(drawn.dataset.from)];
    const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
    plot.addEventListener("pointermove", (event) => {
      const box = drawn.getBoundingClientRect();
      const at = Math.floor((event.clientX - box.left) / box.width * values.length);
      if (event.clientY > box.bottom || !(at in values)) return out.replaceChildren(...idle);
      out.textContent = `${day.format(from + at * 86_400_000)}: ${values[at].toLocaleString("en")} ${drawn.dataset.unit}`;
    });
    plot.addEventListener("pointerleave", () => out.replaceChildren(...idle));
  });

  // The light of the page Connect asks every two seconds, for ten minutes, whether a first call was seen.
  const light = one("[data-light]");
  if (light) {
    const turnOn = (title, text) => {
      light.classList.replace("is-waiting", "is-on");
      one("[data-light-title]", light).textContent = title;
      one("[data-light-text]", light).textContent = text;
    };
    const until = Date.now() + 600_000;
    const ask = async () => {
      if (document.hidden) return true;
      const answer = await fetch(light.dataset.light, { headers: { accept: "application/json" }, cache: "no-store" });
      if (!answer.ok) return answer.status !== 401 && answer.status !== 404;
      const seen = await answer.json();
      if (!seen.at) return true;
      turnOn(seen.title, seen.text);
      return false;
    };
    const timer = setInterval(async () => {
      if (Date.now() > until || !(await ask().catch(() => true))) clearInterval(timer);
    }, 2000);
  }
})();
