import { createHash } from "node:crypto";

/**
 * A page to read and try a runtime's actions. It holds nothing of the runtime: the key that a person types fetches
 * that.
 */

const STYLE = `
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
section { border: 1px solid #8886; border-radius: 8px; margin: 1rem 0; padding: .5rem 1rem; }
h2 { font-size: 1.05rem; margin: .3rem 0; } h2 code { font-weight: 400; }
textarea, input, pre { width: 100%; box-sizing: border-box; font: 13px/1.4 ui-monospace, monospace; padding: .4rem; }
pre { background: #8881; overflow: auto; max-height: 24rem; }
button { padding: .3rem .9rem; margin: .4rem 0; } .bad { color: #c33; }
`;

const SCRIPT = `
const prefix = document.body.dataset.prefix;
const $ = (id) => document.getElementById(id);
const text = (tag, content) => Object.assign(document.createElement(tag), { textContent: content });
const example = (schema) => {
  if (!schema || typeof schema !== "object") return {};
  if (schema.default !== undefined) return schema.default;
  if (schema.type === "object" || schema.properties) {
    const required = schema.required ?? Object.keys(schema.properties ?? {});
    return Object.fromEntries(required.map((key) => [key, example(schema.properties?.[key])]));
  }
  if (schema.enum) return schema.enum[0];
  return { string: "", number: 0, integer: 0, boolean: false, array: [] }[schema.type] ?? {};
};
const card = (path, operation) => {
  const payload = operation.requestBody.content["application/json"].schema.properties.payload;
  const section = document.createElement("section");
  const title = text("h2", operation.summary + " ");
  title.append(text("code", "POST " + path));
  const schema = document.createElement("details");
  schema.append(text("summary", "Schema of the payload"), text("pre", JSON.stringify(payload, null, 2)));
  const input = Object.assign(document.createElement("textarea"), { rows: 4 });
  input.value = JSON.stringify(example(payload), null, 2);
  input.setAttribute("aria-label", "Payload of " + path);
  const button = text("button", "Call");
  const output = document.createElement("pre");
  output.setAttribute("aria-live", "polite");
  button.onclick = async () => {
    try {
      const started = performance.now();
      const body = JSON.stringify({ payload: JSON.parse(input.value || "{}") });
      const headers = { "x-plugin-key": $("key").value, "content-type": "application/json" };
      const answer = await fetch(path, { method: "POST", headers, body });
      output.className = answer.ok ? "" : "bad";
      const took = Math.round(performance.now() - started);
      output.textContent = answer.status + " in " + took + " ms\\n" + JSON.stringify(await answer.json(), null, 2);
    } catch (error) {
      output.className = "bad";
      output.textContent = String(error);
    }
  };
  section.append(title, schema, input, button, output);
  return section;
};
const load = async () => {
  const answer = await fetch(prefix + "/ipc/openapi.json", { headers: { "x-plugin-key": $("key").value } });
  const api = await answer.json();
  if (!answer.ok) { $("actions").replaceChildren(Object.assign(text("p", api.msg), { className: "bad" })); return; }
  const calls = Object.entries(api.paths).filter(([, item]) => item.post?.requestBody);
  $("actions").replaceChildren(...calls.map(([path, item]) => card(path, item.post)));
  if (calls.length === 0) $("actions").replaceChildren(text("p", "No plugin with actions is loaded."));
};
$("form").onsubmit = (event) => { event.preventDefault(); void load(); };
`;

const hash = (source: string): string => `'sha256-${createHash("sha256").update(source).digest("base64")}'`;

/** Allows the page's own script and style and requests to its own origin, and nothing else. */
export const DOCS_POLICY = [
  "default-src 'none'",
  "connect-src 'self'",
  `script-src ${hash(SCRIPT)}`,
  `style-src ${hash(STYLE)}`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** @param prefix of surface C, such as `/plugin` */
export const docsPage = (prefix: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Actions of this runtime</title>
<style>${STYLE}</style>
<body data-prefix="${prefix}">
<h1>Actions of this runtime</h1>
<form id="form">
<label>Plugin key <input id="key" type="password" autocomplete="off" required></label>
<button>Show the actions</button>
</form>
<main id="actions"></main>
<script>${SCRIPT}</script>
`;
