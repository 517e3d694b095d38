// One run as it is shown: its output while it comes, then what came of it.

import { account, events, get, post, seg } from "./api.js";
import { show, showValue } from "./displays.js";
import { badge, button, fill, h, notice, trouble } from "./dom.js";
import { excerpt } from "./editor.js";
import { bytes, clock, duration, kindOf, languageName, plain } from "./words.js";

const SHOWN_MAX = 400_000;
const WAIT_MS = 1000;

// `code` is the program, if it was sent from this page: the gateway does not keep it. `edit` puts it back into the editor.
export function makeCell(run, code, edit) {
  const state = h("span", { class: "state" });
  const stop = button("Cancel", cancel, { class: "small", title: "Stop this run (Ctrl+.)" });
  const head = h("header", {}, state, h("span", {}, languageName(run.language)), h("time", {}, clock(run.created_at)),
    h("span", { class: "numbers-of quiet" }), h("span", { class: "grow" }),
    code && edit && button("Edit", edit, { class: "small", title: "Put this program into the editor" }), stop);
  const program = code && h("pre", { class: "program", "aria-label": "Program", tabindex: "0" }, code.trimEnd());
  const output = h("pre", { class: "output", role: "log", "aria-label": "Output", tabindex: "0", hidden: true });
  const extra = h("div", { class: "extra" });
  const element = h("article", { class: "cell", "aria-label": `Run in ${languageName(run.language)}` }, head, program, output, extra);
  const heard = { stdout: "", stderr: "" };
  const calls = [];
  let waits = false;
  const own = { element, run, ended: false, onend: null, cancel };
  tell(run.state === "queued" ? "under way" : run.state);

  function tell(text) {
    fill(state, badge(plain(text), kindOf(text)));
  }

  function write(kind, text) {
    heard[kind] += text;
    const bottom = output.scrollTop + output.clientHeight >= output.scrollHeight - 8;
    output.hidden = false;
    const last = output.lastChild;
    if (last?.className === kind) last.textContent = (last.textContent + text).slice(-SHOWN_MAX);
    else output.append(h("span", { class: kind }, text.slice(-SHOWN_MAX)));
    while (output.childNodes.length > 400) output.firstChild.remove();
    if (bottom) output.scrollTop = output.scrollHeight;
  }

  async function cancel() {
    stop.disabled = true;
    try {
      const { cancelled } = await post(`/v1/runs/${seg(run.id)}/cancel`, {});
      if (!cancelled) notice("There was nothing to cancel any more.");
    } catch (error) {
      notice(error.message, "bad");
      stop.disabled = false;
    }
  }

  function take({ kind, data }) {
    if (kind === "stdout" || kind === "stderr") { write(kind, data); tell("running"); }
    else if (kind === "call") { calls.push(data); fill(extra, called(calls)); }
    else if (kind === "gap") write("stderr", `… ${data.missed ?? "some"} events were too old to be shown\n`);
    else if (kind === "waiting") own.wait(data);
    else if (kind === "result") own.finish(data);
    else if (kind === "error") own.fail(data);
  }

  Object.assign(own, {
    take,
    wait(record) {
      if (waits) return;
      waits = true;
      tell("waiting");
      if (record.result) settle(record.result);
      fill(extra, h("p", { class: "asks" }, "This run waits for somebody to approve a call. ", h("a", { href: "#/approvals" }, "Go to approvals")));
    },
    goOn() { waits = false; tell("running"); stop.disabled = false; fill(extra, called(calls)); },
    fail(problem) {
      own.ended = true;
      stop.remove();
      tell("failed");
      fill(extra, trouble({ message: problem.message, hint: problem.hint, code: problem.code }));
      own.onend?.(null);
    },
    finish(record) {
      own.ended = true;
      waits = false;
      own.run = record;
      stop.remove();
      const result = record.result;
      if (!result) { tell(record.state); return; }
      tell(result.status);
      settle(result);
      const cost = [duration(result.metrics.duration_ms), `${bytes(result.metrics.memory_peak_bytes)} memory`];
      if (result.exit_code) cost.push(`exit ${result.exit_code}`);
      head.querySelector(".numbers-of").textContent = cost.join(" · ");
      fill(extra, problems(result, code), ...result.displays.filter(isNew).map(show), resultOf(result), called(result.external_calls));
      own.onend?.(result);
    },
  });

  // What was heard live is kept as it came, unless it is not the whole of it.
  function settle(result) {
    if (heard.stdout === result.stdout && heard.stderr === result.stderr) return;
    heard.stdout = heard.stderr = "";
    fill(output);
    output.hidden = true;
    if (result.stdout) write("stdout", result.stdout);
    if (result.stderr) write("stderr", result.stderr);
  }
  return own;
}

// A table's text comes behind it, for those who show no HTML.
function isNew(display, place, all) {
  return display.mime !== "text/plain" || all[place - 1]?.mime !== "text/html";
}

function problems(result, code) {
  const shown = result.diagnostics.filter((one) => one.message !== result.error?.message);
  const all = result.error ? [{ severity: "error", ...result.error }, ...shown] : shown;
  return all.map((one) => h("div", { class: `finding ${one.severity}`, role: one.severity === "error" ? "alert" : undefined },
    h("p", {}, h("strong", {}, one.message), one.span && h("span", { class: "quiet" }, ` line ${one.span.line}, column ${one.span.column}`),
      one.code && h("span", { class: "quiet" }, ` · ${one.code}`)),
    one.hint && h("p", {}, "Hint: ", one.hint),
    one.span && code && excerpt(code, one.span)));
}

function resultOf(result) {
  if (result.result === null || result.result === undefined) return null;
  return h("div", { class: "result" }, h("span", { class: "quiet" }, "Result"), showValue(result.result));
}

function called(calls) {
  if (!calls.length) return null;
  const items = calls.map((one) => h("li", {}, h("code", {}, one.name), " ", badge(plain(one.status), kindOf(one.status)),
    one.duration_ms !== undefined && h("span", { class: "quiet" }, ` ${duration(one.duration_ms)}`)));
  return h("details", { class: "calls" }, h("summary", {}, `${calls.length} capability call${calls.length > 1 ? "s" : ""}`), h("ul", {}, items));
}

// Follows a run to its end, over waits for approvals and lost connections.
export async function follow(cell, signal) {
  let after = 0;
  const path = `/v1/runs/${seg(cell.run.id)}`;
  while (!cell.ended && !signal.aborted && account.token) {
    try {
      for await (const event of events(`${path}/events?after=${after}`, signal)) {
        after = event.id || after;
        cell.take(event);
      }
      if (cell.ended) return;
      await pause(WAIT_MS, signal);
      const run = await get(path, signal);
      if (run.state === "finished") cell.finish(run);
      else if (run.state === "running") cell.goOn();
    } catch (error) {
      if (signal.aborted) return;
      if (error.status) { cell.fail(error); return; }
      await pause(2 * WAIT_MS, signal);
    }
  }
}

function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => { clearTimeout(timer); resolve(); }, { once: true });
  });
}
