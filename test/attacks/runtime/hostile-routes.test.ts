/** A sandboxed plugin whose route lies about its answer: in frames of its own, past the bootstrap. */
import { connect } from "node:net";
import t from "tap";
import { sandboxed, startHost } from "../../support/runtime/host.ts";
import { until } from "../../support/until.ts";

const SOURCE = `
import { writeSync } from "node:fs";
const frame = (header, body) => {
  const [head, rest] = [Buffer.from(JSON.stringify(header)), Buffer.from(body ?? "")];
  const prefix = Buffer.alloc(8);
  prefix.writeUInt32BE(4 + head.length + rest.length, 0);
  prefix.writeUInt32BE(head.length, 4);
  return Buffer.concat([prefix, head, rest]);
};
const send = (header, body) => writeSync(3, frame(header, body));
const { stringify } = JSON;
/** Answers, and hands the id of its own request to the attack. */
const overheard = (reply, payload, attack) => {
  JSON.stringify = (value, ...rest) => {
    if (value?.t === "reply" || value?.t === "head") {
      JSON.stringify = stringify;
      attack(value.id, value.t);
    }
    return stringify(value, ...rest);
  };
  return reply.send(payload);
};
const stream = async function* () { yield "genuine"; await new Promise((done) => setTimeout(done, 100)); };
const attacks = {
  twice: (reply) => overheard(reply, "genuine", (id) => setImmediate(() => { for (let i = 0; i < 3; i++) send({ t: "reply", id, ok: true, status: 200, headers: {}, b: 1 }, "forged"); })),
  headAfter: (reply) => overheard(reply, "genuine", (id) => setImmediate(() => { send({ t: "head", id, status: 200, headers: {} }); send({ t: "data", id, b: 1 }, "forged"); })),
  headTwice: (reply) => overheard(reply, stream(), (id) => setImmediate(() => send({ t: "head", id, status: 500, headers: {} }))),
  dataFirst: (reply) => overheard(reply, "genuine", (id) => send({ t: "data", id, b: 1 }, "forged")),
  taken: (reply) => overheard(reply, "genuine", (id) => { for (const bytes of [-1, 1e308, "x", null]) send({ t: "taken", id, bytes }); }),
  flood: (reply) => overheard(reply, stream(), (id) => setImmediate(() => {
    const data = frame({ t: "data", id, b: 1 }, "x".repeat(65536));
    for (let at = 0; ; at %= data.length) try { at += writeSync(3, data, at); } catch (error) { if (error.code !== "EAGAIN") return; }
  })),
  split: (reply) => reply.header("x-own", "a\\r\\nset-cookie: forged=1").send("x"),
  name: (reply) => reply.header("x own:", "a").send("x"),
  many: (reply) => { for (let i = 0; i < 200; i++) reply.header("x-" + i, "a"); return reply.send("x"); },
  status: (reply) => reply.code(99).send("x"),
  length: (reply) => reply.headers({ "content-length": "1", "transfer-encoding": "identity", connection: "upgrade" }).send("genuine"),
};
export default {
  actions: { alive: () => "alive" },
  routes: [{ method: "GET", path: "/:attack", handler: (request, reply) => attacks[request.params.attack](reply) }],
};`;

t.test("whatever a route answers, its client gets one whole answer or an error, and nobody else notices", async (t) => {
  const sandbox = { max_restarts: 1000, backoff_ms: 1 };
  const host = await startHost(t, {
    plugins: { evil: sandboxed("evil", SOURCE), victim: sandboxed("victim", SOURCE) },
    configuration: { plugins: { sandbox } },
  });
  const ask = (attack: string) => host.request("GET", `/plugin/evil/${attack}`);
  for (const attack of ["twice", "headAfter", "headTwice", "dataFirst", "taken", "length"]) {
    t.match(await ask(attack), { status: 200, text: "genuine" }, attack);
    t.equal(await host.result("evil", "alive"), "alive", attack);
  }
  for (const attack of ["split", "name", "many", "status"]) {
    const answer = await ask(attack);
    t.match(answer, { status: 500, body: { code: "action_failed" } }, attack);
    t.equal(answer.headers.get("set-cookie"), null);
  }
  t.ok((await host.counter('sealift_frames_dropped_total{plugin="evil"')) >= 8, "what it forged is counted");
  t.match(await host.status("evil"), { state: "loaded", restarts: 0 });

  const { hostname, port } = new URL(host.url);
  const deaf = connect(Number(port), hostname).pause();
  t.teardown(() => deaf.destroy());
  deaf.on("error", () => undefined).write("GET /plugin/evil/flood HTTP/1.1\r\nHost: x\r\n\r\n");
  await until(async () => ((await host.status("evil")) as { restarts: number }).restarts === 1);
  t.ok(
    host.logs.some(({ code, msg }) => code === "channel_violated" && msg.includes("given leave for")),
    "more of an answer than the client takes costs the process",
  );
  t.equal(await host.result("victim", "alive"), "alive");
  t.equal(await host.result("evil", "alive"), "alive");
});

t.test("a request whose head does not fit a frame is refused, and ends no process", async (t) => {
  const host = await startHost(t, { plugins: { evil: sandboxed("evil", SOURCE) } });
  const { hostname, port } = new URL(host.url);
  // As latin1, each of these bytes takes six in JSON.
  const value = Buffer.alloc(15_000, 0x7f);
  const answer = await new Promise<string>((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    let text = "";
    socket.on("error", reject).on("close", () => resolve(text));
    socket.setEncoding("latin1").on("data", (chunk: string) => (text += chunk));
    socket.write("GET /plugin/evil/taken HTTP/1.1\r\nHost: x\r\nConnection: close\r\nx-large: ");
    socket.write(value);
    socket.write("\r\n\r\n");
  });
  t.match(answer, /^HTTP\/1\.1 (200|400) /);
  t.match(await host.status("evil"), { state: "loaded", restarts: 0 });
});
