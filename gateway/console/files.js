// A session's files: open, edit, save, delete, upload, download. Saving is guarded by the ETag that was read, so that nobody's
// change is lost without being asked.

import { filePath, pages, post, raw, remove, seg } from "./api.js";
import { ask, button, empty, field, fill, h, keyed, notice, trouble } from "./dom.js";
import { makeEditor } from "./editor.js";
import { bytes } from "./words.js";

const TEXT_MAX = 1 << 20;
const SHOWN_MAX = 1000;

export function makeFiles(session, signal) {
  let directory = "/";
  let open = null;
  const where = h("nav", { class: "crumbs", "aria-label": "Directory" });
  const list = h("ul", { class: "files", "aria-label": "Files" });
  const nothing = empty("No files here yet.", "Programs that write below /workspace make some; or add one.");
  const said = h("div");
  const upload = h("input", { type: "file", multiple: true, class: "unseen", id: "upload", "aria-label": "Files to upload", onchange: take });
  const tools = h("div", { class: "row" }, button("New file", make, { class: "small" }), button("New directory", makeDirectory, { class: "small" }),
    h("label", { class: "small button", for: "upload" }, "Upload"), upload,
    button("Download all", archive, { class: "small", title: "This directory as tar" }));
  const holder = h("div", { class: "open-file" });
  const element = h("section", { class: "panel files-panel", "aria-labelledby": "files-title" },
    h("header", {}, h("h2", { id: "files-title" }, "Files"), where), tools, said, list, nothing, holder);
  nothing.hidden = true;

  async function refresh() {
    try {
      const { items: found, more } = await pages(`/v1/sessions/${seg(session)}/files?path=${seg(`/workspace${directory}`)}`, SHOWN_MAX, signal);
      found.sort((one, other) => other.is_directory - one.is_directory || one.name.localeCompare(other.name));
      fill(said, more && h("p", { class: "quiet" }, `The first ${found.length} entries are shown.`));
      crumbs();
      nothing.hidden = found.length > 0;
      keyed(list, found, (one) => `${one.is_directory}${one.path}`, row, update);
    } catch (error) {
      if (error.status === 404 && directory !== "/") { directory = "/"; await refresh(); }
      else fill(said, trouble(error));
    }
  }

  function crumbs() {
    const parts = directory.split("/").filter(Boolean);
    const steps = parts.map((name, index) => ["/", button(name, () => move(`/${parts.slice(0, index + 1).join("/")}`), { class: "link" })]);
    fill(where, button("workspace", () => move("/"), { class: "link" }), ...steps.flat());
  }

  function move(path) { directory = path; return refresh(); }

  function row(one) {
    const name = one.is_directory ? `${one.name}/` : one.name;
    const act = () => (one.is_directory ? move(one.path) : show(one.path).catch(tell));
    return h("li", {}, button(name, act, { class: "link name", title: one.path }), h("span", { class: "size quiet" }),
      !one.is_directory && button("↓", () => download(one.path), { class: "plain", "aria-label": `Download ${one.name}`, title: "Download" }),
      button("×", () => drop(one), { class: "plain", "aria-label": `Delete ${one.name}`, title: "Delete", disabled: one.is_readonly }));
  }

  function update(node, one) {
    node.querySelector(".size").textContent = one.is_directory ? "" : `${bytes(one.size_bytes)}${one.is_readonly ? " · read-only" : ""}`;
  }

  const tell = (error) => fill(said, trouble(error));

  async function show(path) {
    const answer = await raw("GET", filePath(session, path), { signal });
    const blob = await answer.blob();
    const etag = answer.headers.get("etag");
    const isText = answer.headers.get("content-type")?.startsWith("text/") && blob.size <= TEXT_MAX;
    const title = h("h3", {}, path);
    const close = button("Close", () => { open = null; fill(holder); }, { class: "small" });
    if (!isText) {
      open = null;
      fill(holder, h("header", {}, title, close), picture(path, blob) ?? empty(`${bytes(blob.size)} that are not text.`, "Download it to look at it."));
      return;
    }
    const state = h("span", { class: "quiet", role: "status" });
    const editor = makeEditor({ label: `Content of ${path}`, value: await blob.text(), onchange: () => { state.textContent = "changed"; } });
    open = { path, etag, editor, state };
    editor.area.addEventListener("keydown", (event) => {
      if ((event.ctrlKey || event.metaKey) && event.key === "s") { event.preventDefault(); save(); }
    });
    fill(holder, h("header", {}, title, state, button("Save", () => save(), { class: "small main", title: "Ctrl+S" }), close), editor.element);
    editor.area.setSelectionRange(0, 0); // it stands behind the text, and the focus would go there
    editor.focus();
  }

  async function save(force = false) {
    const { path, etag, editor, state } = open;
    const headers = { "content-type": "text/plain", ...(force ? {} : { "if-match": etag }) };
    try {
      const answer = await raw("PUT", filePath(session, path), { body: editor.value, headers });
      open.etag = answer.headers.get("etag");
      state.textContent = "saved";
      await refresh();
    } catch (error) {
      if (error.status !== 412) { tell(error); return; }
      const text = h("p", {}, `${path} was changed meanwhile, by a program or by somebody else.`);
      if (await ask("Overwrite it?", text, { action: "Overwrite", kind: "danger" })) await save(true);
    }
  }

  async function make() {
    const name = h("input", { required: true, maxlength: 4000, placeholder: "notes.txt" });
    const path = await ask("New file", field("Name", name, `in ${directory}`), { action: "Create", collect: () => `${directory}/${name.value}` });
    if (!path) return;
    try {
      await raw("PUT", filePath(session, path), { body: "", headers: { "content-type": "text/plain", "if-none-match": "*" } });
      await refresh();
      await show(path.replace(/\/+/g, "/"));
    } catch (error) { tell(error); }
  }

  async function makeDirectory() {
    const name = h("input", { required: true, maxlength: 4000 });
    const path = await ask("New directory", field("Name", name, `in ${directory}`), { action: "Create", collect: () => `${directory}/${name.value}` });
    if (path) await post(`/v1/sessions/${seg(session)}/directories`, { path: path.replace(/\/+/g, "/") }).then(refresh, tell);
  }

  async function take() {
    for (const file of upload.files) {
      try {
        await raw("PUT", filePath(session, `${directory}/${file.name}`), { body: file, headers: { "content-type": "application/octet-stream" } });
        notice(`${file.name} is uploaded.`);
      } catch (error) { tell(error); }
    }
    upload.value = "";
    await refresh();
  }

  async function download(path) {
    try {
      const answer = await raw("GET", filePath(session, path));
      give(await answer.blob(), path.split("/").pop());
    } catch (error) { tell(error); }
  }

  async function archive() {
    try {
      const answer = await raw("GET", `/v1/sessions/${seg(session)}/archive?path=${seg(`/workspace${directory}`)}`);
      give(await answer.blob(), `${session}.tar`);
    } catch (error) { tell(error); }
  }

  async function drop(one) {
    const text = h("p", {}, one.is_directory ? `${one.path} with everything in it` : one.path);
    if (!(await ask("Delete it?", text, { action: "Delete", kind: "danger" }))) return;
    try {
      await remove(`${filePath(session, one.path)}${one.is_directory ? "?recursive=true" : ""}`);
      if (open?.path === one.path) { open = null; fill(holder); }
      await refresh();
    } catch (error) { tell(error); }
  }

  return { element, refresh };
}

function picture(path, blob) {
  const kind = { png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg", gif: "image/gif", webp: "image/webp" }[path.split(".").pop().toLowerCase()];
  if (!kind) return null;
  const url = URL.createObjectURL(new Blob([blob], { type: kind }));
  return h("figure", {}, h("img", { src: url, alt: path, onload: () => URL.revokeObjectURL(url) }));
}

export function give(blob, name) {
  const url = URL.createObjectURL(new Blob([blob], { type: "application/octet-stream" }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
