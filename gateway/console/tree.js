// The tree of sessions, forks and snapshots, drawn. A node is chosen by click or Enter; what can be done with it stands beside.

import { account, every, get, pages, post, raw, remove, seg } from "./api.js";
import { ask, button, empty, field, fill, h, notice, svg, trouble } from "./dom.js";
import { give } from "./files.js";
import { HEIGHT, WIDTH, arrange, trace } from "./lineage.js";
import { forks } from "./trail.js";
import { bytes, languageName, moment, short, when } from "./words.js";

const REFRESH_MS = 5000;

export function view(_, signal) {
  let chosen = null;
  let comparing = null;
  let drawn = "";
  let nodes = new Map();
  const drawing = svg("svg", { class: "tree", role: "group", "aria-label": "Sessions and snapshots" });
  const panel = h("aside", { class: "panel", "aria-label": "Chosen", "aria-live": "polite" }, h("p", { class: "quiet" }, "Choose a session or a snapshot."));
  const result = h("section", { class: "panel", "aria-label": "Comparison" });
  const none = empty("Nothing to draw yet.", "Sessions appear here, their snapshots beside them, and forks beside both.");
  const said = h("div");
  const board = h("div", { class: "board", tabindex: "0", role: "region", "aria-label": "Tree" }, drawing);
  const legend = h("p", { class: "legend quiet" }, h("i", { class: "key session" }), " session  ", h("i", { class: "key snapshot" }), " snapshot  ",
    h("i", { class: "key template" }), " template  ", h("i", { class: "key gone" }), " deleted");
  none.hidden = result.hidden = true;
  const element = h("div", {}, h("header", { class: "page" }, h("h1", {}, "Forks and snapshots"), legend), said, none,
    h("div", { class: "columns" }, board, h("div", { class: "side" }, panel, result)));

  async function refresh() {
    try {
      const [sessions, snapshots] = await Promise.all([pages("/v1/sessions", 400, signal), pages("/v1/snapshots", 400, signal)]);
      const parents = account.may("operator") ? await forks(signal) : new Map();
      nodes = trace(sessions.items, snapshots.items, parents);
      none.hidden = nodes.size > 0;
      const now = JSON.stringify([...nodes.values()].map((one) => [one.key, one.parent, one.record?.title, one.record?.label]));
      if (now !== drawn) { drawn = now; draw(); }
      fill(said);
    } catch (error) {
      if (!signal.aborted) fill(said, trouble(error));
    }
  }

  function draw() {
    const focused = document.activeElement?.closest?.("[data-key]")?.dataset.key;
    const { order, width, height } = arrange(nodes);
    drawing.setAttribute("viewBox", `0 0 ${Math.max(width, 1)} ${Math.max(height, 1)}`);
    drawing.setAttribute("width", width);
    drawing.setAttribute("height", height);
    fill(drawing, order.filter((one) => one.parent).map((one) => edge(nodes.get(one.parent), one)), order.map(drawNode));
    if (focused) drawing.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  }

  function drawNode(node) {
    const { record, kind } = node;
    const name = kind === "session" ? record.title || short(node.id) : kind === "snapshot" ? record.label || short(node.id) : short(node.id);
    const about = kind === "session" ? `${record.title ? clip(node.id) : languageName(record.language)} · ${when(record.created_at)}`
      : kind === "snapshot" ? `${bytes(record.size_bytes)} · ${when(record.created_at)}` : "deleted session";
    const look = kind === "snapshot" && record.kind === "template" ? "template" : kind;
    const act = () => choose(node);
    return svg("g", {
      class: `node ${look} ${chosen === node.key ? "chosen" : ""}`, transform: `translate(${node.x} ${node.y})`, tabindex: "0", role: "button",
      "data-key": node.key, "aria-label": `${look} ${name}, ${about}`, "aria-pressed": String(chosen === node.key), onclick: act,
      onkeydown: (event) => {
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); act(); } else step(event, node);
      },
    },
    svg("rect", { width: WIDTH, height: HEIGHT, rx: kind === "snapshot" ? 23 : 7 }),
    svg("text", { x: 16, y: 19, class: "name" }, clip(name)), svg("text", { x: 16, y: 36, class: "about" }, about));
  }

  // Arrow keys walk the tree: left to the parent, right to a child, up and down to the neighbours.
  function step(event, node) {
    const all = [...nodes.values()];
    const found = {
      ArrowLeft: () => nodes.get(node.parent),
      ArrowRight: () => all.find((one) => one.parent === node.key),
      ArrowUp: () => all.filter((one) => one.y < node.y).sort((one, other) => other.y - one.y || Math.abs(one.x - node.x) - Math.abs(other.x - node.x))[0],
      ArrowDown: () => all.filter((one) => one.y > node.y).sort((one, other) => one.y - other.y || Math.abs(one.x - node.x) - Math.abs(other.x - node.x))[0],
    }[event.key]?.();
    if (!found) return;
    event.preventDefault();
    drawing.querySelector(`[data-key="${CSS.escape(found.key)}"]`)?.focus();
  }

  function choose(node) {
    if (comparing && node.kind === "snapshot" && node.id !== comparing) { compare(comparing, node.id); comparing = null; }
    chosen = node.key;
    for (const one of drawing.querySelectorAll(".node")) {
      one.classList.toggle("chosen", one.dataset.key === chosen);
      one.setAttribute("aria-pressed", String(one.dataset.key === chosen));
    }
    fill(panel, node.kind === "session" ? aboutSession(node.record) : node.kind === "snapshot" ? aboutSnapshot(node.record)
      : h("p", {}, `Session ${node.id} is deleted; its snapshots are still here.`));
  }

  function aboutSession(one) {
    return [h("h2", {}, one.title || "Session"), h("p", {}, h("code", {}, one.id)),
      h("p", { class: "quiet" }, `${languageName(one.language)} · made ${moment(one.created_at)}`),
      h("div", { class: "row" }, h("a", { class: "button main", href: `#/session/${seg(one.id)}` }, "Open"),
        button("Fork", () => named("Fork this session", (name) => post(`/v1/sessions/${seg(one.id)}/fork`, name ? { ids: [name] } : {}), "The fork is made.")),
        button("Snapshot", () => labelled(one)),
        button("Delete", () => sure(`Delete session ${one.id}?`, () => remove(`/v1/sessions/${seg(one.id)}`)), { class: "danger" }))];
  }

  function aboutSnapshot(one) {
    return [h("h2", {}, one.label || "Snapshot"), h("p", {}, h("code", {}, short(one.id))),
      h("p", { class: "quiet" }, `${one.kind} · ${bytes(one.size_bytes)} · of ${short(one.session_id)} · ${moment(one.created_at)}`),
      h("div", { class: "row" },
        button("Restore", () => named("Make a session of this snapshot",
          (name) => post(`/v1/snapshots/${seg(one.id)}/restore`, name ? { session_id: name } : {}), "The session is made."), { class: "main" }),
        button("Compare with…", () => { comparing = one.id; notice("Now choose the other snapshot."); }),
        button("Download", () => raw("GET", `/v1/snapshots/${seg(one.id)}/content`).then(async (found) => give(await found.blob(), `${one.id}.cbor`), tell)),
        button("Delete", () => sure(`Delete snapshot ${one.label || short(one.id)}?`, () => remove(`/v1/snapshots/${seg(one.id)}`)), { class: "danger" }))];
  }

  async function compare(old, other) {
    const [first, second] = [old, other].map((id) => nodes.get(`n:${id}`).record).sort((one, two) => one.created_at - two.created_at);
    try {
      const found = await get(`/v1/snapshots/${seg(first.id)}/diff?new=${seg(second.id)}`, signal);
      const changes = [["Files", found.files], ...Object.entries(found.variables).map(([name, change]) => [`Variables, ${languageName(name)}`, change])];
      const pagesText = Object.entries(found.pages).map(([name, count]) => `${languageName(name)} ${count}`).join(", ");
      fill(result, h("header", {}, h("h2", {}, `From ${first.label || short(first.id)} to ${second.label || short(second.id)}`),
        button("Close", () => { result.hidden = true; }, { class: "small" })),
      changes.map(([name, change]) => changed(name, change)), pagesText && h("p", { class: "quiet" }, `Changed pages of memory: ${pagesText}`));
    } catch (error) { fill(result, trouble(error)); }
    result.hidden = false;
  }

  async function labelled(one) {
    const label = h("input", { maxlength: 200 });
    const wanted = await ask("Save this session as it is now", field("Label", label), { action: "Save", collect: () => ({ label: label.value }) });
    if (wanted) await act(() => post(`/v1/sessions/${seg(one.id)}/snapshots`, wanted), "The snapshot is saved.");
  }

  async function named(title, work, done) {
    const name = h("input", { pattern: "[a-zA-Z0-9_\\-]{1,64}", placeholder: "made for you" });
    const wanted = await ask(title, field("Name of the new session", name), { action: "Make it", collect: () => ({ name: name.value }) });
    if (wanted) await act(() => work(wanted.name), done);
  }

  async function sure(title, work) {
    if (!(await ask(title, null, { action: "Delete", kind: "danger" }))) return;
    await act(work, "Deleted.");
    chosen = null;
    fill(panel, h("p", { class: "quiet" }, "Choose a session or a snapshot."));
  }

  async function act(work, done) {
    try { await work(); notice(done); await refresh(); } catch (error) { tell(error); }
  }

  const tell = (error) => panel.append(trouble(error));
  every(REFRESH_MS, signal, refresh);
  return { element, title: "Forks and snapshots" };
}

const clip = (text) => (text.length > 22 ? `${text.slice(0, 21)}…` : text);

function edge(from, to) {
  const [x1, y1, x2, y2] = [from.x + WIDTH, from.y + HEIGHT / 2, to.x, to.y + HEIGHT / 2];
  const middle = (x1 + x2) / 2;
  return svg("path", { class: "edge", d: `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}` });
}

function changed(name, change) {
  const rows = [["added", "+"], ["changed", "±"], ["removed", "−"]].flatMap(([kind, sign]) =>
    (change[kind] ?? []).map((one) => h("li", { class: kind }, h("span", { "aria-label": kind }, `${sign} `), h("code", {}, one))));
  return h("div", {}, h("h3", {}, name), rows.length ? h("ul", { class: "changes" }, rows) : h("p", { class: "quiet" }, "no change"));
}
