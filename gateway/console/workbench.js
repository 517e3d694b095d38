// One session: a run box, what came of its runs, and its files beside.

import { get, post, remove, seg } from "./api.js";
import { follow, makeCell } from "./cells.js";
import { ask, button, empty, field, fill, h, notice, options, trouble } from "./dom.js";
import { makeEditor } from "./editor.js";
import { makeFiles } from "./files.js";
import { LANGUAGES } from "./tables.js";
import { languageName, short } from "./words.js";

const EARLIER = 10;
const SAMPLES = {
  python: "print('hello from Python')\n",
  javascript: "console.log('hello from JavaScript')\n",
  type_script: "const name: string = 'TypeScript'\nconsole.log(`hello from ${name}`)\n",
  shell: "echo hello from the shell\n",
};
const drafts = new Map();

export function view(id, signal) {
  let session = null;
  let current = null;
  const files = makeFiles(id, signal);
  const language = options(h("select", { id: "language", onchange: changeLanguage }), LANGUAGES);
  const editor = makeEditor({ label: "Program", id: "program", onchange: (text) => drafts.set(draft(), text) });
  const go = button("Run", run, { class: "main", title: "Ctrl+Enter", id: "run" });
  const said = h("div");
  const cells = h("div", { class: "cells", "aria-label": "Runs" });
  const none = empty("Nothing has run here yet.", "Write a program and press Ctrl+Enter.");
  const title = h("h1", {}, short(id));
  const about = h("p", { class: "quiet about" }, " ");
  const input = h("textarea", { rows: 2, "aria-label": "Standard input", class: "plain-text" });

  const element = h("div", { class: "workbench" },
    h("header", { class: "page" }, h("div", {}, title, about), h("div", { class: "row" },
      button("Snapshot", snapshot), button("Fork", fork), button("Delete", drop, { class: "danger" }))),
    h("div", { class: "columns" },
      h("div", { class: "left" },
        h("section", { class: "panel", "aria-label": "Run box" },
          h("div", { class: "row" }, h("label", { class: "inline" }, "Language ", language), h("span", { class: "grow" }),
            button("Files ↓", () => files.element.scrollIntoView(), { class: "small narrow-only" }),
            h("kbd", { class: "quiet" }, "Ctrl+Enter"), go),
          editor.element, h("details", { class: "stdin" }, h("summary", {}, "Standard input"), input), said),
        h("section", { "aria-label": "Output of runs" }, none, cells)),
      files.element));

  const draft = () => `${id}/${language.value}`;

  function changeLanguage() {
    editor.value = drafts.get(draft()) ?? SAMPLES[language.value] ?? "";
  }

  async function load() {
    try {
      session = await get(`/v1/sessions/${seg(id)}`, signal);
    } catch (error) {
      if (!signal.aborted) fill(element, trouble(error), h("p", {}, h("a", { href: "#/sessions" }, "All sessions")));
      return;
    }
    title.textContent = session.title || short(id);
    const limits = session.limits;
    about.textContent = [session.title && id, languageName(session.language), session.durable && "durable",
      `${limits.memory_mb} MiB`, `${limits.wall_ms / 1000} s a run`].filter(Boolean).join(" · ");
    language.value = session.language;
    changeLanguage();
    editor.focus();
    files.refresh();
    const earlier = await get(`/v1/runs?session_id=${seg(id)}&limit=${EARLIER}`, signal).catch(() => ({ items: [] }));
    none.hidden = earlier.items.length > 0 || cells.childElementCount > 0;
    for (const run of earlier.items) attach(run, "", false);
  }

  function attach(run, code, first) {
    const edit = () => { language.value = run.language; editor.value = code; editor.focus(); drafts.set(draft(), code); };
    const cell = makeCell(run, code, edit);
    none.hidden = true;
    if (first) cells.prepend(cell.element);
    else cells.append(cell.element);
    if (run.state === "finished") { cell.finish(run); return cell; }
    current = cell;
    cell.onend = (result) => ended(cell, code, result);
    follow(cell, signal);
    return cell;
  }

  function ended(cell, code, result) {
    if (current === cell) current = null;
    go.disabled = false;
    files.refresh();
    if (result && code && editor.value === code) {
      const marked = [result.error, ...result.diagnostics].filter((one) => one?.span);
      editor.mark(marked.map((one) => ({ ...one.span, kind: one.severity === "warning" ? "warning" : "error" })));
    }
  }

  async function run() {
    if (go.disabled) return;
    go.disabled = true;
    fill(said);
    editor.mark([]);
    const code = editor.value;
    try {
      const body = { code, language: language.value };
      if (input.value) body.stdin = input.value;
      attach(await post(`/v1/sessions/${seg(id)}/runs?mode=async`, body), code, true);
    } catch (error) {
      go.disabled = false;
      fill(said, trouble(error));
      if (error.span) editor.mark([error.span]);
    }
  }

  async function snapshot() {
    const label = h("input", { maxlength: 200 });
    const template = h("input", { type: "checkbox" });
    const content = [field("Label", label), h("label", { class: "inline" }, template, " a template: new sessions may start from it")];
    const wanted = await ask("Save this session as it is now", content,
      { action: "Save", collect: () => ({ label: label.value, template: template.checked }) });
    if (wanted) await act(() => post(`/v1/sessions/${seg(id)}/snapshots`, wanted), "The snapshot is saved.");
  }

  async function fork() {
    const name = h("input", { pattern: "[a-zA-Z0-9_\\-]{1,64}", placeholder: "made for you" });
    const wanted = await ask("Fork this session", field("Name of the fork", name), { action: "Fork", collect: () => ({ name: name.value }) });
    if (!wanted) return;
    const made = await act(() => post(`/v1/sessions/${seg(id)}/fork`, wanted.name ? { ids: [wanted.name] } : {}), "The fork is made.");
    if (made) location.hash = `#/session/${seg(made[0].id)}`;
  }

  async function drop() {
    if (!(await ask("Delete this session?", h("p", {}, `${id}, with its files, values and runs`), { action: "Delete", kind: "danger" }))) return;
    if (await act(() => remove(`/v1/sessions/${seg(id)}`).then(() => true), "The session is deleted.")) location.hash = "#/sessions";
  }

  async function act(work, done) {
    try {
      const made = await work();
      notice(done);
      return made;
    } catch (error) {
      fill(said, trouble(error));
      return null;
    }
  }

  element.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey)) return;
    if (event.key === "Enter") { event.preventDefault(); run(); }
    else if (event.key === "." && current) { event.preventDefault(); current.cancel(); }
  });
  load();
  return { element, title: `Session ${id}` };
}
