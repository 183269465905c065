import { createHash } from "node:crypto";
import { docsPagePolicy } from "../../support/network/content-security.ts";

/**
 * Page to read and try a runtime's actions and the routes of its plugins. It contains nothing of the runtime: the key
 * that a person types fetches that.
 */

const STYLE = `
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; --bad: light-dark(#b3261e, #ffb4ab); }
body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
section { border: 1px solid #8886; border-radius: 8px; margin: 1rem 0; padding: .5rem 1rem; }
h2 { margin: 2rem 0 0; } h3 { font-size: 1.05rem; margin: .3rem 0; overflow-wrap: anywhere; } h3 code { font-weight: 400; }
label { display: block; margin: .4rem 0; } pre:empty { background: none; padding: 0; margin: 0; }
textarea, input, pre { width: 100%; box-sizing: border-box; font: 13px/1.4 ui-monospace, monospace; padding: .4rem; }
pre { background: #8881; overflow: auto; max-height: 24rem; white-space: pre-wrap; overflow-wrap: anywhere; }
button { padding: .3rem .9rem; margin: .4rem 0; } .bad { color: var(--bad); }
`;

const SCRIPT = `
const prefix = document.body.dataset.prefix;
const $ = (id) => document.getElementById(id);
const make = (tag, content, more) => Object.assign(document.createElement(tag), { textContent: content }, more);
const field = (title, element) => { const label = make("label", title + " "); label.append(element); return label; };
const example = (schema) => {
  if (!schema || typeof schema !== "object") return {};
  if (schema.default !== undefined) return schema.default;
  if (schema.const !== undefined) return schema.const;
  if (schema.type === "object" || schema.properties) {
    const required = schema.required ?? Object.keys(schema.properties ?? {});
    return Object.fromEntries(required.map((key) => [key, example(schema.properties?.[key])]));
  }
  if (schema.enum) return schema.enum[0];
  return { string: "", number: 0, integer: 0, boolean: false, array: [] }[schema.type] ?? {};
};
const shown = (text) => {
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text.slice(0, 100000); }
};
const unreachable = (error) => "The runtime did not answer: " + error.message;
const card = (summary, call, inputs, request) => {
  const section = document.createElement("section");
  const title = make("h3", summary + " ");
  title.append(make("code", call));
  const button = make("button", "Call", { type: "button" });
  button.setAttribute("aria-label", "Call " + call);
  const output = document.createElement("pre");
  output.setAttribute("aria-live", "polite");
  const tell = (text, good) => { output.className = good ? "" : "bad"; output.textContent = text; };
  const run = async () => {
    let asked;
    try { asked = request(); } catch (error) { return tell(error.message, false); }
    tell("Waiting for the answer…", true);
    const started = performance.now();
    try {
      const answer = await fetch(asked.path, { redirect: "manual", ...asked.options });
      const took = Math.round(performance.now() - started);
      if (answer.type === "opaqueredirect") return tell("A redirect in " + took + " ms; the browser hides where it leads.", true);
      tell(answer.status + " in " + took + " ms\\n" + shown(await answer.text()), answer.ok);
    } catch (error) {
      tell(unreachable(error), false);
    }
  };
  button.onclick = run;
  section.onkeydown = (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void run(); };
  section.append(title, ...inputs, button, output);
  return section;
};
const parsed = (text) => {
  try { return JSON.parse(text || "{}"); } catch (error) { throw new Error("The payload is not JSON: " + error.message); }
};
const actionCard = (path, operation) => {
  const payload = operation.requestBody.content["application/json"].schema.properties.payload;
  const schema = document.createElement("details");
  schema.append(make("summary", "Schema of the payload"), make("pre", JSON.stringify(payload, null, 2)));
  const input = make("textarea", "", { rows: 4, value: JSON.stringify(example(payload), null, 2) });
  return card(operation.summary, "POST " + path, [schema, field("Payload", input)], () => ({
    path,
    options: {
      method: "POST",
      headers: { "x-plugin-key": $("key").value, "content-type": "application/json" },
      body: JSON.stringify({ payload: parsed(input.value) }),
    },
  }));
};
const routeCard = (path, method, operation) => {
  const where = make("input", "", { value: path, autocomplete: "off" });
  const token = make("input", "", { type: "password", autocomplete: "off" });
  const body = make("textarea", "", { rows: 3 });
  const hasBody = !["get", "head", "options", "delete"].includes(method);
  const inputs = [field("Path, with a value in place of each {name}", where)];
  if (operation.security) inputs.push(field("Bearer token", token));
  if (hasBody) inputs.push(field("Body, as JSON", body));
  return card(operation.summary, method.toUpperCase() + " " + path, inputs, () => {
    if (!where.value.startsWith("/")) throw new Error("The path begins with a /.");
    if (/[{}]/.test(where.value)) throw new Error("Put a value in place of each {name} in the path.");
    const headers = {};
    if (operation.security) headers.authorization = "Bearer " + token.value;
    if (hasBody) headers["content-type"] = "application/json";
    return {
      path: where.value.replace(/^\\/+/, "/"),
      options: { method: method.toUpperCase(), headers, ...(hasBody && { body: body.value || "{}" }) },
    };
  });
};
const show = (id, cards, none) => $(id).replaceChildren(...(cards.length === 0 ? [make("p", none)] : cards));
const load = async () => {
  $("fault").textContent = "";
  $("found").hidden = true;
  let api;
  try {
    const answer = await fetch(prefix + "/ipc/openapi.json", { headers: { "x-plugin-key": $("key").value } });
    const text = await answer.text();
    if (!answer.ok) { $("fault").textContent = answer.status === 401 ? "That is not the plugin key of this runtime." : shown(text); return; }
    api = JSON.parse(text);
  } catch (error) {
    $("fault").textContent = unreachable(error);
    return;
  }
  const all = Object.entries(api.paths).flatMap(([path, item]) => Object.entries(item).map(([method, operation]) => ({ path, method, operation })));
  const plugins = all.filter(({ operation }) => !operation.tags.includes("runtime"));
  const actions = plugins.filter(({ operation }) => operation.requestBody);
  const routes = plugins.filter(({ operation }) => !operation.requestBody);
  show("actions", actions.map(({ path, operation }) => actionCard(path, operation)), "No plugin with actions is loaded.");
  show("routes", routes.map(({ path, method, operation }) => routeCard(path, method, operation)), "No plugin with routes is loaded.");
  $("found").hidden = false;
};
$("form").onsubmit = (event) => { event.preventDefault(); void load(); };
`;

const hash = (source: string): string => `'sha256-${createHash("sha256").update(source).digest("base64")}'`;

/** Content security policy of {@link docsPage}. */
export const DOCS_POLICY = docsPagePolicy(hash(SCRIPT), hash(STYLE));

/** Returns the page. @param prefix of surface C, such as `/plugin` */
export const docsPage = (prefix: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Actions and routes of this runtime</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
<body data-prefix="${prefix}">
<h1>Actions and routes of this runtime</h1>
<form id="form">
<label>Plugin key <input id="key" type="password" autocomplete="off" required autofocus></label>
<button>Show them</button>
</form>
<p id="fault" class="bad" role="alert"></p>
<main id="found" hidden>
<p>The button calls, and so does Ctrl+Enter. Calls are real.</p>
<h2>Actions</h2>
<div id="actions"></div>
<h2>Routes</h2>
<div id="routes"></div>
</main>
<script>${SCRIPT}</script>
`;
