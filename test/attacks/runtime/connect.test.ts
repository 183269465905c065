import { type AddressInfo, createServer } from "node:net";
import { allRefused, inEachSetting, startAttacker } from "../../support/runtime/attacker.ts";

const ATTACKS = {
  tcp: `const { connect } = await load("node:net"); return await new Promise((done, fail) => connect(parameters.port, "127.0.0.1").on("connect", () => done(1)).on("error", fail))`,
  fetch: `return (await fetch("http://127.0.0.1:" + parameters.port)).status`,
  http: `const { get } = await load("node:http"); return await new Promise((done, fail) => get("http://127.0.0.1:" + parameters.port, done).on("error", fail))`,
  "unix socket": `const { connect } = await load("node:net"); return await new Promise((done, fail) => connect(parameters.socket).on("connect", () => done(1)).on("error", fail))`,
  udp: `const { createSocket } = await load("node:dgram"); const socket = createSocket("udp4"); return await new Promise((done, fail) => { socket.on("error", fail); socket.send("x", parameters.port, "127.0.0.1", (error) => error ? fail(error) : done(1)); })`,
  dns: `return (await (await load("node:dns/promises")).lookup("localhost")).address`,
  resolve: `const { Resolver } = await load("node:dns/promises"); const resolver = new Resolver({ timeout: 500, tries: 1 }); resolver.setServers(["127.0.0.1:" + parameters.port]); return await resolver.resolve4("example.org")`,
  listen: `const { createServer } = await load("node:net"); return await new Promise((done, fail) => createServer().on("error", fail).listen(0, () => done(1)))`,
  websocket: `return await new Promise((done, fail) => { const socket = new WebSocket("ws://127.0.0.1:" + parameters.port); socket.onopen = () => done(1); socket.onerror = (event) => fail(event.error ?? new Error("refused")); })`,
  "the channel's own handle": `const { Socket } = await load("node:net"); const Pipe = new Socket({ fd: 3 })._handle.constructor; const error = new Pipe(0).connect({ oncomplete() {} }, parameters.socket); if (error) throw error; return 1`,
};

inEachSetting(
  "a sandboxed plugin without a grant reaches nothing on the network, even where its descriptor asks for it",
  async (t, setting) => {
    let connections = 0;
    const server = createServer((socket) => {
      connections++;
      socket.end();
    });
    const host = await startAttacker(t, { setting, descriptor: { network: true } });
    const unix = createServer(() => connections++);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    await new Promise<void>((resolve) => unix.listen("/tmp/sealift-attack.sock", resolve));
    t.teardown(() => [server, unix].forEach((each) => each.close()));
    const parameters = { port: (server.address() as AddressInfo).port, socket: "/tmp/sealift-attack.sock" };
    await allRefused(t, host, ATTACKS, parameters);
    t.equal(connections, 0);
    t.ok(host.logs.some(({ plugin, msg }) => plugin === "evil" && msg.includes("does not grant it")));
  },
);

inEachSetting("with the operator's grant it does, and only the plugin that asked", async (t, setting) => {
  const server = createServer((socket) => socket.end());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  const host = await startAttacker(t, {
    setting,
    descriptor: { network: true },
    configuration: { plugins: { grants: { evil: { network: true }, victim: { network: true } } } },
  });
  const parameters = { port: (server.address() as AddressInfo).port };
  t.match(await host.attack(ATTACKS.tcp, parameters), { done: 1 });
  t.match(await host.attack(ATTACKS.dns), { done: /^(127|::1)/ }, "names are found as on the host");
  t.match(await host.attack(ATTACKS.tcp, parameters, "victim"), {
    refused: setting === "wall" ? "EACCES" : "ERR_ACCESS_DENIED",
  });
});
