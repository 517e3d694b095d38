// The list of sessions, with what runs in them now and the last line it said.

import { events, every, get, pages, post, seg } from "./api.js";
import { ask, badge, button, empty, field, fill, h, keyed, options, table, trouble } from "./dom.js";
import { LANGUAGES, LIMITS } from "./tables.js";
import { ago, kindOf, languageName, plain, short } from "./words.js";

const REFRESH_MS = 3000;
const WATCHED_MAX = 3; // a browser opens six connections to one host; these streams must leave some
const SHOWN_MAX = 400;
const LOOKED_UP_MAX = 24; // sessions whose last run is asked for at a time: those that are not among the newest

export function view(_, signal) {
  let sessions = [];
  let runs = new Map();
  let known = new Map();
  const watched = new Map();
  const lines = new Map();
  const body = h("tbody");
  const filter = h("input", { type: "search", id: "filter", placeholder: "Filter", "aria-label": "Filter sessions", oninput: draw });
  const said = h("div");
  const none = empty("No sessions yet.", "A session keeps variables and files between runs.", button("Make a session", create, { class: "main" }));
  const list = table("Sessions", ["Session", "Language", "State", "Output", "Used"], body);
  none.hidden = true;
  const element = h("div", { class: "sessions" },
    h("header", { class: "page" }, h("h1", {}, "Sessions"), h("div", { class: "row" }, filter,
      button("New session", create, { class: "main", id: "new-session", title: "n" }))),
    said, list, none);

  async function refresh() {
    try {
      const [found, recent] = await Promise.all([pages("/v1/sessions", SHOWN_MAX, signal), get("/v1/runs?limit=30", signal)]);
      sessions = found.items.sort((one, other) => other.last_used_at - one.last_used_at);
      runs = new Map(recent.items.reverse().map((run) => [run.session_id, run]));
      fill(said, found.more && h("p", { class: "quiet" }, `The first ${SHOWN_MAX} sessions are shown.`));
      watch();
      draw();
      await lookUp();
      draw();
    } catch (error) {
      if (!signal.aborted) fill(said, trouble(error));
    }
  }

  // The last run of sessions that are not among the newest, once for each use of them; null if there never was one.
  async function lookUp() {
    known = new Map(sessions.filter((one) => runs.has(one.id) || known.get(one.id)?.used === one.last_used_at)
      .map((one) => [one.id, { used: one.last_used_at, run: runs.get(one.id) ?? known.get(one.id).run }]));
    const missing = sessions.filter((one) => !known.has(one.id)).slice(0, LOOKED_UP_MAX);
    for (const one of missing) {
      const { items: [run] } = await get(`/v1/runs?limit=1&session_id=${seg(one.id)}`, signal);
      known.set(one.id, { used: one.last_used_at, run: run ?? null });
    }
  }

  function draw() {
    const wanted = filter.value.toLowerCase();
    const shown = sessions.filter((one) => `${one.id} ${one.title}`.toLowerCase().includes(wanted));
    none.hidden = sessions.length > 0;
    list.hidden = sessions.length === 0;
    keyed(body, shown, (one) => one.id, row, update);
  }

  function row(one) {
    const link = h("a", { href: `#/session/${seg(one.id)}`, title: one.id }, one.title || short(one.id));
    return h("tr", {}, h("th", { scope: "row" }, link, one.title && h("small", { class: "quiet" }, ` ${short(one.id)}`)),
      h("td", {}, languageName(one.language)), h("td", { class: "state" }), h("td", { class: "line" }), h("td", { class: "used quiet" }));
  }

  function update(node, one) {
    const run = runs.get(one.id) ?? known.get(one.id)?.run;
    const state = one.waiting_run ? "waiting" : run === undefined ? "" : run === null ? "new"
      : run.state !== "finished" ? progress(run) : run.result?.status ?? "finished";
    const [, , stateCell, line, used] = node.children;
    if (stateCell.textContent !== plain(state)) fill(stateCell, state && badge(plain(state), state === "new" ? "" : kindOf(state)));
    const text = lines.get(run?.id) ?? lastLine(run?.result);
    if (line.textContent !== text) line.textContent = text;
    used.textContent = ago(one.last_used_at);
  }

  // The store says "queued" until a run has ended; one that was heard is running for certain.
  const progress = (run) => (lines.has(run.id) ? "running" : "under way");

  function watch() {
    for (const run of runs.values()) {
      if (run.state === "finished" || run.state === "waiting" || watched.has(run.id) || watched.size >= WATCHED_MAX) continue;
      watched.set(run.id, true);
      listen(run).finally(() => watched.delete(run.id));
    }
  }

  async function listen(run) {
    let heard = "";
    try {
      for await (const { kind, data } of events(`/v1/runs/${seg(run.id)}/events`, signal)) {
        if (kind !== "stdout" && kind !== "stderr") continue;
        heard = `${heard}${data}`.slice(-2000);
        lines.set(run.id, lastOf(heard));
        draw();
      }
    } catch { /* the next refresh says what is wrong, if it still is */ }
  }

  async function create() {
    const id = h("input", { pattern: "[a-zA-Z0-9_\\-]{1,64}", placeholder: "made for you", autocomplete: "off" });
    const title = h("input", { maxlength: 200 });
    const language = options(h("select"), LANGUAGES, "python");
    const template = h("select");
    const durable = h("input", { type: "checkbox" });
    const memory = h("input", { type: "number", min: 1, max: 2048, value: "64" });
    const seconds = h("input", { type: "number", min: 1, max: 3600, value: "10" });
    options(template, [["", "none: start empty"]]);
    get("/v1/snapshots?kind=template", signal).then(
      ({ items }) => options(template, [["", "none: start empty"], ...items.map((one) => [one.id, one.label || short(one.id)])]),
      () => {});
    const content = [field("Id", id), field("Title", title), field("Language", language), field("Template", template),
      h("div", { class: "row" }, field("Memory, MiB", memory), field("Seconds a run", seconds)),
      h("label", { class: "inline" }, durable, " durable: variables are saved after every run")];
    const wanted = await ask("New session", content, { action: "Make it", collect: () => ({
      id: id.value || undefined, title: title.value, language: language.value, template: template.value || undefined, durable: durable.checked,
      limits: { ...LIMITS, memory_mb: Number(memory.value), cpu_ms: Number(seconds.value) * 1000, wall_ms: Number(seconds.value) * 1000,
        max_stdout_bytes: 1 << 20, max_external_calls: 100 } }) });
    if (!wanted) return;
    try {
      const made = await post("/v1/sessions", wanted);
      location.hash = `#/session/${seg(made.id)}`;
    } catch (error) { fill(said, trouble(error)); }
  }

  every(REFRESH_MS, signal, refresh);
  return { element, title: "Sessions", keys: { n: create, "/": () => filter.focus() } };
}

const lastOf = (text) => text.trimEnd().split("\n").pop().slice(-160);
const lastLine = (result) => (result ? lastOf(result.error?.message ?? (result.stdout || result.stderr || "").slice(-2000)) : "");
