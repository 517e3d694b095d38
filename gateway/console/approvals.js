// Approvals: what waits for somebody, and saying yes or no with a reason.

import { account, every, get, post, seg } from "./api.js";
import { badge, button, empty, fill, h, keyed, notice, table, trouble } from "./dom.js";
import { ago, kindOf, moment, plain, short, until } from "./words.js";

const REFRESH_MS = 2500;
const ARGUMENTS_SHOWN = 60;

// The number in the navigation; asked for as long as somebody is signed in.
export function countPending(signal, tell) {
  return every(4000, signal, async () => {
    try {
      const { items, next } = await get("/v1/approvals?pending=true&limit=100", signal);
      tell(items.length, Boolean(next));
    } catch { /* the view itself says what is wrong */ }
  });
}

export function view(_, signal, { recount }) {
  const waiting = h("div", { class: "queue" });
  const none = empty("Nothing waits for approval.", "A policy's `ask` rules make calls wait here until somebody decides.");
  const said = h("div");
  const body = h("tbody");
  const settled = h("section", {}, h("h2", {}, "Decided"), table("Decided approvals", ["Capability", "Arguments", "Verdict", "Asked by", "Decided by", "Reason", "When"], body));
  const element = h("div", {}, h("header", { class: "page" }, h("h1", {}, "Approvals")), said, none, waiting, settled);
  none.hidden = settled.hidden = true;

  async function refresh() {
    try {
      const { items } = await get("/v1/approvals?limit=60", signal);
      const pending = items.filter((one) => !one.verdict);
      const done = items.filter((one) => one.verdict).sort((one, other) => (other.decided_at ?? 0) - (one.decided_at ?? 0));
      none.hidden = pending.length > 0;
      settled.hidden = done.length === 0;
      keyed(waiting, pending, (one) => one.id, card, update);
      keyed(body, done, (one) => one.id, row);
      fill(said);
    } catch (error) {
      if (!signal.aborted) fill(said, trouble(error));
    }
  }

  function card(one) {
    const reason = h("input", { maxlength: 1000, placeholder: "Why (kept in the audit log)", "aria-label": `Reason for the decision about ${one.capability}` });
    const always = h("input", { type: "checkbox" });
    const told = h("div");
    const buttons = h("div", { class: "row" }, reason,
      button("Approve", () => decide("approve"), { class: "main" }), button("Reject", () => decide("reject"), { class: "danger" }));

    async function decide(choice) {
      for (const control of buttons.children) control.disabled = true;
      try {
        const said = await post(`/v1/approvals/${seg(one.id)}/decide`, { decision: always.checked ? `${choice}_always` : choice, reason: reason.value });
        notice(`${one.capability} is ${said.verdict}.`);
        await refresh();
        recount();
      } catch (error) {
        fill(told, trouble(error));
        for (const control of buttons.children) control.disabled = false;
      }
    }

    return h("article", { class: "panel approval", "aria-label": `${one.capability} waits` },
      h("header", {}, h("h2", {}, h("code", {}, one.capability)), badge("waiting", "wait"), h("span", { class: "grow" }), h("span", { class: "expiry quiet" })),
      one.because && h("p", {}, one.because),
      h("pre", { class: "text", tabindex: "0", "aria-label": "Arguments" }, JSON.stringify(one.arguments, null, 2)),
      h("dl", {},
        h("dt", {}, "asked by"), h("dd", {}, one.requested_by ? who(one.requested_by) : "—"),
        h("dt", {}, "to be decided by"), h("dd", {}, one.approver),
        ...(one.command
          ? [h("dt", {}, "command"), h("dd", {}, h("code", {}, one.command))]
          : [h("dt", {}, "session"), h("dd", {}, h("a", { href: `#/session/${seg(one.session_id)}` }, short(one.session_id)))]),
        h("dt", {}, "rule"), h("dd", {}, h("code", {}, one.rule)),
        h("dt", {}, "since"), h("dd", {}, moment(one.created_at))),
      buttons, h("label", { class: "inline" }, always, ` also for later ${one.command ? "commands like this in this thread" : "calls with the same arguments in this session"}`), told);
  }

  function update(node, one) {
    node.querySelector(".expiry").textContent = `expires ${until(one.expires_at)}`;
  }

  function row(one) {
    const given = JSON.stringify(one.arguments, null, 2);
    return h("tr", {}, h("th", { scope: "row" }, h("code", {}, one.capability)), h("td", {}, folded(given)),
      h("td", {}, badge(plain(one.verdict), kindOf(one.verdict)), one.always && " always"), h("td", {}, one.requested_by ? who(one.requested_by) : "—"),
      h("td", {}, one.decided_by ? who(one.decided_by) : "—"), h("td", {}, one.reason || "—"), h("td", { class: "quiet" }, ago(one.decided_at ?? one.expires_at)));
  }

  every(REFRESH_MS, signal, refresh);
  return { element, title: "Approvals" };
}

// Whole if it is short, else opened by whoever wants it.
function folded(text) {
  const line = text.replace(/\s*\n\s*/g, " ");
  if (line.length <= ARGUMENTS_SHOWN) return h("code", {}, line);
  return h("details", {}, h("summary", {}, h("code", {}, `${line.slice(0, ARGUMENTS_SHOWN)}…`)), h("pre", { class: "text" }, text));
}

const who = (name) => (name === account.me?.token_id ? "this token" : short(name));
