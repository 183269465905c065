import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import t from "tap";
import { actions, type Host, sandboxed, startHost, trusted } from "../../../support/runtime/host.ts";
import { until } from "../../../support/until.ts";

const version = (text: string): string =>
  actions(`
    version: () => ${JSON.stringify(text)},
    slow: ({ ms }) => new Promise((resolve) => setTimeout(() => resolve(${JSON.stringify(text)}), ms)),
  `);

const modes = { trusted, sandboxed };

/** Calls without a pause until `during` is over; returns every answer that was not a success, and the results seen. */

async function callsDuring(
  host: Host,
  during: () => Promise<unknown>,
): Promise<{ failed: unknown[]; seen: Set<string>; count: number }> {
  const failed: unknown[] = [];
  const seen = new Set<string>();
  let count = 0;
  let over = false;
  const caller = async (): Promise<void> => {
    while (!over) {
      const { status, body } = await host.call("plug", "version");
      count++;
      if (status === 200) seen.add((body as { result: string }).result);
      else failed.push(body);
    }
  };
  const callers = Promise.all([caller(), caller(), caller(), caller()]);
  await during();
  over = true;
  await callers;
  return { failed, seen, count };
}

for (const [mode, make] of Object.entries(modes)) {
  t.test(`a reload of a ${mode} plugin runs the new code, its relative imports included`, async (t) => {
    const host = await startHost(t);
    const source = `import { text } from "./text.mjs"; export default { actions: { version: () => text } };`;
    const plugin = make("plug", source);
    for (const text of ["one", "two", "three"]) {
      host.install("plug", { ...plugin, files: { ...plugin.files, "src/text.mjs": `export const text = "${text}";` } });
      t.match(await (text === "one" ? host.load("plug") : host.reload("plug")), { status: 200 });
      t.equal(await host.result("plug", "version"), text);
    }
  });

  t.test(
    `calls in flight on a ${mode} plugin finish on the old instance while new ones reach the new one`,
    async (t) => {
      const host = await startHost(t, { plugins: { plug: make("plug", version("old")) } });
      const slow = host.result("plug", "slow", { ms: 1000 });
      await new Promise((resolve) => setTimeout(resolve, 100));
      host.install("plug", make("plug", version("new")));
      t.match(await host.reload("plug"), { status: 200 });
      t.equal(await host.result("plug", "version"), "new");
      t.equal(await slow, "old");
    },
  );

  t.test(
    `a reload of a ${mode} plugin that fails leaves the old one serving and says why, and the next one works`,
    async (t) => {
      const host = await startHost(t, { plugins: { plug: make("plug", version("old")) } });
      const failures: Record<string, [code: string, source: string]> = {
        syntax: ["load_failed", "export default {"],
        throws: ["load_failed", `throw new Error("no way")`],
        onLoad: ["load_failed", `export default { actions: {}, onLoad: () => { throw new Error("no way"); } };`],
        unhealthy: ["unhealthy", `export default { actions: {}, healthCheck: () => false };`],
        nothing: ["load_failed", `export const something = 1; export default null;`],
      };
      for (const [name, [code, source]] of Object.entries(failures)) {
        host.install("plug", make("plug", source));
        const answer = await host.reload("plug");
        t.match(answer, { status: 500, body: { status: "error", code, msg: /the running version goes on: ./ } }, name);
        t.equal(await host.result("plug", "version"), "old", name);
        t.match(await host.status("plug"), { state: "loaded", error_code: code }, name);
      }
      host.install("plug", make("plug", version("new")));
      t.match(await host.reload("plug"), { status: 200 });
      t.equal(await host.result("plug", "version"), "new");
      t.notOk((await host.status("plug")).error);
    },
  );

  t.test(`an upgrade of a ${mode} plugin by a switched link fails no call under a constant load`, async (t) => {
    const host = await startHost(t);
    for (const text of ["one", "two"]) {
      host.install("plug", make("plug", version(text)));
      mkdirSync(host.path(".sealift/releases", text, "plugins"), { recursive: true });
      renameSync(host.path("plugins/plug"), host.path(".sealift/releases", text, "plugins/plug"));
    }
    const point = (text: string): void => {
      symlinkSync(`releases/${text}`, host.path(".sealift/next"));
      renameSync(host.path(".sealift/next"), host.path(".sealift/current"));
    };
    point("one");
    symlinkSync("../.sealift/current/plugins/plug", host.path("plugins/plug"));
    await host.load("plug");
    const { failed, seen, count } = await callsDuring(host, async () => {
      for (const text of ["two", "one", "two"]) {
        point(text);
        t.match(await host.reload("plug"), { status: 200 });
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    });
    t.same(failed, []);
    t.same([...seen].sort(), ["one", "two"]);
    t.ok(count > 20, `${count} calls`);
    t.equal(await host.result("plug", "version"), "two");
  });

  t.test(`a ${mode} plugin's hooks run in their order, and onUnload only after the last call`, async (t) => {
    const source = `
      import { appendFileSync, existsSync } from "node:fs";
      const note = (dir, text) => appendFileSync(dir + "/log", text + " ");
      const slow = async (_p, c) => {
        note(c.dataDir, "calling");
        while (!existsSync(c.dataDir + "/go")) await new Promise((r) => setTimeout(r, 10));
        note(c.dataDir, "called");
      };
      export default {
        actions: { slow },
        onLoad: (c) => note(c.dataDir, "load"),
        onReload: (c) => note(c.dataDir, "reload"),
        onUnload: (c) => note(c.dataDir, "unload"),
      };`;
    const host = await startHost(t, { plugins: { plug: make("plug", source) } });
    const log = (): string => readFileSync(host.path("plugins/plug/data/log"), "utf8").trim();
    t.equal(log(), "load");
    const call = host.result("plug", "slow");
    await until(() => log() === "load calling");
    await host.reload("plug");
    writeFileSync(host.path("plugins/plug/data/go"), "");
    await call;
    await until(() => log() === "load calling load reload called unload");
    await host.unload("plug");
    t.equal(log(), "load calling load reload called unload unload");
  });
}

t.test("a plugin may change its mode with a reload", async (t) => {
  const host = await startHost(t, { plugins: { plug: trusted("plug", version("inside")) } });
  host.install("plug", sandboxed("plug", version("boxed")));
  await host.reload("plug");
  t.match(await host.status("plug"), { mode: "sandboxed", pid: Number });
  t.equal(await host.result("plug", "version"), "boxed");
  host.install("plug", trusted("plug", version("inside again")));
  await host.reload("plug");
  t.match(await host.status("plug"), { mode: "trusted", pid: undefined });
});
