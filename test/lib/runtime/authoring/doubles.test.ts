import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pino } from "pino";
import t, { type Test } from "tap";
import { type TrialCase, tryPlugin } from "../../../../lib/runtime/authoring/trial.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const SOURCE = `
import { definePlugin } from "sealift/sdk";
export default definePlugin({
  actions: {
    read: (payload, { services }) => services.databases.main.query("select ?", [payload]),
    write: (payload, { services }) =>
      services.databases.main.transaction(async (within) => [
        (await within.execute("insert ?", [payload])).changes,
        await within.query("select last"),
      ]),
    drop: (payload, { services }) => services.databases.main.execute("drop"),
    other: (payload, { services }) => services.databases.other.query("select 1"),
    count: async (payload, { services: { cache } }) => {
      await cache.set("n", ((await cache.get("n")) ?? 0) + 1);
      return [await cache.get("n"), await cache.delete("n")];
    },
    locate: (payload, { services }) => services.extensions.geo.locate(payload),
    ask: (payload, { call }) => call("guestbook", "read", payload),
    absent: (payload, { call }) => call("almanac", "read", payload),
    denied: (payload, { call }) => call("guestbook", "erase", payload),
  },
});
`;
const DOUBLES = `
import { defineDoubles } from "sealift/sdk";
import { START } from "./src/start.js";
const written = [];
const cache = new Map([["n", START]]);
export default defineDoubles({
  databases: {
    main: {
      query: (sql, parameters) => (sql === "select last" ? written.slice(-1) : [{ asked: parameters[0] }]),
      execute(sql, [row]) {
        if (sql === "drop") throw new Error("the disk is full");
        written.push(row);
        return { changes: written.length };
      },
    },
  },
  cache: { get: (key) => cache.get(key), set: (key, value) => cache.set(key, value), delete: (key) => cache.delete(key) },
  extensions: { geo: { locate: async (name) => ({ name, latitude: 54 }) } },
  plugins: { guestbook: { read: ({ limit }) => [{ limit }] } },
});
`;
const PERMISSIONS = [
  { resource: "database:*", actions: ["read", "write"] },
  { resource: "cache", actions: ["*"] },
  { resource: "extension:geo", actions: ["*"] },
  { resource: "plugin:guestbook", actions: ["read"] },
  { resource: "plugin:almanac", actions: ["read"] },
];

function folderOf(t: Test, files: Record<string, string>): string {
  const folder = join(temporaryFolder(t), "tides");
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return folder;
}

const descriptorOf = (mode: string): string =>
  JSON.stringify({
    ...{ name: "tides", version: "1.0.0", entry_point: "src/main.mjs", execution_mode: mode },
    ...{ permissions: PERMISSIONS, requires: ["guestbook"] },
  });

const logger = () => pino({ level: "silent" });
const reasonsOf = async (folder: string, cases: TrialCase[]): Promise<(string | undefined)[]> =>
  (await tryPlugin({ folder, logger, cases })).outcomes.map(({ reason }) => reason);

for (const mode of ["sandboxed", "trusted"]) {
  t.test(`stand-ins answer a ${mode} plugin in its trial, in the place of services and other plugins`, async (t) => {
    const folder = folderOf(t, {
      "plugin.yaml": descriptorOf(mode),
      "src/main.mjs": SOURCE,
      "src/start.js": "export const START = 4;",
      "package.json": '{ "type": "module" }',
      "plugin.doubles.js": DOUBLES,
    });
    const reasons = await reasonsOf(folder, [
      { action: "read", payload: 7, result: [{ asked: 7 }] },
      { action: "write", payload: { a: 1 }, result: [1, [{ a: 1 }]] },
      { action: "write", payload: { a: 2 }, result: [2, [{ a: 2 }]] },
      { action: "count", result: [5, true] },
      { action: "locate", payload: "Kiel", result: { name: "Kiel", latitude: 54 } },
      { action: "ask", payload: { limit: 2 }, result: [{ limit: 2 }] },
      { action: "drop" },
      { action: "other" },
      { action: "absent" },
      { action: "denied" },
    ]);
    t.strictSame(reasons.slice(0, 6), Array.from({ length: 6 }));
    t.match(reasons[6], "service_unavailable: the disk is full");
    t.equal(
      reasons[7],
      "failed: service_unavailable: The trial has no database other. Give it a stand-in as databases.other in plugin.doubles.ts or plugin.doubles.js, or the real one from services.databases with --integration FILE.",
    );
    t.match(reasons[8], "There is no plugin almanac. Give it a stand-in as plugins.almanac in plugin.doubles.ts");
    t.match(reasons[9], /has no permission for erase on plugin:guestbook/);
  });
}

t.test("stand-ins that cannot be used are told by their file, before a call is made", async (t) => {
  const files = { "plugin.yaml": descriptorOf("sandboxed"), "src/main.mjs": SOURCE };
  const tryWith = async (doubles: string) =>
    tryPlugin({ folder: folderOf(t, { ...files, "plugin.doubles.ts": doubles }), logger, cases: [] }).then(
      () => "",
      ({ message }: Error) => message,
    );
  t.match(await tryWith("export default {"), /^The stand-ins of plugin\.doubles do not load: .*plugin\.doubles\.ts:1/);
  t.match(await tryWith("throw new Error('on purpose')"), /do not load: on purpose/);
  t.match(await tryWith("export default { actions: {} }"), /use export default defineDoubles\(\{…\}\)/);
  t.equal(await tryWith('import { defineDoubles } from "sealift/sdk"; export default defineDoubles({});'), "");
});

t.test("stand-ins are held by a sandbox, as the plugin is", async (t) => {
  const folder = folderOf(t, {
    "plugin.yaml": descriptorOf("trusted"),
    "src/main.mjs": SOURCE,
    "plugin.doubles.ts": `
      import { readFileSync } from "node:fs";
      import { defineDoubles } from "sealift/sdk";
      export default defineDoubles({ databases: { main: { query: () => [{ text: readFileSync("/etc/hostname", "utf8") }] } } });
    `,
  });
  t.match(await reasonsOf(folder, [{ action: "read" }]), [/service_unavailable: .*(denied|restricted|no such file)/i]);
});
