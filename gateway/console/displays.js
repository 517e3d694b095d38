// What a program shows beside its text: figures, tables, HTML, JSON.
// Rules: THREAT[TM-CONSOLE-XSS]: a program's HTML is shown in a frame with every sandbox flag set: no scripts, no origin, no forms,
// no way out; the page's own content policy holds in it too. Images are images, SVG included: as such they run nothing.

import { h, table } from "./dom.js";

const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const ROWS_MAX = 500;
const COLUMNS_MAX = 50;
const frames = window.trustedTypes?.createPolicy("sandboxed-frame", { createHTML: (text) => text });

export function show({ mime, data }) {
  const text = typeof data === "string" ? data : JSON.stringify(data);
  if (IMAGES.includes(mime)) return figure(`data:${mime};base64,${text.replace(/[^A-Za-z0-9+/=]/g, "")}`);
  if (mime === "image/svg+xml") return figure(`data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`);
  if (mime === "text/html") return frame(text);
  if (mime === "text/csv") return grid(text.trim().split("\n").map((line) => line.split(",")));
  if (mime === "application/json" || mime.endsWith("+json")) return showValue(parsed(text));
  return h("pre", { class: "text" }, text);
}

function figure(source) {
  return h("figure", {}, h("img", { src: source, alt: "A figure the program made" }));
}

function frame(text) {
  const rows = (text.match(/<tr[\s>]/gi) ?? []).length;
  const made = h("iframe", { sandbox: "", title: "What the program displays", loading: "eager", referrerpolicy: "no-referrer" });
  const style = new URL("frame.css", import.meta.url).pathname;
  const content = `<!doctype html><link rel="stylesheet" href="${style}">${text}`;
  made.srcdoc = frames ? frames.createHTML(content) : content;
  made.style.height = `${Math.min(420, rows ? 34 + rows * 28 : 180)}px`;
  return made;
}

function parsed(text) {
  try { return JSON.parse(text); } catch { return text; }
}

// A result: a list of records becomes a table, everything else indented JSON.
export function showValue(value) {
  if (typeof value === "string") return h("pre", { class: "text" }, value);
  if (Array.isArray(value) && value.length && value.every(isFlat)) {
    const columns = [...new Set(value.slice(0, ROWS_MAX).flatMap(Object.keys))].slice(0, COLUMNS_MAX);
    return grid([columns, ...value.map((row) => columns.map((name) => cell(row[name])))]);
  }
  if (Array.isArray(value) && value.length > 1 && value.every((row) => Array.isArray(row) && row.length && row.every(isScalar))) {
    return grid([value[0].map((_, index) => String(index)), ...value.map((row) => row.map(cell))]);
  }
  return h("pre", { class: "text" }, JSON.stringify(value, null, 2));
}

const isScalar = (value) => value === null || typeof value !== "object";
const isFlat = (value) => value !== null && typeof value === "object" && !Array.isArray(value) && Object.values(value).every(isScalar);
const cell = (value) => (value === undefined || value === null ? "" : String(value));

function grid(rows) {
  const [heads, ...body] = rows;
  const shown = body.slice(0, ROWS_MAX).map((row) => h("tr", {}, row.slice(0, COLUMNS_MAX).map((text) => h("td", {}, text))));
  const left = body.length - shown.length;
  const made = table("Table", heads, h("tbody", {}, shown));
  return left > 0 ? h("div", {}, made, h("p", { class: "quiet" }, `and ${left} more rows`)) : made;
}
