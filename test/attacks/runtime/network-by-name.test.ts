// Only in test:all: it starts many sandboxes, 7 s of a processor.
import { chmodSync, existsSync, mkdirSync, rmSync, statSync, symlinkSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect, createServer as createTcpServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { build } from "esbuild";
import t, { type Test } from "tap";
import { descriptor } from "../../../lib/contract/files/descriptor.ts";
import { integration } from "../../../lib/contract/files/integration.ts";
import { accessOf } from "../../../lib/runtime/network/access.ts";
import { type Denied, Destinations } from "../../../lib/runtime/network/destinations.ts";
import { NetworkProxy } from "../../../lib/runtime/network/proxy.ts";
import { isPublic } from "../../../lib/support/network/addresses.ts";
import type { Resolve } from "../../../lib/support/network/lookup.ts";
import { trustedCertificate } from "../../support/hub/lying-hub.ts";
import { needs } from "../../support/programs/optional.ts";
import { startAttacker } from "../../support/runtime/attacker.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const skip = needs("bwrap");

/** A server on this host that keeps what reached it. */
async function startTarget(t: Test) {
  const requests: { method: string; url: string; headers: IncomingMessage["headers"]; body: string }[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      requests.push({ method: request.method ?? "", url: request.url ?? "", headers: request.headers, body });
      response.setHeader("x-from", "target").end(`${request.method} ${request.url} ${body}`);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  return { requests, port: (server.address() as AddressInfo).port };
}

const rulesOf = (network: string[], grant: object) => {
  const asked = descriptor.parse({ name: "a", version: "1", network }).network;
  const { plugins } = integration.parse({ app: { secret_key: "k" }, plugins: { grants: { a: grant } } });
  const access = accessOf(asked, plugins.grants["a"]);
  if (access.kind !== "names") throw new Error(access.kind);
  return access.rules;
};

/** The proxy alone, with a resolver of the test's own. */
async function startProxy(t: Test, network: string[], grant: object, resolve?: Resolve) {
  const denied: Denied[] = [];
  const destinations = new Destinations(rulesOf(network, grant), resolve);
  const proxy = await NetworkProxy.open({ destinations, user: undefined, onDenied: (each) => denied.push(each) });
  t.teardown(() => proxy[Symbol.asyncDispose]());
  /** Sends bytes, and returns all that is answered until the proxy closes or `until` is seen. */
  const raw = (text: string, until?: string): Promise<string> =>
    new Promise((done, fail) => {
      let answer = "";
      const socket = connect(proxy.socket, () => socket.write(text));
      socket.setTimeout(10_000, () => socket.destroy(new Error(`no end: ${answer}`)));
      socket.on("data", (chunk: Buffer) => {
        answer += chunk.toString("latin1");
        if (until !== undefined && answer.includes(until)) socket.destroy();
      });
      socket.on("error", fail);
      socket.on("close", () => done(answer));
    });
  return { proxy, denied, raw };
}

t.test("fetch and node:http reach what is granted, and nothing else, unchanged", { skip }, async (t) => {
  const target = await startTarget(t);
  const port = target.port;
  const host = await startAttacker(t, {
    setting: "both",
    descriptor: { network: [`127.0.0.1:${port}`, "localhost:4321", "example.com:443"] },
    configuration: { plugins: { grants: { evil: { network: [`127.0.0.1:${port}`, "localhost:4321"] } } } },
  });
  const url = `http://127.0.0.1:${port}/path?query`;
  t.match(
    await host.attack(
      `const answer = await fetch(parameters.url, { method: "POST", body: "sent" }); return [answer.status, answer.headers.get("x-from"), await answer.text()]`,
      { url },
    ),
    { done: [200, "target", "POST /path?query sent"] },
  );
  t.match(
    await host.attack(
      `const { get } = await load("node:http"); return await new Promise((done, fail) => get(parameters.url, (answer) => { let text = ""; answer.on("data", (part) => (text += part)).on("end", () => done(text)); }).on("error", fail))`,
      { url },
    ),
    { done: "GET /path?query " },
  );
  t.match(target.requests[0], { headers: { host: `127.0.0.1:${port}` }, body: "sent" });
  const refused = {
    "another port": `return (await fetch("http://127.0.0.1:${port + 1}/")).status`,
    "another port, asked for by node:http": `const { get } = await load("node:http"); return await new Promise((done, fail) => get("http://127.0.0.1:${port + 1}/", ({ statusCode }) => done(statusCode)).on("error", fail))`,
    "what only the descriptor names": `return (await fetch("https://example.com/")).status`,
    "what nobody names": `return (await fetch("http://elsewhere.example/")).status`,
    "metadata of a cloud": `return (await fetch("http://169.254.169.254/latest/meta-data/")).status`,
    "a granted name that leads to a private address": `return (await fetch("http://localhost:4321/")).status`,
    "a socket without the proxy": `const { connect } = await load("node:net"); return await new Promise((done, fail) => connect(${port}, "127.0.0.1").on("connect", () => done(1)).on("error", fail))`,
    "a name server": `const { Resolver } = await load("node:dns/promises"); const resolver = new Resolver({ timeout: 500, tries: 1 }); resolver.setServers(["8.8.8.8"]); return await resolver.resolve4("example.org")`,
  };
  for (const [name, code] of Object.entries(refused)) {
    const outcome = await host.attack(code);
    t.ok("refused" in outcome || outcome.done === 403, `${name}: ${JSON.stringify(outcome)}`);
  }
  t.equal(target.requests.length, 2);
  t.equal(await host.counter('sealift_network_denied_total{plugin="evil",host="elsewhere.example"}'), 1);
  t.equal(await host.counter('sealift_network_denied_total{plugin="evil",host="169.254.169.254"}'), 1);
  t.ok(
    host.logs.some(
      ({ msg, plugin, host: name }) => /was refused/.test(msg) && plugin === "evil" && name === "localhost",
    ),
  );
  t.match(await host.attack(`return (await fetch(parameters.url)).status`, { url }, "victim"), {
    refused: "TypeError",
  });
});

t.test("a plugin reaches its own unix sockets only", { skip }, async (t) => {
  const host = await startAttacker(t, {
    setting: "both",
    descriptor: { network: ["example.com:443"] },
    configuration: { plugins: { grants: { evil: { network: true } } } },
  });
  // The name of a unix socket has 107 bytes at most: it is said from the folder that a process works in.
  const ask = `const { relative } = await load("node:path"); const { createServer, get } = await load("node:http"); const near = (path) => relative(process.cwd(), path); const asked = (path) => new Promise((done, fail) => get({ socketPath: near(path), path: "/in" }, (answer) => { let text = ""; answer.on("data", (part) => (text += part)).on("end", () => done([answer.statusCode, text])); }).on("error", fail));`;
  const own = `${ask} const server = createServer((request, response) => response.end("own " + request.url)); const path = context.dataDir + "/own"; await new Promise((done, fail) => server.on("error", fail).listen(near(path), done)); try { return await asked(path); } finally { server.closeAllConnections(); server.close(); }`;
  t.same(await host.attack(own), { done: [200, "own /in"] });
  let reached = 0;
  const short = temporaryFolder(t);
  symlinkSync(host.root, join(short, "root"));
  mkdirSync(host.path("plugins/victim/data"), { recursive: true });
  for (const name of ["outside", "plugins/victim/data/its"]) {
    const path = host.path(name);
    const server = createServer((_request, response) => void (reached++, response.end("outside")));
    await new Promise<void>((resolve) => server.listen(join(short, "root", name), resolve));
    t.teardown(() => server.close());
    chmodSync(path, 0o777);
    t.match(
      await host.attack(`${ask} return await asked(parameters.path)`, { path }),
      { refused: /^(ENOENT|EACCES|EPERM|ERR_ACCESS_DENIED)$/ },
      path,
    );
  }
  t.equal(reached, 0);
});

/** The text of got and all that it needs, as one module. */
async function bundledGot(): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: `export { default as got } from "got";`, resolveDir: import.meta.dirname },
    ...{ bundle: true, write: false, platform: "node", format: "esm" },
    banner: { js: `import { createRequire } from "node:module"; const require = createRequire(import.meta.url);` },
  });
  return outputFiles[0]?.text ?? "";
}

t.test("node:https, fetch and got speak TLS with the granted host itself, through the tunnel", { skip }, async (t) => {
  const tls = trustedCertificate();
  const server = createTlsServer(tls, (request, response) => response.end(`secret ${request.url}`));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const network = [`127.0.0.1:${port}`];
  const host = await startAttacker(t, {
    setting: "both",
    descriptor: { network },
    configuration: { plugins: { grants: { evil: { network } } } },
  });
  const code = `const { get } = await load("node:https"); return await new Promise((done, fail) => get(parameters.url, { ca: parameters.ca }, (answer) => { let text = ""; answer.on("data", (part) => (text += part)).on("end", () => done(text)); }).on("error", fail))`;
  const parameters = { url: `https://127.0.0.1:${port}/path`, ca: tls.cert.toString() };
  t.match(await host.attack(code, parameters), { done: "secret /path" });
  t.ok("refused" in (await host.attack(code, { ...parameters, url: `https://127.0.0.1:${port + 1}/path` })));
  const fetched = `(await load("node:tls")).setDefaultCACertificates([parameters.ca]); return await (await fetch(parameters.url)).text()`;
  t.match(await host.attack(fetched, parameters), { done: "secret /path" });
  t.ok("refused" in (await host.attack(fetched, { ...parameters, url: `https://127.0.0.1:${port + 1}/path` })));
  host.write("plugins/evil/src/got.mjs", await bundledGot());
  const got = `const { got } = await load("./got.mjs"); return await got(parameters.url, { https: { certificateAuthority: parameters.ca }, retry: { limit: 0 } }).text()`;
  t.match(await host.attack(got, parameters), { done: "secret /path" });
  t.ok("refused" in (await host.attack(got, { ...parameters, url: `https://127.0.0.1:${port + 1}/path` })));
});

t.test("without a wall, hosts by name are not granted at all", async (t) => {
  const host = await startAttacker(t, {
    setting: "model",
    descriptor: { network: ["example.com:443"] },
    configuration: { plugins: { grants: { evil: { network: true } } } },
  });
  t.match(await host.status("evil"), { state: "error", error_code: "sandbox_unavailable", error: /only a wall/ });
});

t.test("a name that leads to a private address is refused, whatever it led to before", async (t) => {
  const target = await startTarget(t);
  const answers = [["93.184.216.34"], ["127.0.0.1"]];
  const asked: string[] = [];
  const rebinding: Resolve = async (host) => {
    asked.push(host);
    return (answers[Math.min(asked.length, answers.length) - 1] ?? []).map((address) => ({ address, family: 4 }));
  };
  const destinations = new Destinations(rulesOf([`a.example:${target.port}`], { network: true }), rebinding);
  const lookup = () =>
    new Promise((done) => destinations.lookup("a.example", { all: true }, (error, found) => done(error ?? found)));
  t.match(await lookup(), [{ address: "93.184.216.34" }]);
  t.match(await lookup(), [{ address: "93.184.216.34" }], "what was checked is what is used");
  const { raw, denied } = await startProxy(t, [`a.example:${target.port}`], { network: true }, async () => [
    { address: "127.0.0.1", family: 4 },
    { address: "::1", family: 6 },
    { address: "::ffff:127.0.0.1", family: 6 },
    { address: "169.254.169.254", family: 4 },
  ]);
  t.match(await raw(`CONNECT a.example:${target.port} HTTP/1.1\r\nHost: x\r\n\r\n`), /^HTTP\/1\.1 403 /);
  t.match(
    await raw(`GET http://a.example:${target.port}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`),
    /^HTTP\/1\.1 403 /,
  );
  t.equal(denied.length, 2);
  t.same(target.requests, []);
  const open = await startProxy(
    t,
    [`a.example:${target.port}`],
    { network: true, private_addresses: ["127.0.0.0/8"] },
    async () => [{ address: "127.0.0.1", family: 4 }],
  );
  const tunnelled = `CONNECT a.example:${target.port} HTTP/1.1\r\nHost: x\r\n\r\nGET /in HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n`;
  t.match(await open.raw(tunnelled), /^HTTP\/1\.1 200 [^]*GET \/in /, "the operator may grant private ranges");
});

t.test("no spelling of an address gets past the check", async (t) => {
  const { raw } = await startProxy(t, ["*.example.org:80", "93.184.216.34:80"], { network: true });
  const spellings = [
    ...["127.0.0.1:80", "2130706433:80", "0x7f.1:80", "0177.0.0.1:80", "127.1:80", "[::1]:80", "[::ffff:7f00:1]:80"],
    ...["169.254.169.254:80", "[fd00:ec2::254]:80", "0:80", "[::]:80", "localhost:80", "metadata.google.internal:80"],
    ...["a.b.example.org:80", "example.org:80", "a.example.org:443", "a.example.org", "evil.test#a.example.org:80"],
    ...[
      "a.example.org@evil.test:80",
      "evil.test/a.example.org:80",
      "evil.test%00.example.org:80",
      "evil.test?.example.org:80",
    ],
    ...[`${"a".repeat(300)}.example.org:80`, "a.example.org:0", "a.example.org:65536", "a.example.org:80:80", ":80"],
  ];
  for (const authority of spellings) {
    t.match(await raw(`CONNECT ${authority} HTTP/1.1\r\nHost: x\r\n\r\n`), /^(HTTP\/1\.1 40[03] |$)/, authority);
  }
});

t.test("addresses are public or not", (t) => {
  const no = [
    "10.1.2.3",
    "172.31.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "127.9.9.9",
    "0.1.2.3",
    "224.0.0.1",
    "255.255.255.255",
  ];
  const six = [
    "::1",
    "::",
    "fe80::1",
    "fc00::1",
    "ff02::1",
    "::ffff:10.0.0.1",
    "64:ff9b::a00:1",
    "2002:a00:1::",
    "::10.0.0.1",
  ];
  for (const address of [...no, ...six, "169.254.169.254", "168.63.129.16", "fd00:ec2::254", "", "x"])
    t.notOk(isPublic(address), address);
  for (const address of ["93.184.216.34", "2606:2800:220:1::1", "::ffff:93.184.216.34"])
    t.ok(isPublic(address), address);
  t.end();
});

t.test("a request that could be read as two is refused, and one that is passed on is written anew", async (t) => {
  const target = await startTarget(t);
  const authority = `127.0.0.1:${target.port}`;
  const { raw } = await startProxy(t, [authority], { network: [authority] });
  const head = (lines: string[]) => [`POST http://${authority}/a HTTP/1.1`, ...lines, "", ""].join("\r\n");
  const smuggled = `GET http://${authority}/smuggled HTTP/1.1\r\nHost: x\r\n\r\n`;
  const ambiguous = {
    "both lengths": head(["Host: x", "Content-Length: 4", "Transfer-Encoding: chunked"]) + `0\r\n\r\n${smuggled}`,
    "two lengths": head(["Host: x", "Content-Length: 0", `Content-Length: ${smuggled.length}`]) + smuggled,
    "a length with a sign": head(["Host: x", "Content-Length: +4"]) + "abcd",
    "a coding that is none": head(["Host: x", "Transfer-Encoding: xchunked"]) + `0\r\n\r\n${smuggled}`,
    "a space before the colon": head(["Host: x", "Transfer-Encoding : chunked"]) + `0\r\n\r\n${smuggled}`,
    "a folded header": head(["Host: x", "X: a", " Transfer-Encoding: chunked"]) + `0\r\n\r\n${smuggled}`,
    "a bare line feed": `POST http://${authority}/a HTTP/1.1\nHost: x\nContent-Length: 0\n\n`,
    "a NUL in a header": head(["Host: x", "X: a\0b"]),
  };
  for (const text of Object.values(ambiguous)) await raw(text).catch(() => undefined);
  t.same(
    target.requests.filter(({ url }) => url !== "/a"),
    [],
  );
  t.same(target.requests.map(({ headers }) => headers["transfer-encoding"]).filter(Boolean), []);
  target.requests.length = 0;
  const passed = head([
    ...["Host: inner.example", "Content-Length: 4", "Connection: close, X-Hop", "X-Hop: 1", "X-End: 2"],
    ...["Proxy-Authorization: Basic eDp5", "Upgrade: h2c", "TE: trailers"],
  ]);
  t.match(await raw(`${passed}body`), /^HTTP\/1\.1 200 /);
  const [{ headers, body } = { headers: {}, body: "" }] = target.requests;
  t.match(headers, { host: authority, "x-end": "2" });
  t.equal(body, "body");
  for (const name of ["x-hop", "proxy-authorization", "upgrade", "te"]) t.notOk(name in headers, name);
  t.match(await raw("GET /relative HTTP/1.1\r\nHost: x\r\n\r\n"), /^HTTP\/1\.1 400 /);
  target.requests.length = 0;
  const chunked = head(["Host: x", "Transfer-Encoding: chunked", "Connection: close"]).replace("POST", "GET");
  await raw(`${chunked}${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`);
  t.match(target.requests, [{ method: "GET", url: "/a", body: smuggled }], "a body stays one, whatever the method");
  t.equal(target.requests.length, 1);
  t.match(await raw(`GET http://u:p@${authority}/ HTTP/1.1\r\nHost: x\r\n\r\n`), /^HTTP\/1\.1 400 /);
});

t.test("a granted host that answers what cannot be passed on gets a 502, and the proxy goes on", async (t) => {
  const answers = [
    "HTTP/1.1 000 X\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 1000 X\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nraw",
    "HTTP/1.1 200 OK\r\nX-Odd: \u0001\r\nContent-Length: 0\r\n\r\n",
    "nonsense\r\n\r\n",
  ];
  let asked = 0;
  const server = createTcpServer((socket) => {
    socket.on("error", () => undefined).once("data", () => socket.end(answers[asked++] ?? "", "latin1"));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  const authority = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { raw } = await startProxy(t, [authority], { network: [authority] });
  const head = `GET http://${authority}/ HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n`;
  const plain = `GET http://${authority}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
  for (const answer of answers) t.match(await raw(plain), /^HTTP\/1\.1 502 /, answer);
  t.match(await raw(head), /^HTTP\/1\.1 501 /, "a plugin cannot ask for another protocol");
});

t.test("names that are not granted are never looked up, and those that are only so often", async (t) => {
  const asked: string[] = [];
  const { raw } = await startProxy(t, ["*.example.org:80"], { network: true }, async (host) => {
    asked.push(host);
    return [{ address: "10.0.0.1", family: 4 }];
  });
  await raw("CONNECT secret-data.tunnel.attacker.test:80 HTTP/1.1\r\nHost: x\r\n\r\n");
  await raw("CONNECT secret.data.in.labels.example.org:80 HTTP/1.1\r\nHost: x\r\n\r\n");
  t.same(asked, []);
  for (let label = 0; label < 200; label++)
    await raw(`CONNECT data${label}.example.org:80 HTTP/1.1\r\nHost: x\r\n\r\n`);
  t.ok(asked.length >= 60 && asked.length < 80, `${asked.length} lookups`);
});

t.test("a tunnel ends with either end, and with its proxy", async (t) => {
  let open = 0;
  const server = createTcpServer((socket) => {
    open++;
    socket.on("error", () => undefined).on("close", () => open--);
    socket.pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  const authority = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { proxy, raw } = await startProxy(t, [authority], { network: [authority] });
  t.match(await raw(`CONNECT ${authority} HTTP/1.1\r\nHost: x\r\n\r\nechoed`, "echoed"), /^HTTP\/1\.1 200 [^]*echoed/);
  const held = connect(proxy.socket, () => held.write(`CONNECT ${authority} HTTP/1.1\r\nHost: x\r\n\r\n`));
  await new Promise((resolve) => held.once("data", resolve));
  const closed = new Promise((resolve) => held.once("close", resolve));
  await proxy[Symbol.asyncDispose]();
  await closed;
  const end = Date.now() + 5000;
  while (open > 0 && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 10));
  t.equal(open, 0);
  t.notOk(existsSync(proxy.socket));
});

t.test("nobody but the sandbox's user gets to the socket", async (t) => {
  const { proxy } = await startProxy(t, ["a.example:1"], { network: true });
  t.equal(statSync(dirname(proxy.socket)).mode & 0o077, 0);
  t.equal(statSync(proxy.socket).mode & 0o077, 0);
});

t.test(
  "the folder that a killed runtime left behind goes with the next one",
  { skip: !existsSync("/proc/1") },
  async (t) => {
    const left = join(tmpdir(), `sealift-net-${2 ** 22 + 1}-left`);
    mkdirSync(left);
    t.teardown(() => rmSync(left, { recursive: true, force: true }));
    const { proxy } = await startProxy(t, ["a.example:1"], { network: true });
    t.notOk(existsSync(left));
    t.ok(existsSync(proxy.socket));
  },
);
