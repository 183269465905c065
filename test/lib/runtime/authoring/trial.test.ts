import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import t, { type Test } from "tap";
import { type TrialOptions, tryPlugin } from "../../../../lib/runtime/authoring/trial.ts";

const SOURCE = `
  import { existsSync, readFileSync } from "node:fs";
  import tide from "tide";
  const has = (path) => existsSync(new URL(path, import.meta.url));
  export default { actions: {
    tide: () => tide(),
    has: ({ paths }) => paths.filter(has),
    read: () => readFileSync(new URL("none", import.meta.url)),
    fail: () => { throw new Error("on purpose"); },
  }, healthCheck: () => ({ status: "degraded", message: new URL("none", import.meta.url).pathname }) };`;

/** Makes a plugin with an installed package that has a program, as npm leaves it. */
function plugin(t: Test, facts: object = {}): string {
  const folder = join(t.testdir({}), "plug");
  const write = (path: string, text: string): void => {
    mkdirSync(join(folder, path, ".."), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  write("plugin.yaml", JSON.stringify({ name: "plug", version: "1.0.0", entry_point: "main.mjs", ...facts }));
  write("main.mjs", SOURCE);
  write("node_modules/tide/package.json", JSON.stringify({ name: "tide", type: "module", exports: "./index.js" }));
  write(
    "node_modules/tide/index.js",
    `import { readFileSync } from "node:fs"; export default () => readFileSync(new URL("data/table", import.meta.url), "utf8");`,
  );
  write("node_modules/tide/data/table", "high");
  mkdirSync(join(folder, "node_modules/.bin"));
  symlinkSync("../tide/index.js", join(folder, "node_modules/.bin/tide"));
  for (const path of ["data/state", "src/data/list", "cacert.pem", ".env"]) write(path, "x");
  return folder;
}

const attempt = (folder: string, options: Partial<TrialOptions>) =>
  tryPlugin({ folder, logger: () => pino({ level: "silent" }), ...options });

for (const execution_mode of ["sandboxed", "trusted"])
  t.test(`a trial of a ${execution_mode} plugin runs packages with programs and folders named data`, async (t) => {
    const folder = plugin(t, { execution_mode });
    const { outcomes } = await attempt(folder, { cases: [{ action: "tide", result: "high" }] });
    t.match(outcomes, [{ passed: true, answer: "high" }]);
  });

t.test("a trial has the files of an archive and no others, and names those that it leaves out", async (t) => {
  const folder = plugin(t);
  const paths = ["./data/state", "./src/data/list", "./cacert.pem", "./.env"];
  let leftOut: unknown;
  const cases = [{ action: "has", payload: { paths } }];
  const plain = await attempt(folder, { cases, onListed: (list) => (leftOut = list.leftOut) });
  t.same(plain.outcomes[0]?.answer, ["./src/data/list"]);
  t.match(leftOut, [
    { path: ".env", pattern: ".env" },
    { path: "cacert.pem", pattern: "*.pem" },
    { path: "data" },
    { path: "node_modules" },
  ]);
  const more = await attempt(folder, { cases, include: ["*.pem"] });
  t.same(more.outcomes[0]?.answer, ["./src/data/list", "./cacert.pem"]);
  symlinkSync("main.mjs", join(folder, "link"));
  await t.rejects(attempt(folder, { cases }), { code: "source_link" }, "what no archive can hold fails here, too");
});

t.test("a descriptor that is not valid is told with its line, also where it has another name", async (t) => {
  const folder = plugin(t, { name: "Plug X" });
  const faults = [/^name: /];
  await t.rejects(attempt(folder, { cases: [] }), { code: "usage", message: `${folder}/plugin.yaml`, faults });
});

t.test("the log of a trial names the author's folder", async (t) => {
  const folder = plugin(t, { execution_mode: "trusted" });
  const lines: string[] = [];
  await attempt(folder, {
    cases: [{ action: "fail" }],
    logger: (rewrite) =>
      pino({ level: "warn", hooks: { streamWrite: rewrite } }, { write: (line: string) => lines.push(line) }),
  });
  t.match(lines, [`${folder}/main.mjs`]);
  t.notMatch(lines.join(""), /sealift-trial-/);
});

t.test(
  "answers and health of a trial name the author's folder, also behind a link to the temporary files",
  async (t) => {
    const folder = plugin(t);
    const { TMPDIR } = process.env;
    const link = join(folder, "../tmp");
    symlinkSync(realpathSync(tmpdir()), link);
    process.env.TMPDIR = link;
    t.teardown(() => (TMPDIR === undefined ? delete process.env.TMPDIR : (process.env.TMPDIR = TMPDIR)));
    const { outcomes, health } = await attempt(folder, { cases: [{ action: "read" }] });
    t.match(outcomes, [{ answer: { msg: `${folder}/none` }, reason: `${folder}/none`, stack: `${folder}/main.mjs` }]);
    t.match(health.message, `${folder}/none`);
    t.notMatch(JSON.stringify([outcomes, health]), /sealift-trial-/);
  },
);
