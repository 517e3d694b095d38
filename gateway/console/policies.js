// The policy playground: write, see what is wrong as you type, ask what would be decided, compare, put in force.

import { account, every, get, post } from "./api.js";
import { ask, badge, button, empty, field, fill, h, keyed, notice, options, prose, table, trouble } from "./dom.js";
import { makeEditor } from "./editor.js";
import { ago, bytes, duration, kindOf, plain, short } from "./words.js";

const MAIN = "policy.hatch";
const TYPING_MS = 300;
const REFRESH_MS = 4000;
const EVENTS = ["run", "session.create", "session.fork", "fs.read", "fs.write", "net.connect", "secret.use", "snapshot.take", "snapshot.restore"];
const STARTER = `policy my.tenant v 1

allow session.create
allow run when bytes <= 1MiB
limit run { cpu 5s wall 20s memory 256MiB output 1MiB calls 100 stack 1_000 }
allow fs.read when path under "/workspace"
allow fs.write when path under "/workspace" and bytes <= 1MiB
  rate 600/min per session
allow now

prove no net.connect

test "programs compute" {
  as { tenant acme }
  run { language python, bytes 1KiB } => allow
  net.connect { host "example.com", port 443 } => deny
}
`;
let kept = null; // what is being written survives a look at another view

export function view(_, signal) {
  const work = kept ?? { sources: { [MAIN]: STARTER }, main: MAIN, file: MAIN };
  kept = work;
  let checking = null;
  let timer = 0;
  const editor = makeEditor({ label: "Policy", id: "policy", tall: true, onchange: typed });
  const verdict = h("p", { class: "verdict", role: "status" });
  const findings = h("ul", { class: "findings", "aria-label": "Diagnostics" });
  const stored = h("select", { "aria-label": "Load a policy", onchange: load });
  const file = h("select", { "aria-label": "File of the policy", onchange: () => turn(file.value) });
  const answers = h("section", { class: "panel answers", "aria-label": "Answer", "aria-live": "polite", tabindex: "-1" });
  answers.hidden = true;
  const deploy = button("Deploy", () => put(false), { class: "main", disabled: true });
  const shadow = button("Shadow", () => put(true), { disabled: true, title: "Let it watch: decisions it would make otherwise are listed" });
  const event = h("input", { list: "events", value: "run", required: true, autocomplete: "off" });
  const events = h("datalist", { id: "events" }, EVENTS.map((value) => h("option", { value })));
  const attributes = h("textarea", { rows: 4, class: "plain-text", spellcheck: "false", value: '{"language": "python", "bytes": 1024}' });
  const whom = options(h("select"), [["text", "the text above"], ["force", "the policy in force"]]);
  const decisions = h("tbody");
  const differences = h("tbody");
  const noDecisions = empty("No decisions yet.", "Every run and call of this tenant appears here.");
  const noDifferences = empty("No differences.", "Put a policy into the shadow: what it would decide otherwise appears here.");

  const element = h("div", { class: "policies" },
    h("header", { class: "page" }, h("h1", {}, "Policy"), h("div", { class: "row" }, stored, file)),
    h("div", { class: "columns" },
      h("section", { class: "panel", "aria-label": "Policy text" }, editor.element, verdict, findings,
        h("div", { class: "row" }, button("Check", () => check(true), { title: "Ctrl+Enter" }), button("Diff with the one in force", diff),
          h("span", { class: "grow" }), shadow, deploy)),
      h("div", { class: "side" },
        h("section", { class: "panel", "aria-labelledby": "explain-title" }, h("h2", { id: "explain-title" }, "Explain"),
          field("Event or capability", event), events, field("Attributes, as JSON", attributes), field("Asked of", whom),
          button("Explain", explain, { id: "explain" })),
        answers)),
    h("div", { class: "logs" },
      h("section", {}, h("h2", {}, "Recent decisions"), noDecisions, table("Recent decisions", ["Verdict", "Event", "Rule", "About", "When", ""], decisions)),
      h("section", {}, h("h2", {}, "Shadow differences"), noDifferences, table("Shadow differences", ["Event", "Decided", "Shadow", "About", "When"], differences))));

  function typed(text) {
    work.sources[work.file] = text;
    deploy.disabled = shadow.disabled = true;
    fill(verdict, badge("checking"));
    clearTimeout(timer);
    timer = setTimeout(check, TYPING_MS);
  }

  function turn(name) {
    work.file = name;
    editor.value = work.sources[name] ?? "";
    options(file, Object.keys(work.sources).sort().map((one) => [one, one]), name);
    file.hidden = Object.keys(work.sources).length < 2;
    check();
  }

  async function check(loud = false) {
    checking?.abort();
    const mine = (checking = new AbortController());
    signal.addEventListener("abort", () => mine.abort(), { once: true });
    try {
      const found = await post("/v1/policies/check", { sources: work.sources, main: work.main }, mine.signal);
      if (mine.signal.aborted) return;
      tell(found.findings, found.ok);
      const proved = Object.keys(found.proofs).length;
      fill(verdict, found.ok ? [badge("ok", "good"), ` ${found.name} v ${found.version}: ${found.rules} rules, ${found.tests} tests pass, ${proved} claims proved`]
        : [badge("refused", "bad"), " it cannot be put in force as it is"]);
      if (loud) notice(found.ok ? "The policy is good." : "The policy has mistakes.");
    } catch (error) {
      if (error.name === "AbortError") return;
      tell([], false);
      fill(verdict, trouble(error));
    }
  }

  function tell(list, ok) {
    deploy.disabled = shadow.disabled = !ok;
    const here = list.filter((one) => one.place?.file === work.file);
    editor.mark(here.map((one) => ({ ...one.place, kind: one.severity })));
    const errors = list.filter((one) => one.severity === "error");
    const others = list.filter((one) => one.severity !== "error");
    const open = findings.querySelector("details")?.open;
    fill(findings, errors.map(finding), others.length > 0 && h("li", {}, h("details", { open },
      h("summary", {}, `${others.length} warning${others.length > 1 ? "s" : ""}`), h("ul", {}, others.map(finding)))));
  }

  function finding(one) {
    const go = () => {
      if (!one.place) return;
      if (one.place.file !== work.file) turn(one.place.file);
      editor.go(one.place);
    };
    const where = one.place ? `${one.place.file === work.file ? "" : `${one.place.file}, `}line ${one.place.line}: ` : "";
    return h("li", { class: `finding ${one.severity}` }, button([where, ...prose(one.message)], go, { class: "link" }),
      h("span", { class: "quiet" }, ` ${one.code}`), one.hint && h("p", {}, "Hint: ", prose(one.hint)));
  }

  function answer(...content) {
    answers.hidden = false;
    fill(answers, h("header", {}, h("h2", {}, "Answer"), button("Close", () => { answers.hidden = true; }, { class: "small" })), ...content);
  }

  async function explain() {
    try {
      const asked = { event: event.value, attributes: JSON.parse(attributes.value || "{}") };
      if (whom.value === "text") Object.assign(asked, { sources: work.sources, main: work.main });
      const said = await post("/v1/policies/explain", asked, signal);
      const limits = Object.entries(said.limits).map(([name, value]) => limit(name, value)).join(", ");
      answer(h("p", {}, badge(said.verdict, kindOf(said.verdict)), " ", h("code", {}, said.rule)), said.because && h("p", {}, said.because),
        h("pre", { class: "text", tabindex: "0" }, said.text), limits && h("p", { class: "quiet" }, "Limits: ", limits));
    } catch (error) {
      answer(trouble(error instanceof SyntaxError ? { message: "the attributes are not JSON", hint: error.message } : error));
    }
  }

  async function diff() {
    try {
      const changes = await post("/v1/policies/diff", { new: { sources: work.sources, main: work.main } }, signal);
      const rows = changes.map((one) => h("li", { class: "change" }, badge(one.loosens ? "permits more" : "permits less", one.loosens ? "wait" : ""), " ",
        h("code", {}, one.capability), ` ${one.what}: ${one.before} → ${one.after}`, h("pre", { class: "text" }, JSON.stringify(one.attributes))));
      answer(rows.length ? h("ul", { class: "changes" }, rows) : h("p", {}, "It decides exactly as the one in force."));
    } catch (error) { answer(trouble(error)); }
  }

  async function put(watching) {
    const text = h("p", {}, watching ? "It watches: nothing is decided by it, and its differences are listed below."
      : `It decides from now on for ${account.tenant || account.me.tenant}. Sessions that are open keep the policy they were opened with.`);
    if (!(await ask(watching ? "Put it into the shadow?" : "Put it in force?", text, { action: watching ? "Shadow" : "Deploy" }))) return;
    try {
      const { policy, replayed } = await post("/v1/policies", { sources: work.sources, main: work.main, shadow: watching });
      notice(`${policy.name} v ${policy.version} is ${policy.state}.`);
      answer(h("p", {}, badge(policy.state, kindOf(policy.state)), ` ${policy.name} v ${policy.version} `, h("code", {}, policy.digest.slice(0, 12))),
        h("p", {}, `Recent decisions replayed: ${replayed.total}; changed ${replayed.changed}, permitted now and not before ${replayed.loosened}, not replayable ${replayed.not_replayable}.`));
      await list();
    } catch (error) { answer(trouble(error)); }
  }

  async function list() {
    try {
      const { items } = await get("/v1/policies?limit=50", signal);
      const rank = { active: 0, shadow: 1, retired: 2 };
      items.sort((one, other) => rank[one.state] - rank[other.state] || other.created_at - one.created_at);
      const state = (one) => one.owner === "operator" ? "the operator's default, in force" : one.state;
      options(stored, [["", "Load…"], ["starter", "a small starter"],
        ...items.map((one) => [one.digest, `${one.name} v ${one.version} (${state(one)})`])], "");
      stored.items = items;
      return items;
    } catch (error) { fill(verdict, trouble(error)); return []; }
  }

  function load() {
    const found = stored.items.find((one) => one.digest === stored.value);
    if (found) Object.assign(work, { sources: { ...found.sources }, main: found.main });
    else if (stored.value === "starter") Object.assign(work, { sources: { [MAIN]: STARTER }, main: MAIN });
    stored.value = "";
    turn(work.main);
  }

  async function refresh() {
    try {
      const [recent, other] = await Promise.all([get("/v1/policies/decisions?limit=25", signal), get("/v1/policies/differences?limit=25", signal)]);
      noDecisions.hidden = recent.length > 0;
      noDifferences.hidden = other.length > 0;
      decisions.closest(".scroll").hidden = !recent.length;
      differences.closest(".scroll").hidden = !other.length;
      keyed(decisions, recent, (one) => JSON.stringify(one), decision, (node, one) => { node.children[4].textContent = ago(one.at); });
      keyed(differences, other, (one) => JSON.stringify(one), difference, (node, one) => { node.children[4].textContent = ago(one.at); });
    } catch (error) { if (!signal.aborted) fill(verdict, trouble(error)); }
  }

  function decision(one) {
    const put = () => { event.value = one.event; attributes.value = JSON.stringify(one.attributes, null, 1); explain(); answers.focus(); };
    return h("tr", {}, h("td", {}, badge(one.verdict, kindOf(one.verdict))), h("td", {}, h("code", {}, one.event)), h("td", {}, h("code", {}, one.rule)),
      about(one.attributes), h("td", { class: "quiet when" }), h("td", {}, button("Why?", put, { class: "small", "aria-label": `Explain ${one.event}` })));
  }

  const difference = (one) => h("tr", {}, h("td", {}, h("code", {}, one.event)), h("td", {}, badge(one.verdict, kindOf(one.verdict))),
    h("td", {}, badge(one.candidate, kindOf(one.candidate))), about(one.attributes), h("td", { class: "quiet when" }));

  element.addEventListener("keydown", (pressed) => {
    if ((pressed.ctrlKey || pressed.metaKey) && pressed.key === "Enter") { pressed.preventDefault(); check(true); }
  });
  get("/v1/capabilities", signal).then((found) => fill(events, [...EVENTS, ...found.map((one) => one.name)].map((value) => h("option", { value }))), () => {});
  turn(work.file);
  list().then((items) => {
    if (items.length && work.sources[MAIN] === STARTER && items[0].state === "active") { stored.value = items[0].digest; load(); }
  });
  every(REFRESH_MS, signal, refresh);
  return { element, title: "Policy" };
}

export function forgetDraft() { kept = null; }

function limit(name, value) {
  if (name.endsWith("_ms")) return `${plain(name.slice(0, -3))} ${duration(value)}`;
  if (name.endsWith("_bytes")) return `${plain(name.slice(0, -6))} ${bytes(value)}`;
  return `${plain(name)} ${value}`;
}

function about(attributes) {
  // What was asked comes first, who asked last.
  const isFact = ([name]) => ["tenant", "plan", "user"].includes(name) || name.startsWith("session.");
  const entries = Object.entries(attributes).sort((one, other) => isFact(one) - isFact(other));
  const text = entries.map(([name, value]) => `${name} ${typeof value === "string" ? short(value) : JSON.stringify(value)}`).join(", ");
  return h("td", { class: "about-cell quiet", title: text }, text);
}
