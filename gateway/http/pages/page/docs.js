// The API page: reads openapi.json and shows it; everything is inserted as text, never as markup.
"use strict";
const make = (tag, props = {}, ...children) => {
  const node = Object.assign(document.createElement(tag), props);
  node.append(...children);
  return node;
};
let document_ = null;

function resolve(schema, depth = 0) {
  if (!schema || depth > 6) return "…";
  if (schema.$ref) return resolve(document_.components.schemas[schema.$ref.split("/").pop()], depth);
  if (schema.properties) {
    const required = new Set(schema.required || []);
    return Object.fromEntries(Object.entries(schema.properties).map(([name, kind]) =>
      [required.has(name) ? name : name + "?", resolve(kind, depth + 1)]));
  }
  if (schema.anyOf) return schema.anyOf.map((one) => resolve(one, depth + 1));
  if (schema.enum) return schema.enum.join(" | ");
  if (schema.type === "array") return [resolve(schema.items, depth + 1)];
  return schema.type || "any";
}

const shape = (content) => {
  const [kind, body] = Object.entries(content || {})[0] || [];
  return kind ? make("pre", { textContent: kind + "\n" + JSON.stringify(resolve(body.schema), null, 2) }) : "";
};

function tryIt(method, path, operation) {
  const fields = operation.parameters.filter((one) => one.in !== "header").map((one) =>
    [one, make("input", { placeholder: one.name + (one.required ? "" : " (optional)"), ariaLabel: one.name })]);
  const body = operation.requestBody ? make("textarea", { rows: 4, placeholder: "{ }", ariaLabel: "body" }) : null;
  const output = make("pre", { hidden: true });
  const button = make("button", { textContent: "Send" });
  button.onclick = async () => {
    let url = path.slice(1);
    const query = new URLSearchParams();
    for (const [one, field] of fields) {
      if (one.in === "path") url = url.replace("{" + one.name + "}", encodeURIComponent(field.value));
      else if (field.value) query.set(one.name, field.value);
    }
    const headers = {};
    const token = document.getElementById("token").value;
    if (token) headers.Authorization = "Bearer " + token;
    if (body) headers["Content-Type"] = "application/json";
    try {
      const answer = await fetch(url + (query.size ? "?" + query : ""), { method: method.toUpperCase(), headers, body: body?.value });
      output.textContent = answer.status + " " + answer.statusText + "\n\n" + (await answer.text()).slice(0, 20000);
    } catch (error) { output.textContent = String(error); }
    output.hidden = false;
  };
  return make("div", {}, ...fields.map(([, field]) => field), ...(body ? [body] : []), button, output);
}

function show(method, path, operation) {
  const rows = operation.parameters.map((one) => make("tr", {},
    make("td", {}, make("code", { textContent: one.name })), make("td", { textContent: one.in + (one.required ? ", required" : "") }),
    make("td", { textContent: (one.description || "") + " " + JSON.stringify(resolve(one.schema)) })));
  const answers = Object.entries(operation.responses).map(([status, answer]) => make("tr", {},
    make("td", {}, make("code", { textContent: status })), make("td", { textContent: answer.description })));
  const good = Object.entries(operation.responses).find(([status]) => status < "300")?.[1];
  const node = make("details", { className: "operation" },
    make("summary", {}, make("span", { className: "method", textContent: method.toUpperCase() }),
      make("span", { className: "path", textContent: path }), make("span", { className: "about", textContent: operation.summary })));
  node.dataset.text = (method + " " + path + " " + operation.summary).toLowerCase();
  node.ontoggle = () => {
    if (!node.open || node.childElementCount > 1) return;
    node.append(make("p", { textContent: operation.description || "" }), make("table", {}, ...rows),
      shape(operation.requestBody?.content), make("table", {}, ...answers), shape(good?.content), tryIt(method, path, operation));
  };
  return node;
}

async function main() {
  document_ = await (await fetch("openapi.json")).json();
  const groups = new Map();
  for (const [path, methods] of Object.entries(document_.paths))
    for (const [method, operation] of Object.entries(methods)) {
      const tag = operation.tags[0];
      if (!groups.has(tag)) groups.set(tag, []);
      groups.get(tag).push(show(method, path, operation));
    }
  const target = document.getElementById("operations");
  target.replaceChildren(make("p", { textContent: document_.info.description }));
  for (const [tag, nodes] of groups) target.append(make("section", {}, make("h2", { textContent: tag }), ...nodes));
  const search = document.getElementById("search");
  search.oninput = () => {
    for (const node of document.querySelectorAll("details.operation")) node.hidden = !node.dataset.text.includes(search.value.toLowerCase());
  };
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/INPUT|TEXTAREA/.test(document.activeElement.tagName)) { event.preventDefault(); search.focus(); }
  });
}
main().catch((error) => { document.getElementById("operations").textContent = "Cannot load: " + error; });
