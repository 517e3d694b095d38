// The console: who is signed in, which view is shown, and the keys that work everywhere.
// Each view is a module with `view(argument, signal, app) -> {element, title, keys?}`; the signal aborts when it is left.

import { account, get, pages, signedOut } from "./api.js";
import * as approvals from "./approvals.js";
import * as audit from "./audit.js";
import { badge, button, field, fill, h, options, trouble } from "./dom.js";
import * as fleet from "./fleet.js";
import * as policies from "./policies.js";
import * as sessions from "./sessions.js";
import { forgetTrail } from "./trail.js";
import * as tree from "./tree.js";
import * as usage from "./usage.js";
import * as workbench from "./workbench.js";

const VIEWS = [
  { path: "sessions", name: "Sessions", key: "s", module: sessions, roles: ["operator", "member"] },
  { path: "approvals", name: "Approvals", key: "a", module: approvals },
  { path: "tree", name: "Tree", key: "t", module: tree, roles: ["operator", "member"] },
  { path: "policies", name: "Policy", key: "p", module: policies, roles: ["operator", "author"] },
  { path: "fleet", name: "Runners", key: "r", module: fleet },
  { path: "usage", name: "Usage", key: "u", module: usage },
  { path: "audit", name: "Audit", key: "l", module: audit, roles: ["operator"] },
];
const SHORTCUTS = [
  ["Ctrl+Enter", "run the program; check the policy"], ["Ctrl+.", "cancel the run"], ["Ctrl+S", "save the open file"], ["n", "new session"], ["/", "filter the list"],
  ["Esc, then Tab", "leave an editor (Tab alone indents)"], ["← ↑ ↓ →", "walk the tree, Enter chooses"], ["?", "this list"],
];
const main = document.getElementById("main");
const top_ = document.getElementById("top");
const links = new Map();
let shown = null;
let leaving = new AbortController();
let signedIn = new AbortController();
let recount = () => {};
let pressedG = false;

function allowed() {
  return VIEWS.filter((one) => !one.roles || account.may(...one.roles));
}

function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

function show() {
  if (!account.me) return;
  const [path, argument = ""] = location.hash.replace(/^#\/?/, "").split("/");
  const wanted = path === "session" ? { module: workbench, path: "sessions" } : allowed().find((one) => one.path === path) ?? allowed()[0];
  leave();
  shown = wanted.module.view(decoded(argument), leaving.signal, { recount });
  fill(main, shown.element);
  document.title = `${shown.title} · Hatchway`;
  for (const [name, link] of links) {
    if (name === wanted.path) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  links.get(wanted.path)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  window.scrollTo(0, 0);
  if (!main.contains(document.activeElement)) main.focus({ preventScroll: true });
}

function leave() {
  leaving.abort();
  leaving = new AbortController();
  for (const dialog of document.querySelectorAll("dialog")) dialog.close();
}

function navigation() {
  links.clear();
  const nav = document.getElementById("views");
  fill(nav, allowed().map((one) => {
    const link = h("a", { href: `#/${one.path}`, title: `g ${one.key}` }, one.name);
    links.set(one.path, link);
    return link;
  }));
  const count = badge("", "wait count");
  links.get("approvals").append(" ", count);
  recount = approvals.countPending(signedIn.signal, (number, more) => {
    count.textContent = number === 0 ? "" : more ? `${number}+` : String(number);
    count.title = `${number} waiting`;
  });
}

async function tenants() {
  const label = document.getElementById("tenant-label");
  const select = document.getElementById("tenant");
  label.hidden = account.me.role !== "admin";
  if (label.hidden) return;
  const { items } = await pages("/v1/tenants", 400);
  if (!items.some((one) => one.id === account.tenant)) account.tenant = account.me.tenant;
  const home = account.tenant;
  options(select, items.map((one) => [one.id, one.id]), home);
  select.onchange = () => {
    account.tenant = select.value;
    begin();
    if (location.hash.startsWith("#/session/")) location.hash = "#/sessions";
    else show();
  };
}

// Everything that belongs to one user and tenant is begun anew.
function begin() {
  signedIn.abort();
  signedIn = new AbortController();
  forgetTrail();
  policies.forgetDraft();
  usage.startSampling(signedIn.signal);
  navigation();
}

async function enter() {
  account.me = await get("/v1/me");
  await tenants();
  const { role, user } = account.me;
  document.getElementById("who").textContent = [user, role].filter(Boolean).join(" · ");
  top_.hidden = false;
  begin();
  show();
}

function signIn(message) {
  leave();
  signedIn.abort();
  account.forget();
  top_.hidden = true;
  shown = null;
  document.title = "Sign in · Hatchway";
  const token = h("input", { type: "password", id: "token", required: true, autocomplete: "off", placeholder: "hw_…", spellcheck: "false" });
  const said = h("div", {}, message && h("p", { class: "trouble", role: "alert" }, message));
  const submit = async (event) => {
    event.preventDefault();
    account.keep(token.value.trim());
    try {
      await enter();
    } catch (error) {
      account.forget();
      fill(said, trouble(error.status === 401 ? { message: "This token is not known here.", hint: "It may be mistyped, expired or revoked." } : error));
      token.select();
    }
  };
  fill(main, h("form", { class: "sign-in panel", onsubmit: submit }, h("img", { src: "icon.svg", alt: "", width: 44, height: 44 }), h("h1", {}, "Hatchway"),
    field("Token", token, "It stays in this tab, and is forgotten when the tab is closed."), said, h("button", { class: "main" }, "Sign in"),
    h("p", { class: "quiet" }, h("code", {}, "hatchway serve"), " shows the first one at its first start. ", h("a", { href: "/docs" }, "The API"))));
  token.focus();
}

function help() {
  if (document.querySelector("dialog")) return;
  const rows = [...allowed().map((one) => [`g ${one.key}`, `go to ${one.name}`]), ...SHORTCUTS];
  const dialog = h("dialog", { "aria-labelledby": "help-title", onclose: () => dialog.remove() }, h("h2", { id: "help-title" }, "Keyboard shortcuts"),
    h("dl", { class: "keys" }, rows.flatMap(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)])),
    h("div", { class: "row end" }, button("Close", () => dialog.close(), { class: "main" })));
  document.body.append(dialog);
  dialog.showModal();
}

function key(event) {
  const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
  if (!account.me || typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const found = pressedG ? allowed().find((one) => one.key === event.key) : null;
  pressedG = event.key === "g" && !pressedG;
  if (found) location.hash = `#/${found.path}`;
  else if (event.key === "?") help();
  else if (shown?.keys?.[event.key]) shown.keys[event.key]();
  else return;
  event.preventDefault();
}

window.addEventListener("hashchange", () => { if (location.hash !== "#main") show(); });
document.addEventListener("keydown", key);
document.getElementById("help-button").addEventListener("click", help);
document.getElementById("sign-out").addEventListener("click", () => signIn());
document.getElementById("skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
signedOut.addEventListener("signed-out", () => { if (account.me) signIn("You are signed out: the token is not valid any more."); });
if (account.token) enter().catch((error) => signIn(error.message));
else signIn();
