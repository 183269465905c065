// Only in test:all: many requests for one rule, 5 s of a processor.
import t, { type Test } from "tap";
import { type RunningHub, startHub } from "../../support/hub/harness.ts";
import { publishFiles } from "../../support/hub/shown-hub.ts";
import { Visitor } from "../../support/hub/web.ts";

const RIGHTS =
  "network: [evil.example:443]\npermissions:\n  - resource: files\n    actions: [read]\n    effect: allow\n";
const DESCRIPTOR = `name: tide\nversion: 1.0.0\nentry_point: index.js\nexecution_mode: sandboxed\n`;
const HARMLESS = { "plugin.yaml": DESCRIPTOR, "index.js": "" };
const HIDDEN = /The rights cannot be shown/;

/** A hub with a plugin whose first version asks for nothing. */
async function withPlugin(t: Test): Promise<{ hub: RunningHub; admin: Visitor }> {
  const hub = await startHub(t);
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  await publishFiles(hub, { slug: "tide", version: "1.0.0" }, HARMLESS);
  return { hub, admin: await new Visitor(hub.url).signIn(hub.adminKey) };
}

/** Publishes a version and returns what its page and that of its changes say. */
async function shown({ hub, admin }: Awaited<ReturnType<typeof withPlugin>>, files: Record<string, string>) {
  await publishFiles(hub, { slug: "tide", version: "2.0.0" }, files);
  const { html: page } = await admin.request("/plugins/tide");
  const { html: changes } = await admin.request("/plugins/tide/compare?from=1.0.0&to=2.0.0");
  return { page, changes };
}

t.test("a long comment before a plugin's rights does not hide them", async (t) => {
  const plugin = await withPlugin(t);
  const comment = `# ${"tides and harbours ".repeat(5)}\n`.repeat(700);
  t.ok(comment.length > 66_000);
  const files = { "plugin.yaml": DESCRIPTOR + comment + RIGHTS, "index.js": "" };
  const { page, changes } = await shown(plugin, files);
  t.match(page, /network: evil\.example:443/);
  t.match(changes, /Rights it did not ask for before[^]*network: evil\.example:443/);
});

t.test("a descriptor that no agent reads to its end shows no rights, and says so", async (t) => {
  const plugin = await withPlugin(t);
  const { page, changes } = await shown(plugin, {
    "plugin.yaml": `${DESCRIPTOR}${`# ${"x".repeat(98)}\n`.repeat(11_000)}${RIGHTS}`,
    "index.js": "",
  });
  t.match(page, HIDDEN);
  t.match(changes, HIDDEN);
  t.notMatch(page, /memory: /);
});

t.test("thousands of files before a plugin's descriptor do not make its page pass over it", async (t) => {
  const plugin = await withPlugin(t);
  const many = Object.fromEntries(Array.from({ length: 5001 }, (_, index) => [`harbours/${index}`, ""]));
  const { page, changes } = await shown(plugin, { ...many, "plugin.yaml": DESCRIPTOR + RIGHTS });
  t.match(page, HIDDEN);
  t.match(changes, HIDDEN);
});

t.test("a descriptor that agents do not take for the plugin's is not shown in its place", async (t) => {
  const plugin = await withPlugin(t);
  const many = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`tide/harbours/${index}`, ""]));
  const { page } = await shown(plugin, {
    "tide/plugin.yaml": DESCRIPTOR,
    ...many,
    // Beside the folder, so that it holds not everything.
    "plugin.yaml": DESCRIPTOR + RIGHTS,
  });
  t.match(page, HIDDEN);
  t.notMatch(page, /memory: /);
});

t.test("bytes that were looked at as a service do not hide the rights of the plugin", async (t) => {
  const { hub, admin } = await withPlugin(t);
  const files = { "plugin.yaml": DESCRIPTOR + RIGHTS, "README.md": "# Tide\n" };
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "service", slug: "tide" } });
  await publishFiles(hub, { kind: "service", slug: "tide", version: "2.0.0" }, files);
  t.notMatch((await admin.request("/services/tide")).html, /evil/);
  await publishFiles(hub, { slug: "tide", version: "2.0.0" }, files);
  t.match((await admin.request("/plugins/tide")).html, /network: evil\.example:443/);
});
