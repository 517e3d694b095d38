// Threads of runners and workers, as forms: bind a thread and run commands in it; spawn a worker and give it input.

import { events, every, get, post, raw, remove, seg } from "./api.js";
import { badge, button, field, fill, h, notice, options, trouble } from "./dom.js";
import { kindOf, plain } from "./words.js";

const THREADS = "/v1/runners/threads";
const WORKERS = "/v1/registry/runtimes/embedded-worker-runtime/workers";
const REFRESH_MS = 5000;
const SHOWN_MAX = 200_000; // characters of output; the newest

export function threads(signal) {
  const name = h("input", { id: "thread", required: true, placeholder: "box", autocomplete: "off" });
  const place = h("select", { id: "place" });
  const line = h("input", { id: "command", required: true, placeholder: "make test", autocomplete: "off", spellcheck: "false" });
  const list = h("ul", { class: "threads" });
  const status = h("span");
  const output = h("pre", { class: "output", id: "command-output", tabindex: "0", "aria-label": "Output of the command" });
  const said = h("div");
  const cancel = button("Cancel", () => ending?.(), { hidden: true });
  let ending = null;

  async function run(event) {
    event.preventDefault();
    const thread = `${THREADS}/${seg(name.value.trim())}`;
    const id = crypto.randomUUID().replaceAll("-", "").slice(0, 16);
    fill(said);
    fill(output);
    fill(status, badge("running", "wait"));
    try {
      await bind(thread);
      const begun = await post(`${thread}/commands?mode=async`, { command_id: id, program: "sh", args: ["-c", line.value] }, signal);
      if (begun.status === "waiting") {
        fill(status, badge("waiting", "wait"));
        fill(said, h("p", {}, "An approver must see it. ", h("a", { href: "#/approvals" }, "Go to approvals")));
        return;
      }
      ending = () => post(`${thread}/commands/${id}/cancel`).catch((error) => fill(said, trouble(error)));
      cancel.hidden = false;
      await follow(`${thread}/commands/${id}/logs`);
    } catch (error) {
      if (!signal.aborted) fill(said, trouble(error));
      fill(status);
    } finally {
      cancel.hidden = true;
      ending = null;
      refresh();
    }
  }

  // A thread that is there stays bound where it is, unless another destination was chosen.
  async function bind(thread) {
    const found = await get(thread, signal).catch((error) => { if (error.status !== 404) throw error; });
    if (found && (!place.value || found.destination_id === place.value)) return;
    await raw("PUT", thread, { json: { destination_id: place.value || "wasm" }, signal });
  }

  async function follow(path) {
    for await (const { kind, data } of events(path, signal)) {
      if (kind === "stdout" || kind === "stderr") {
        output.append(h("span", { class: kind }, data));
        while (output.textContent.length > SHOWN_MAX) output.firstChild.remove();
        output.scrollTop = output.scrollHeight;
      } else if (kind === "result") {
        const how = data.status === "exited" ? `exit ${data.exit_code}` : data.status;
        fill(status, badge(how, data.exit_code === 0 ? "good" : "bad"));
        fill(said, data.warnings?.map((one) => h("p", { class: "quiet" }, one)));
      } else if (kind === "error") {
        fill(status, badge("failed", "bad"));
        fill(said, trouble(data));
      }
    }
  }

  const act = (one, verb) => async () => {
    try {
      await (verb === "delete" ? remove(`${THREADS}/${seg(one)}`) : post(`${THREADS}/${seg(one)}/${verb}`));
      notice(`The thread ${one} was ${verb === "delete" ? "deleted" : "stopped"}.`);
    } catch (error) {
      fill(said, trouble(error));
    }
    refresh();
  };

  const refresh = every(REFRESH_MS, signal, async () => {
    try {
      const [found, runners] = await Promise.all([get(THREADS, signal), get("/v1/runners", signal)]);
      const places = ["wasm", ...(runners.destinations ?? []).map((one) => one.id).filter((one) => one !== "wasm")];
      if (places.join() !== [...place.options].map((one) => one.value).join()) options(place, places.map((one) => [one, one]), place.value);
      fill(list, (found.items ?? found).map((one) => h("li", { class: "row" },
        button(one.thread_id, () => { name.value = one.thread_id; place.value = one.destination_id; line.focus(); }),
        badge(plain(one.status), kindOf(one.status)), h("small", { class: "quiet" }, one.destination_id),
        button("Stop", act(one.thread_id, "stop"), { "aria-label": `Stop ${one.thread_id}` }),
        button("Delete", act(one.thread_id, "delete"), { "aria-label": `Delete ${one.thread_id}` }))));
    } catch (error) {
      if (!signal.aborted && error.status !== 403) fill(said, trouble(error));
    }
  });

  return h("div", { class: "panel" },
    h("form", { class: "row", onsubmit: run }, field("Thread", name), field("Destination", place), field("Command", line),
      h("button", { class: "main" }, "Run"), cancel, status),
    said, output, list);
}

export function workers(signal) {
  const profile = h("select", { id: "profile" });
  const message = h("textarea", { id: "worker-input", rows: "2", required: true, placeholder: "6 * 7" });
  const who = h("select", { id: "worker" });
  const items = h("ol", { class: "transcript", "aria-label": "Transcript" });
  const said = h("div");

  const trying = async (work) => {
    fill(said);
    try {
      await work();
    } catch (error) {
      if (!signal.aborted) fill(said, trouble(error));
    }
    refresh();
  };

  const spawn = (event) => {
    event.preventDefault();
    return trying(async () => {
      const made = await post(WORKERS, {
        intent: { kind: "workspace_companion" }, acceptance: { kind: "run_accepted", expected_segments: 0 }, profile: profile.value,
      }, signal);
      if (!made.worker) throw Object.assign(new Error(made.diagnostics?.[0]?.message ?? "it was not spawned"));
      options(who, [[made.worker.worker_id, made.worker.label ?? made.worker.worker_id]], made.worker.worker_id);
    });
  };

  const send = (event) => {
    event.preventDefault();
    return trying(async () => {
      await post(`${WORKERS}/${seg(who.value)}/input`, { content: message.value }, signal);
      message.value = "";
    });
  };

  const refresh = every(2000, signal, async () => {
    try {
      const [known, found] = await Promise.all([get("/v1/registry/launch-options", signal), get(`${WORKERS}?limit=50`, signal)]);
      const names = known.profiles.map((one) => one.name ?? one.profile ?? one);
      if (names.join() !== [...profile.options].map((one) => one.value).join()) options(profile, names.map((one) => [one, one]), profile.value);
      const here = (found.items ?? []).map((one) => [one.worker_id, `${one.label ?? one.worker_id} (${plain(one.status)})`]);
      if (JSON.stringify(here) !== JSON.stringify([...who.options].map((one) => [one.value, one.textContent]))) options(who, here, who.value);
      if (!who.value) return fill(items);
      const transcript = await get(`${WORKERS}/${seg(who.value)}/transcript?limit=50`, signal);
      fill(items, transcript.items.map((one) => h("li", {}, h("strong", {}, `${one.role} `), h("span", { class: "content" }, one.content))));
    } catch (error) {
      if (!signal.aborted && error.status !== 403) fill(said, trouble(error));
    }
  });

  return h("div", { class: "panel" },
    h("form", { class: "row", onsubmit: spawn }, field("Profile", profile), h("button", {}, "Spawn")),
    h("form", { class: "row", onsubmit: send }, field("Worker", who), field("Input", message), h("button", { class: "main" }, "Send")),
    said, items);
}
