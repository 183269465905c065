import t from "tap";
import { inEachSetting, startAttacker } from "../../support/runtime/attacker.ts";
import { isAlive, sandboxed } from "../../support/runtime/host.ts";
import { until } from "../../support/until.ts";

/** Writes frames of its own on the channel, past the bootstrap. */
const FORGE = `
  const { writeSync } = await load("node:fs");
  const frame = (header, body = "") => {
    const head = Buffer.from(JSON.stringify(header));
    const rest = Buffer.from(body);
    const prefix = Buffer.alloc(8);
    prefix.writeUInt32BE(4 + head.length + rest.length, 0);
    prefix.writeUInt32BE(head.length, 4);
    return Buffer.concat([prefix, head, rest]);
  };
  const send = (header, body) => writeSync(3, frame(header, body));
`;

const BROKEN = {
  "a length of four gigabytes": `writeSync(3, Buffer.from([255, 255, 255, 255, 0, 0, 0, 1]));`,
  "a length of nothing": `writeSync(3, Buffer.alloc(8));`,
  "a header longer than its frame": `writeSync(3, Buffer.from([0, 0, 0, 8, 0, 0, 255, 0, 1, 2, 3, 4]));`,
  "a header that is not JSON": `writeSync(3, Buffer.from([0, 0, 0, 6, 0, 0, 0, 2, 123, 123]));`,
  "a print into the channel": `writeSync(3, "hello, I am a stray print into the wrong file descriptor\\n");`,
  "a flood of frames": `for (;;) { try { for (let i = 0; i < 1000; i++) send({ t: "reply", id: "x", ok: true }, "1"); } catch {} await new Promise(setImmediate); }`,
  "a flood of log records": `for (;;) { for (let i = 0; i < 1000; i++) context.logger.info("x"); await new Promise(setImmediate); }`,
};

inEachSetting("nothing that a plugin writes on its channel costs more than its own process", async (t, setting) => {
  const host = await startAttacker(t, { setting });

  await t.test("replies with unknown, guessed or repeated ids reach no caller and are counted", async (t) => {
    const waiting = host.call("evil", "run", {
      code: `await new Promise((done) => setTimeout(done, 500)); return "genuine"`,
    });
    const answer = await host.attack(`${FORGE}
      for (const id of ["", "0", "1", "undefined", null, {}, "00000000-0000-4000-8000-000000000000"]) send({ t: "reply", id, ok: true }, '"forged"');
      // The ids of its own replies can be overheard: a repeated reply must find nobody.
      const { stringify } = JSON;
      JSON.stringify = (value, ...rest) => {
        if (value?.t === "reply") {
          JSON.stringify = stringify;
          setImmediate(() => send(value, '"repeated"'));
        }
        return stringify(value, ...rest);
      };
      return "first"`);
    t.same(answer, { done: "first" });
    t.match(await waiting, { status: 200, body: { result: { done: "genuine" } } });
    t.equal(await host.result("victim", "alive"), "alive");
    const dropped = await host.counter('sealift_frames_dropped_total{plugin="evil",reason="unknown_id"}');
    t.ok(dropped >= 8, `${dropped} dropped`);
    t.match(await host.status("evil"), { state: "loaded", restarts: 0 });
  });

  await t.test("a forged second start, an unknown kind and forged answers change nothing", async (t) => {
    await host.attack(`${FORGE}
      send({ t: "ready", actions: ["injected"] });
      send({ t: "failed", code: "internal", message: "x" });
      send({ t: "health", id: "1", status: "unhealthy" });
      send({ t: "cancelled", id: "1" });
      send({ t: "pong" });
      send({ t: "toString" });
      send({ t: "request", id: 1, target: "plugin:victim", method: "alive" }, "[]");
      send({ t: "request", id: 2, target: "cache", method: "get" }, "{}");
      send({ t: "request", id: 3, target: "__proto__", method: "constructor" }, "[]");
      send({ t: "log", level: "fatal", message: {} }, "not json");`);
    t.match(await host.call("evil", "injected"), { status: 404 });
    t.equal(await host.result("evil", "alive"), "alive");
    t.match(await host.status("evil"), { state: "loaded", restarts: 0 });
  });

  for (const last of ["stopped", "crash"]) {
    await t.test(`a plugin that says it has ended (${last}) and does not is ended, and comes back`, async (t) => {
      const { pid, restarts } = (await host.status("evil")) as { pid: number; restarts: number };
      await host.attack(
        `${FORGE} process.stderr.write("FATAL ERROR: heap out of memory\\n"); send({ t: "${last}", message: "so long" });`,
      );
      await until(() => !isAlive(pid));
      t.equal(await host.result("evil", "alive"), "alive");
      t.match(await host.status("evil"), { state: "loaded", restarts: restarts + 1 });
    });
  }

  for (const [name, code] of Object.entries(BROKEN)) {
    await t.test(`${name} costs the plugin its process and nobody else anything`, async (t) => {
      const broken = host.call("evil", "run", { code: `${FORGE} ${code} await new Promise(() => {});` });
      t.equal(await host.result("victim", "alive"), "alive");
      t.match(await broken, { status: 500, body: { code: "channel_violated" } });
      t.equal(await host.result("evil", "alive"), "alive");
    });
  }
});

inEachSetting("a plugin asks only for what its permissions allow", async (t, setting) => {
  const host = await startAttacker(t, {
    setting,
    descriptor: {
      permissions: [
        { resource: "cache", actions: ["get"] },
        { resource: "plugin:victim", actions: ["alive"] },
      ],
    },
    configuration: { services: { databases: { main: { type: "sqlite", url: ":memory:" } } } },
  });
  const code = (method: string) => `try { return await ${method} } catch (error) { return error.code }`;
  const expected: Record<string, unknown> = {
    [`context.services.cache.get("a")`]: null,
    [`context.services.cache.set("a", 1)`]: "permission_denied",
    [`context.services.databases.main.query("select 1")`]: "permission_denied",
    [`context.events.emit("x", 1)`]: "permission_denied",
    [`context.call("victim", "alive")`]: "alive",
    [`context.call("victim", "run", { code: "return 1" })`]: "permission_denied",
    [`context.call("evil", "alive")`]: "permission_denied",
  };
  for (const [method, done] of Object.entries(expected)) t.same(await host.attack(code(method)), { done }, method);
});

t.test("a forged schema without end is left out of the OpenAPI document", async (t) => {
  const forged = `${FORGE.replaceAll("await load", "await import")}
    // No more than what the channel takes at once.
    const levels = 10_000;
    const payload = '{"a":'.repeat(levels) + "1" + "}".repeat(levels);
    send({ t: "ready", actions: ["deep"] }, '{"actions":{"deep":{"description":"shown","payload":' + payload + "}}}");
    export default { actions: { deep: () => 1 } };`;
  const host = await startAttacker(t, { plugins: { deep: sandboxed("deep", forged) } });
  t.match(await host.status("deep"), { state: "loaded" });
  const { status, body, text } = await host.system("GET", "/plugin/ipc/openapi.json");
  t.equal(status, 200);
  t.match(body, { paths: { "/plugin/ipc/deep/deep": { post: { summary: "shown" } } } });
  t.notOk(text.includes('{"a":'.repeat(200)), "readers of the document may use recursion");
});
