// Building pages. Rules: text from anywhere becomes text nodes and attribute values, never markup; nothing here parses HTML.

const SVG = "http://www.w3.org/2000/svg";

function build(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "selected") node[name] = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  add(node, children);
  return node;
}

function add(node, children) {
  for (const child of children.flat()) {
    if (child === undefined || child === null || child === false) continue;
    node.append(child instanceof Node ? child : String(child));
  }
}

export function h(tag, attributes, ...children) {
  return build(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
  return build(document.createElementNS(SVG, tag), attributes, children);
}

export function fill(node, ...children) {
  node.replaceChildren();
  add(node, children);
  return node;
}

// Brings the children of `node` in line with `items`, keeping elements (and the focus in them) whose key is still there.
export function keyed(node, items, keyOf, make, update) {
  const known = new Map([...node.children].map((child) => [child.dataset.key, child]));
  let before = null;
  for (const item of items) {
    const key = String(keyOf(item));
    let child = known.get(key);
    known.delete(key);
    if (!child) {
      child = make(item);
      child.dataset.key = key;
    }
    update?.(child, item);
    const wanted = before ? before.nextElementSibling : node.firstElementChild;
    if (wanted !== child) node.insertBefore(child, wanted);
    before = child;
  }
  for (const child of known.values()) child.remove();
}

export function field(label, control, hint) {
  return h("label", { class: "field" }, h("span", {}, label), control, hint && h("small", {}, hint));
}

export function button(label, action, attributes = {}) {
  return h("button", { type: "button", onclick: action, ...attributes }, label);
}

export function options(select, pairs, chosen) {
  fill(select, pairs.map(([value, label]) => h("option", { value, selected: value === chosen }, label)));
  return select;
}

// A sentence in which names stand between backticks.
export function prose(text) {
  return String(text).split("`").map((part, index, all) => {
    if (index % 2 === 0) return part;
    return index === all.length - 1 ? `\`${part}` : h("code", {}, part);
  });
}

export function empty(title, hint, ...more) {
  return h("div", { class: "empty" }, h("p", {}, h("strong", {}, title)), hint && h("p", {}, prose(hint)), more);
}

export function table(caption, heads, body) {
  const columns = heads.map((head) => h("th", { scope: "col" }, head));
  const made = h("table", {}, h("caption", { class: "unseen" }, caption), h("thead", {}, h("tr", {}, columns)), body);
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, made);
}

export function badge(text, kind = "") {
  return h("span", { class: `badge ${kind}` }, text);
}

export function notice(text, kind = "") {
  const shown = h("p", { class: `notice ${kind}` }, text);
  document.getElementById("notices").append(shown);
  setTimeout(() => shown.remove(), kind === "bad" ? 9000 : 4000);
}

// What a failed call said, where it belongs.
export function trouble(error) {
  if (error?.name === "AbortError") return h("span");
  const about = [error.code, error.requestId && `request ${error.requestId}`].filter(Boolean).join(" · ");
  return h("div", { class: "trouble", role: "alert" },
    h("p", {}, h("strong", {}, prose(error.message || error))),
    error.hint && h("p", {}, "Hint: ", prose(error.hint)),
    about && h("p", { class: "quiet" }, about));
}

// A dialog that is answered: resolves to what `collect` gives, or null when it is closed.
export function ask(title, content, { action = "OK", kind = "main", collect = () => true } = {}) {
  return new Promise((resolve) => {
    let said = null;
    const form = h("form", { method: "dialog", onsubmit: () => { said = collect(); } },
      h("h2", { id: "dialog-title" }, title), content,
      h("div", { class: "row end" }, button("Cancel", () => dialog.close()), h("button", { class: kind }, action)));
    const dialog = h("dialog", { "aria-labelledby": "dialog-title", onclose: () => { dialog.remove(); resolve(said); } }, form);
    document.body.append(dialog);
    dialog.showModal();
  });
}
