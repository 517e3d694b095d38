// A text editor: a textarea with line numbers beside it and marks drawn under its text. Columns count code points, from 1.
// Tab indents; Escape, then Tab, goes on to the next control, so that the keyboard is never caught.

import { fill, h } from "./dom.js";

const INDENT = "    ";

export function makeEditor({ label, value = "", onchange, tall = false, id }) {
  const numbers = h("pre", { class: "numbers", "aria-hidden": "true" }, "1");
  const under = h("pre", { class: "under", "aria-hidden": "true" });
  const area = h("textarea", {
    id, spellcheck: "false", autocomplete: "off", autocapitalize: "off", wrap: "off", "aria-label": label, value,
    oninput: changed, onscroll: follow, onkeydown: key,
  });
  const element = h("div", { class: tall ? "editor tall" : "editor" }, numbers, h("div", { class: "layers" }, under, area));
  let leaving = false;
  let lines = 1;

  function changed() {
    fill(under);
    count();
    onchange?.(area.value);
  }

  function count() {
    const now = area.value.split("\n").length;
    if (now === lines) return;
    lines = now;
    numbers.textContent = Array.from({ length: lines }, (_, index) => index + 1).join("\n");
    follow();
  }

  function follow() {
    under.style.transform = `translate(${-area.scrollLeft}px, ${-area.scrollTop}px)`;
    numbers.style.transform = `translateY(${-area.scrollTop}px)`;
  }

  function key(event) {
    if (event.key === "Escape") { leaving = true; return; }
    if (event.key === "Tab" && !leaving && !event.ctrlKey && !event.altKey && !event.metaKey) {
      event.preventDefault();
      indent(event.shiftKey);
    }
    if (event.key !== "Shift") leaving = false;
  }

  function indent(back) {
    const start = area.value.lastIndexOf("\n", area.selectionStart - 1) + 1;
    if (!back && area.selectionStart === area.selectionEnd) {
      area.setRangeText(INDENT, area.selectionStart, area.selectionEnd, "end");
    } else {
      const text = area.value.slice(start, area.selectionEnd);
      const moved = back ? text.replace(/^ {1,4}/gm, "") : text.replace(/^/gm, INDENT);
      area.setRangeText(moved, start, area.selectionEnd, back && text === moved ? "preserve" : "end");
    }
    changed();
  }

  count();
  return {
    element,
    area,
    get value() { return area.value; },
    set value(text) { area.value = text; fill(under); count(); },
    focus: () => area.focus(),
    // Marks places `{line, column, end_line?, end_column?, kind}` until the text changes.
    mark(places) {
      const ranges = places.map((place) => ({ ...rangeOf(area.value, place), kind: place.kind ?? "error" }));
      ranges.sort((one, other) => one.start - other.start);
      fill(under, painted(area.value, ranges));
      follow();
    },
    go(place) {
      const { start, end } = rangeOf(area.value, place);
      area.focus();
      area.setSelectionRange(start, end);
      area.scrollTop = Math.max(0, (place.line - 4) * parseFloat(getComputedStyle(area).lineHeight));
    },
  };
}

function painted(text, ranges) {
  const made = [];
  let at = 0;
  for (const { start, end, kind } of ranges) {
    if (start < at) continue;
    made.push(text.slice(at, start), h("mark", { class: kind }, text.slice(start, end) || " "));
    at = Math.max(end, start);
  }
  made.push(text.slice(at));
  return made;
}

function offsetOf(lines, line, column) {
  let at = 0;
  for (let index = 0; index < Math.min(line - 1, lines.length); index++) at += lines[index].length + 1;
  return at + [...(lines[line - 1] ?? "")].slice(0, Math.max(0, column - 1)).join("").length;
}

// A place without an end is a word, or whatever one character stands there.
export function rangeOf(text, place) {
  const lines = text.split("\n");
  const start = offsetOf(lines, place.line, place.column);
  let end = place.end_column ? offsetOf(lines, place.end_line ?? place.line, place.end_column) : start;
  if (end <= start) end = start + (/^[\p{L}\p{N}_]+/u.exec(text.slice(start))?.[0].length ?? (text[start] === "\n" ? 0 : 1));
  return { start: Math.min(start, text.length), end: Math.min(end, text.length) };
}

// The lines around a place, with the place marked, to be shown beside an error.
export function excerpt(text, place) {
  const lines = text.split("\n");
  if (place.line > lines.length) return null;
  const first = Math.max(1, place.line - 2);
  const shown = h("pre", { class: "excerpt" });
  for (let number = first; number <= Math.min(lines.length, place.line + 1); number++) {
    const line = lines[number - 1].slice(0, 500);
    shown.append(h("span", { class: "number" }, `${String(number).padStart(4)}  `));
    if (number === place.line) {
      const until = place.end_line && place.end_line !== place.line ? undefined : place.end_column;
      const { start, end } = rangeOf(line, { line: 1, column: place.column, end_column: until });
      shown.append(line.slice(0, start), h("mark", { class: "error" }, line.slice(start, end) || " "), line.slice(end));
    } else shown.append(line);
    shown.append("\n");
  }
  return shown;
}
