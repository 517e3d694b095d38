// The API as the console calls it. Rules: the token lives in this tab's sessionStorage and goes nowhere but into a header; every
// failure is a Problem with what the server said, as text.

const TOKEN = "hatchway.token";
const TENANT = "hatchway.tenant";

export const account = {
  me: null,
  get token() { return sessionStorage.getItem(TOKEN); },
  get tenant() { return sessionStorage.getItem(TENANT) ?? ""; },
  set tenant(id) { sessionStorage.setItem(TENANT, id); },
  keep(token) { sessionStorage.setItem(TOKEN, token); },
  forget() { sessionStorage.removeItem(TOKEN); sessionStorage.removeItem(TENANT); this.me = null; },
  may(...roles) { return this.me !== null && (this.me.role === "admin" || roles.includes(this.me.role)); },
};

export const signedOut = new EventTarget();

export class Problem extends Error {
  constructor(status, told) {
    super(told.message || told.detail || `the gateway answered ${status}`);
    this.status = status;
    this.code = told.code;
    this.hint = told.hint;
    this.span = told.span;
    this.diagnostics = told.diagnostics ?? [];
    this.requestId = told.request_id;
  }
}

async function request(method, path, { body, json, headers = {}, signal } = {}) {
  const sent = { ...headers };
  if (account.token) sent.authorization = `Bearer ${account.token}`;
  if (account.tenant && account.me?.role === "admin") sent["hatchway-tenant"] = account.tenant;
  if (json !== undefined) {
    sent["content-type"] = "application/json";
    body = JSON.stringify(json);
  }
  let answer;
  try {
    answer = await fetch(path, { method, body, headers: sent, signal, credentials: "omit", cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, { message: "the gateway cannot be reached", code: "UNREACHABLE", hint: "is it running? this page tries again by itself" });
  }
  if (answer.ok || answer.status === 304) return answer;
  const told = await answer.json().catch(() => ({}));
  if (answer.status === 401) signedOut.dispatchEvent(new Event("signed-out"));
  throw new Problem(answer.status, told);
}

async function answerOf(answer) {
  if (answer.status === 204) return null;
  return answer.json();
}

export const get = async (path, signal) => answerOf(await request("GET", path, { signal }));
export const post = async (path, json, signal) => answerOf(await request("POST", path, { json, signal }));
export const patch = async (path, json) => answerOf(await request("PATCH", path, { json }));
export const remove = async (path) => answerOf(await request("DELETE", path));
export const raw = request;

// All items of a list, up to `most`.
export async function pages(path, most = 400, signal = undefined) {
  const items = [];
  let cursor = null;
  do {
    const join = path.includes("?") ? "&" : "?";
    const more = cursor ? `&cursor=${encodeURIComponent(cursor)}` : "";
    const page = await get(`${path}${join}limit=${Math.min(200, most)}${more}`, signal);
    items.push(...page.items);
    cursor = page.next;
  } while (cursor && items.length < most);
  return { items, more: Boolean(cursor) };
}

export const seg = encodeURIComponent;

// A file's address. Its parts are put in order here: a browser would take `..` out of the address itself, and what comes before it.
export function filePath(session, path) {
  const parts = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part && part !== ".") parts.push(seg(part));
  }
  return `/v1/sessions/${seg(session)}/files/workspace/${parts.join("/")}`;
}

// Server-sent events, by fetch because EventSource cannot send a token.
export async function* events(path, signal) {
  const answer = await request("GET", path, { signal, headers: { accept: "text/event-stream" } });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += value;
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        const event = parseEvent(text.slice(0, end));
        text = text.slice(end + 2);
        if (event) yield event;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function parseEvent(block) {
  const event = { id: 0, kind: "message", data: "" };
  for (const line of block.split("\n")) {
    if (line.startsWith("id: ")) event.id = Number(line.slice(4));
    else if (line.startsWith("event: ")) event.kind = line.slice(7);
    else if (line.startsWith("data: ")) event.data += line.slice(6);
  }
  if (!event.data) return null;
  event.data = JSON.parse(event.data);
  return event;
}

// Calls `work` now and every `ms` while the page is shown, until the signal aborts. A failure is `work`'s own business.
export function every(ms, signal, work) {
  let timer = 0;
  let busy = false;
  const turn = async () => {
    if (busy || signal.aborted) return;
    busy = true;
    clearTimeout(timer);
    if (!document.hidden) await work();
    busy = false;
    if (!signal.aborted) timer = setTimeout(turn, ms);
  };
  document.addEventListener("visibilitychange", () => { if (!document.hidden) turn(); }, { signal });
  signal.addEventListener("abort", () => clearTimeout(timer));
  turn();
  return turn;
}
