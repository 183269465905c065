// Only in test:all: whole runs of an author.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { until } from "../support/until.ts";

const LAUNCHER = fileURLToPath(new URL("../../dist/bin/sealift.js", import.meta.url));

function run(cwd: string, ...parameters: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [LAUNCHER, ...parameters], { cwd, encoding: "utf8" });
}

for (const language of ["typescript", "javascript"]) {
  for (const mode of ["sandboxed", "trusted"]) {
    t.test(`a scaffolded ${mode} plugin in ${language} passes its own tests as it is`, async (t) => {
      const cwd = t.testdir({});
      const init = run(cwd, "plugin", "init", "greeter", "--language", language, "--mode", mode);
      t.equal(init.status, 0, init.stderr);
      t.ok(existsSync(join(cwd, "greeter", language === "typescript" ? "src/main.ts" : "src/main.js")));
      const test = run(cwd, "plugin", "test", "greeter");
      t.equal(test.status, 0, test.stderr + test.stdout);
      t.match(test.stdout, `greeter 0.1.0 (${mode}): healthy`);
      t.match(test.stdout, /^ok greets by name/m);
      t.notOk(existsSync(join(cwd, "greeter/data")), "the plugin's own folder is left alone");
    });
  }
}

t.test("plugin test --watch runs again after each save, until it is interrupted", async (t) => {
  const cwd = t.testdir({});
  run(cwd, "plugin", "init", "greeter", "--language", "javascript");
  const child = spawn(process.execPath, [LAUNCHER, "plugin", "test", "greeter", "--watch"], { cwd });
  let told = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (told += String(chunk)));
  const says = async (pattern: RegExp) => {
    await until(() => pattern.test(told));
    told = "";
  };
  await says(/ok greets by name[^]*waiting for a change of greeter/);
  const file = join(cwd, "greeter/plugin.test.yaml");
  writeFileSync(file, readFileSync(file, "utf8").replace("Hello, Ada!", "Bye, Ada!"));
  await says(/failed greets by name[^]*waiting for a change/);
  child.kill("SIGINT");
  const [code] = (await once(child, "exit")) as [number];
  t.equal(code, 0);
});

t.test("plugin test tells what a call answers, what failed, and what does not load", async (t) => {
  const cwd = t.testdir({});
  run(cwd, "plugin", "init", "greeter", "--language", "javascript");
  // A machine with much else to do stops the trial's own loop, too: no plugin is to blame, and nothing is said.
  writeFileSync(
    join(cwd, "busy.yaml"),
    "{ observability: { metrics: { blocked_after_ms: 50 } }, plugins: { sandbox: { wall: off } } }\n",
  );
  const busy = run(cwd, "plugin", "test", "greeter", "--integration", "busy.yaml");
  t.equal(busy.stderr, "");
  const call = run(cwd, "plugin", "test", "greeter", "--call", "greet", "--payload", '{"name":"Ada"}');
  t.same(JSON.parse(call.stdout), { text: "Hello, Ada!", times: 1 });
  const file = join(cwd, "greeter/plugin.test.yaml");
  writeFileSync(file, readFileSync(file, "utf8").replace("Hello, Ada!", "Bye, Ada!"));
  const failed = run(cwd, "plugin", "test", "greeter", "--json");
  t.equal(failed.status, 1);
  t.match(JSON.parse(failed.stdout), {
    event: "result",
    status: "failed",
    outcomes: [{ passed: false, reason: /Bye, Ada!/ }, { passed: true }, { passed: true }],
  });
  const source = join(cwd, "greeter/src/main.js");
  const written = readFileSync(source, "utf8");
  writeFileSync(
    source,
    written.replace("const times =", "if (name === 'Ada') throw new Error('on purpose'); const times ="),
  );
  const thrown = run(cwd, "plugin", "test", "greeter");
  t.ok(thrown.stdout.includes(join(cwd, "greeter", "src", "main.js")), "a stack names the author's own file");
  t.match(
    thrown.stdout,
    /^failed greets by name: .*on purpose\n {4}Error: on purpose\n {8}at /m,
    "below its call, line by line",
  );
  t.notMatch(thrown.stdout, /sealift-trial-/);
  writeFileSync(source, "throw new Error('broken')");
  const broken = run(cwd, "plugin", "test", "greeter");
  t.equal(broken.status, 1);
  t.match(broken.stderr, /does not load: broken/);
  writeFileSync(join(cwd, "greeter/plugin.yaml"), "name: [\n");
  const wrong = run(cwd, "plugin", "test", "greeter");
  t.match(wrong, { status: 2, stderr: /plugin\.yaml is not valid YAML: line 2[^]*`sealift docs sdk` explains/ });
  t.notMatch(wrong.stderr, /not found/);
  t.equal(run(cwd, "plugin", "init", "greeter").status, 2, "a folder that is not empty");
  t.equal(run(cwd, "plugin", "init", "../x").status, 2);
  t.equal(run(cwd, "plugin", "test", "nowhere").status, 2);
});
