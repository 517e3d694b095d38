// Reading the audit log from its end. The API gives it from its beginning, by sequence; the end is found in a few steps.

import { get } from "./api.js";

const PAGE = 200;
const LOOKED_AT_MAX = 2000;
let known = 0;
let noted = 0;
let parents = new Map();

// After another tenant was chosen.
export function forgetTrail() { known = noted = 0; parents = new Map(); }

// The sequence of the newest record.
export async function newest(signal) {
  const { items } = await get(`/v1/audit?limit=${PAGE}&cursor=${known}`, signal);
  if (items.length) known = items.at(-1).sequence;
  if (items.length < PAGE) return known;
  let step = PAGE;
  while ((await get(`/v1/audit?limit=1&cursor=${known + step}`, signal)).items.length) { known += step; step *= 2; }
  let high = known + step;
  while (known < high) {
    const middle = Math.floor((known + high) / 2);
    if ((await get(`/v1/audit?limit=1&cursor=${middle}`, signal)).items.length) known = middle + 1;
    else high = middle;
  }
  return known;
}

// Up to `count` records that end with sequence `last`, the newest first.
export async function before(last, count, signal) {
  const { items } = await get(`/v1/audit?limit=${Math.min(count, PAGE)}&cursor=${Math.max(0, last - count)}`, signal);
  return items.filter((one) => one.sequence <= last).reverse();
}

// Which session each fork came from, by its id, as far as the newest records tell.
export async function forks(signal) {
  const last = await newest(signal);
  let cursor = Math.max(noted, last - LOOKED_AT_MAX);
  while (cursor < last) {
    const { items } = await get(`/v1/audit?limit=${PAGE}&cursor=${cursor}`, signal);
    if (!items.length) break;
    for (const one of items) if (one.kind === "session.fork" && one.data.parent) parents.set(one.subject, one.data.parent);
    cursor = noted = items.at(-1).sequence;
  }
  return parents;
}
