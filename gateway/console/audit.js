// The audit log, the newest first, and whether its chain holds.

import { get, raw } from "./api.js";
import { badge, button, empty, fill, h, table, trouble } from "./dom.js";
import { give } from "./files.js";
import { before, newest } from "./trail.js";
import { moment, short } from "./words.js";

const PAGE = 100;

export function view(_, signal) {
  let oldest = 0;
  const body = h("tbody");
  const said = h("div");
  const verdict = h("div", { role: "status", class: "verdict" });
  const filter = h("input", { type: "search", id: "filter", placeholder: "Filter what is shown", "aria-label": "Filter records", oninput: sift });
  const more = button("Older", older);
  const none = empty("The log is empty.", "Everything that happens in this tenant is written here.");
  none.hidden = more.hidden = true;
  const element = h("div", {},
    h("header", { class: "page" }, h("h1", {}, "Audit log"), h("div", { class: "row" }, filter, button("Refresh", load),
      button("Export", carry, { title: "All of it, one JSON object a line" }), button("Verify", verify, { class: "main" }))),
    verdict, said, none, table("Audit log", ["#", "When", "What", "Who", "About", "Details"], body), more);

  async function load() {
    try {
      const last = await newest(signal);
      fill(body);
      none.hidden = last > 0;
      oldest = last;
      await older();
    } catch (error) { if (!signal.aborted) fill(said, trouble(error)); }
  }

  async function older() {
    try {
      const records = oldest ? await before(oldest, PAGE, signal) : [];
      body.append(...records.map(row));
      oldest = records.length ? records.at(-1).sequence - 1 : 0;
      more.hidden = oldest <= 0;
      fill(said);
      sift();
    } catch (error) { if (!signal.aborted) fill(said, trouble(error)); }
  }

  async function verify() {
    fill(verdict, h("p", { class: "quiet" }, "Checking every record …"));
    try {
      const { records, head, findings } = await get("/v1/audit/verify", signal);
      const [sequence, digest = ""] = head.split(":");
      fill(verdict, h("p", {}, badge(findings.length ? "broken" : "whole", findings.length ? "bad" : "good"),
        findings.length ? ` ${findings.length} findings in ${records} records.` : ` ${records} records, none changed, removed or reordered. Head ${sequence} `,
        !findings.length && h("code", {}, digest.slice(0, 16))),
      findings.length > 0 && h("ul", {}, findings.map((one) => h("li", {}, typeof one === "string" ? one : Object.values(one).join(" ")))));
    } catch (error) { fill(verdict, trouble(error)); }
  }

  async function carry() {
    try {
      const answer = await raw("GET", "/v1/audit/export", { signal });
      give(await answer.blob(), "audit.ndjson");
    } catch (error) { fill(said, trouble(error)); }
  }

  function sift() {
    const wanted = filter.value.toLowerCase();
    for (const one of body.children) one.hidden = !one.textContent.toLowerCase().includes(wanted);
  }

  load();
  return { element, title: "Audit log", keys: { "/": () => filter.focus() } };
}

function row(one) {
  const details = Object.entries(one.data).map(([name, value]) => `${name} ${typeof value === "string" ? short(value) : JSON.stringify(value)}`).join(", ");
  return h("tr", {}, h("td", { class: "quiet" }, String(one.sequence)), h("td", {}, moment(one.at)), h("th", { scope: "row" }, h("code", {}, one.kind)),
    h("td", { title: one.actor }, one.actor ? short(one.actor) : "—"), h("td", { title: one.subject }, one.subject ? short(one.subject) : "—"),
    h("td", { class: "about-cell quiet", title: details }, details));
}
