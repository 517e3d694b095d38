// How numbers, times and states are told.

import { LANGUAGES } from "./tables.js";

export const languageName = (id) => LANGUAGES.find(([one]) => one === id)?.[1] ?? id;

export function bytes(count) {
  if (count < 1024) return `${count} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let value = count / 1024;
  while (value >= 1024 && units.length > 1) { value /= 1024; units.shift(); }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[0]}`;
}

export function duration(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`;
  if (ms < 172_800_000) return `${Math.round(ms / 3_600_000)} h`;
  return `${Math.round(ms / 86_400_000)} days`;
}

export function ago(at) {
  const passed = Date.now() - at;
  if (passed < 10_000) return "now";
  return passed < 60_000 ? `${Math.floor(passed / 1000)} s ago` : `${duration(passed)} ago`;
}

export const until = (at) => (at > Date.now() ? `in ${duration(at - Date.now())}` : "expired");
export const clock = (at) => new Date(at).toLocaleTimeString([], { hour12: false });
export const moment = (at) => new Date(at).toLocaleString([], { dateStyle: "short", timeStyle: "medium", hour12: false });

// A time that stays true while it stands there: the hour today, the day before that.
export function when(at) {
  const then = new Date(at);
  const isToday = then.toDateString() === new Date().toDateString();
  return isToday ? then.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false }) : then.toLocaleDateString([], { month: "short", day: "numeric" });
}

// Long ids, shortened in the middle: UUIDv7s made together differ at their ends.
export const short = (id) => (id.length > 28 ? `${id.slice(0, 8)}…${id.slice(-6)}` : id);

const KINDS = {
  ok: "good", allow: "good", approved: "good", ready: "good", active: "good", available: "good", running: "busy", queued: "busy", "under way": "busy", waiting: "wait",
  waiting_for_approval: "wait", ask: "wait", shadow: "wait", cancelled: "", rejected: "bad", expired: "", retired: "",
};
export const kindOf = (state) => KINDS[state] ?? (state === "finished" ? "" : "bad");
export const plain = (state) => String(state).replaceAll("_", " ");
