// Usage: what this tenant has of its quotas, and what the service does, drawn while the page is open.

import { every, get, raw } from "./api.js";
import { empty, fill, h, trouble } from "./dom.js";
import { makeBar, makeChart } from "./charts.js";
import { bytes, duration } from "./words.js";

const SAMPLE_MS = 3000;
const whole = (value) => String(Math.round(value));
const rate = (value) => `${value < 10 ? value.toFixed(1) : Math.round(value)}/s`;
let samples = null;

// Sampling goes on behind other views, so that the charts have a past when they are looked at.
export function startSampling(signal) {
  samples = {
    charts: {
      rate: makeChart("Requests", rate), mean: makeChart("Mean time to answer", duration), slow: makeChart("95 of 100 answered within", duration),
      streams: makeChart("Open streams", whole), sessions: makeChart("Sessions", whole), storage: makeChart("Storage", bytes), files: makeChart("Files", whole),
      failures: makeChart("Answers that were failures", rate),
    },
    before: null, me: null, metricsError: null, meError: null, changed: () => {},
  };
  const mine = samples;
  every(SAMPLE_MS, signal, () => sample(mine, signal));
}

async function sample(into, signal) {
  const at = Date.now();
  const [me, text] = await Promise.allSettled([get("/v1/me", signal), raw("GET", "/metrics", { signal }).then((answer) => answer.text())]);
  if (signal.aborted) return;
  into.meError = me.reason ?? null;
  into.metricsError = text.reason ?? null;
  if (me.value) {
    into.me = me.value;
    for (const [name, key] of [["sessions", "sessions"], ["storage", "bytes"], ["files", "files"]]) into.charts[name].add(at, me.value.usage[key]);
  }
  if (text.value) take(into, at, parse(text.value));
  into.changed();
}

function take(into, at, now) {
  const { charts, before } = into;
  charts.streams.add(at, now.streams);
  if (before) {
    const seconds = (at - before.at) / 1000;
    const count = now.count - before.count;
    charts.rate.add(at, Math.max(0, now.requests - before.requests) / seconds);
    charts.failures.add(at, Math.max(0, now.failures - before.failures) / seconds);
    if (count > 0) {
      charts.mean.add(at, ((now.sum - before.sum) / count) * 1000);
      charts.slow.add(at, quantile(now.buckets, before.buckets, count, 0.95) * 1000);
    }
  }
  into.before = { at, ...now };
}

// Prometheus' text: of each line the name, the labels that matter here, and the value.
export function parse(text) {
  const now = { requests: 0, failures: 0, sum: 0, count: 0, streams: 0, buckets: new Map() };
  for (const line of text.split("\n")) {
    const found = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (!found) continue;
    const [, name, labels = "", shown] = found;
    const value = Number(shown);
    if (name === "hatchway_http_requests_total") { now.requests += value; if (/status="5/.test(labels)) now.failures += value; }
    else if (name === "hatchway_http_request_seconds_sum") now.sum += value;
    else if (name === "hatchway_http_request_seconds_count") now.count += value;
    else if (name === "hatchway_http_streams") now.streams = value;
    else if (name === "hatchway_http_request_seconds_bucket") {
      const edge = Number(/le="([^"]+)"/.exec(labels)[1].replace("+Inf", "Infinity"));
      now.buckets.set(edge, (now.buckets.get(edge) ?? 0) + value);
    }
  }
  return now;
}

function quantile(buckets, earlier, count, share) {
  for (const [edge, value] of [...buckets].sort(([one], [other]) => one - other)) {
    if (value - (earlier.get(edge) ?? 0) >= count * share) return edge;
  }
  return NaN;
}

export function view(_, signal) {
  const { charts } = samples;
  const bars = h("div", { class: "bars panel" });
  const said = h("div");
  const service = h("div");
  const element = h("div", {}, h("header", { class: "page" }, h("h1", {}, "Usage")), said,
    h("section", {}, h("h2", {}, "This tenant"), bars, h("div", { class: "charts" }, charts.sessions.element, charts.storage.element, charts.files.element)),
    h("section", {}, h("h2", {}, "The service"), service, h("div", { class: "charts" },
      charts.rate.element, charts.mean.element, charts.slow.element, charts.streams.element, charts.failures.element)));

  function draw() {
    const { me, meError, metricsError } = samples;
    fill(said, meError && meError.name !== "AbortError" && trouble(meError));
    fill(service, metricsError && metricsError.name !== "AbortError" && empty("Metrics are not shown to this token.", metricsError.hint ?? "See the setting `metrics`."));
    if (!me) return;
    fill(bars, makeBar("Sessions", me.usage.sessions, me.quotas.sessions_max, whole), makeBar("Storage", me.usage.bytes, me.quotas.storage_bytes, bytes),
      h("p", { class: "quiet" }, `At most ${me.quotas.concurrent_runs} runs at a time (${me.quotas.queued_runs} wait), ${me.quotas.live_sessions_max} sessions in memory, `
        + `${me.quotas.memory_mb} MiB, ${me.quotas.requests_per_min} requests a minute.`));
  }
  const mine = samples;
  mine.changed = draw;
  signal.addEventListener("abort", () => { mine.changed = () => {}; });
  draw();
  return { element, title: "Usage" };
}
