// What this gateway can use: languages, capabilities, runners, and the registry of runtimes and workers.

import { every, get } from "./api.js";
import { badge, empty, fill, h, table, trouble } from "./dom.js";
import { threads, workers as workersForm } from "./places.js";
import { ago, kindOf, languageName, plain, short } from "./words.js";

const REFRESH_MS = 5000;

export function view(_, signal) {
  const sections = {
    languages: part("Languages"), runners: part("Runners"), runtimes: part("Runtimes"), workers: part("Workers"), capabilities: part("Capabilities"),
  };
  const element = h("div", {}, h("header", { class: "page" }, h("h1", {}, "Registry and runners")),
    Object.values(sections).map((one) => one.element));
  // Forms keep what is typed in them: they are made once, and not drawn again.
  sections.runners.element.append(h("h3", {}, "Run a command"), threads(signal));
  sections.workers.element.append(h("h3", {}, "Spawn and talk to one"), workersForm(signal));

  function part(title) {
    const content = h("div", { class: "part" }, h("p", { class: "quiet" }, "…"));
    return { element: h("section", {}, h("h2", {}, title), content), content, shown: "" };
  }

  // Drawn anew only when it changed, so that the focus and the scroll position stay.
  function show(name, data, draw) {
    const now = JSON.stringify(data);
    if (sections[name].shown === now) return;
    sections[name].shown = now;
    fill(sections[name].content, draw());
  }

  async function load(name, path, draw, nothing) {
    try {
      const found = await get(path, signal);
      const items = Array.isArray(found) ? found : found.items ?? found[name] ?? found.providers ?? [];
      show(name, found, () => (items.length ? draw(items, found) : nothing));
    } catch (error) {
      if (signal.aborted) return;
      const absent = error.status === 404 || error.status === 501;
      show(name, String(error.message), () => (absent ? empty("Not offered here.", "This gateway has no such endpoint; a newer one, or another configuration, may.")
        : error.status === 403 ? empty("Not for this token.", error.hint) : trouble(error)));
    }
  }

  async function languages() {
    // Not ready is answered with 503 and the same body, so it is read by hand.
    const answer = await fetch("/readyz", { signal, cache: "no-store" }).catch(() => null);
    if (!answer) return;
    const found = await answer.json();
    show("languages", found, () => h("ul", { class: "tiles" }, Object.entries(found.languages).map(([name, one]) => h("li", { class: "panel" },
      h("strong", {}, languageName(name)), " ", badge(one.ready ? "ready" : one.problem ? "problem" : "preparing", one.ready ? "good" : one.problem ? "bad" : "wait"),
      !one.ready && h("progress", { value: String(one.progress), max: "1", "aria-label": `${languageName(name)} is prepared` }), one.problem && h("p", {}, one.problem)))));
  }

  const runtimes = (items) => table("Runtimes", ["Runtime", "Kind", "Status", "Hosts", "Notes"], h("tbody", {}, items.map((one) => h("tr", {},
    h("th", { scope: "row" }, one.label ?? one.runtime_id, h("small", { class: "quiet" }, ` ${short(one.runtime_id ?? "")}`)), h("td", {}, one.kind),
    h("td", {}, badge(plain(one.status), kindOf(one.status))), h("td", {}, String(one.host_ids?.length ?? 0)), h("td", {}, notes(one.diagnostics))))));

  const workers = (items) => table("Workers", ["Worker", "Runtime", "Role", "State", "Seen", "Notes"], h("tbody", {}, items.map((one) => h("tr", {},
    h("th", { scope: "row" }, one.label ?? one.worker_id), h("td", {}, short(one.runtime_id ?? "")), h("td", {}, one.role ?? one.profile ?? "—"),
    h("td", {}, badge(plain(one.status ?? one.state), kindOf(one.status ?? one.state))), h("td", { class: "quiet" }, one.last_seen_at ? seen(one.last_seen_at) : "—"),
    h("td", {}, notes(one.diagnostics))))));

  const runners = (items, { destinations = [], threads = [] }) => [
    table("Runners", ["Runner", "Offers", "Setup"], h("tbody", {}, items.map((one) => h("tr", {},
      h("th", { scope: "row" }, one.id ?? one.provider_id), h("td", { class: "offers" }, offers(one.capabilities)), h("td", { class: "quiet" }, one.setup_hint ?? "—"))))),
    h("p", { class: "quiet" }, destinations.length ? `Destinations: ${destinations.map((one) => `${one.id} (${one.provider_id})`).join(", ")}. ` : "No destinations yet. ",
      threads.length ? `Bound threads: ${threads.map(short).join(", ")}.` : "No thread is bound."),
  ];

  const capabilities = (items) => table("Capabilities", ["Name", "Effect", "Takes", "What it does"], h("tbody", {}, items.map((one) => h("tr", {},
    h("th", { scope: "row" }, h("code", {}, one.name)), h("td", {}, plain(one.side_effect)),
    h("td", {}, h("code", {}, Object.keys(one.input_schema?.properties ?? {}).join(", ") || "—")), h("td", {}, one.description)))));

  every(REFRESH_MS, signal, async () => {
    await Promise.all([
      languages(),
      load("runners", "/v1/runners", runners, empty("No runner is set up.", "See docs/runners.md.")),
      load("runtimes", "/api/runtimes", runtimes, empty("No runtime is registered.")),
      load("workers", "/api/workers", workers, empty("No worker is known.")),
      load("capabilities", "/v1/capabilities", capabilities, empty("No capabilities.", "See docs/capabilities.md.")),
    ]);
  });
  return { element, title: "Registry and runners" };
}

const seen = (at) => (typeof at === "number" ? ago(at) : String(at));
const notes = (list) => (list?.length ? h("details", {}, h("summary", {}, String(list.length)), h("ul", {}, list.map((one) => h("li", {}, `${one.code}: ${one.message}`)))) : "—");
const offers = (found) => Object.entries(found ?? {}).filter(([, value]) => value === true).map(([name]) => badge(plain(name.replace(/^can_|^has_/, ""))));
