import { rmSync } from "node:fs";
import t from "tap";
import { actions, isAlive, sandboxed, startHost, trusted } from "../../../support/runtime/host.ts";

const version = (text: string): string =>
  actions(`
    version: () => ${JSON.stringify(text)},
    slow: ({ ms }) => new Promise((resolve) => setTimeout(() => resolve(${JSON.stringify(text)}), ms)),
  `);

t.test("routes are gone after an unload, and those of the new version serve after a reload", async (t) => {
  const routes = (text: string, path: string) =>
    trusted(
      "plug",
      `export default { routes: [{ method: "GET", path: "${path}", handler: () => ({ text: "${text}" }) }] };`,
    );
  const host = await startHost(t, { plugins: { plug: routes("one", "/old") } });
  t.match(await host.request("GET", "/plugin/plug/old"), { status: 200, body: { text: "one" } });
  host.install("plug", routes("two", "/new"));
  await host.reload("plug");
  t.match(await host.request("GET", "/plugin/plug/old"), { status: 404, body: { code: "not_found" } });
  t.match(await host.request("GET", "/plugin/plug/new"), { status: 200, body: { text: "two" } });
  await host.unload("plug");
  t.match(await host.request("GET", "/plugin/plug/new"), { status: 404, body: { code: "not_loaded" } });
});

t.test("a refresh loads what is new, reloads what is loaded and lets go of what is gone", async (t) => {
  const host = await startHost(t, {
    plugins: {
      kept: trusted("kept", version("one")),
      gone: sandboxed("gone", version("")),
      bad: trusted("bad", "throw 1"),
    },
  });
  const { pid } = (await host.status("gone")) as { pid: number };
  host.install("kept", trusted("kept", version("two")));
  host.install("fresh", trusted("fresh", version("fresh")));
  host.install("bad", trusted("bad", version("mended")));
  rmSync(host.path("plugins/gone"), { recursive: true });
  await host.runtime.refresh();
  t.equal(await host.result("kept", "version"), "two");
  t.equal(await host.result("fresh", "version"), "fresh");
  t.equal(await host.result("bad", "version"), "mended");
  t.equal(await host.status("gone"), undefined);
  t.notOk(isAlive(pid));
});

t.test("closing lets calls in flight finish and leaves no process behind", async (t) => {
  const host = await startHost(t, {
    plugins: {
      one: sandboxed("one", version("one")),
      two: sandboxed("two", version("two")),
      in: trusted("in", version("in")),
    },
  });
  const pids = await Promise.all(
    ["one", "two"].map(async (name) => ((await host.status(name)) as { pid: number }).pid),
  );
  const calls = ["one", "in"].map((name) => host.result(name, "slow", { ms: 600 }));
  await new Promise((resolve) => setTimeout(resolve, 100));
  await host.runtime.close();
  t.same(await Promise.all(calls), ["one", "in"]);
  for (const pid of pids) t.notOk(isAlive(pid));
});
