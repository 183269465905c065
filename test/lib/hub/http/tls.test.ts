import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { chmod, writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { get } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { connect as connectTls, type TLSSocket } from "node:tls";
import fastify, { type FastifyInstance } from "fastify";
import { pino } from "pino";
import t, { type Test } from "tap";
import { Connections } from "../../../../lib/hub/http/connections.ts";
import { createHub, type Hub } from "../../../../lib/hub/hub.ts";
import { statsOf } from "../../../../lib/support/files.ts";
import { makeCertificate } from "../../../support/hub/certificate.ts";
import { createProject, publication, startHub } from "../../../support/hub/harness.ts";
import { trustedCertificate } from "../../../support/hub/lying-hub.ts";
import { until } from "../../../support/until.ts";

type Pair = ReturnType<typeof makeCertificate>;

/** One for all tests: of several certificates of one name a client would ask for the wrong one. */
const trusted = trustedCertificate();

/** A pair's files, and a function that writes another pair to them. */
async function filesOf(t: Test, pair: Pair) {
  const folder = t.testdir();
  const tls = { certFile: join(folder, "cert.pem"), keyFile: join(folder, "key.pem") };
  const write = async ({ cert, key }: Pair): Promise<void> => {
    await writeFile(tls.certFile, cert);
    await writeFile(tls.keyFile, key, { mode: 0o600 });
  };
  await write(pair);
  return { tls, write, dataDir: join(folder, "hub") };
}

/** A logger, and what it is given from `warn` on. */
function collector() {
  const lines: { level: number; err?: { code?: string } }[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[number]);
  return { lines, logger: pino({ level: "warn" }, { write }) };
}

async function shake(port: number, host = "127.0.0.1", session?: Buffer): Promise<TLSSocket> {
  const socket = connectTls({ host, port, session, rejectUnauthorized: false });
  await once(socket, "secureConnect");
  return socket.on("error", () => {});
}

const portOf = ({ app }: { app: FastifyInstance }): number => (app.server.address() as AddressInfo).port;

/** Whether a new client is shown this certificate. */
async function shows(hub: Hub, { cert }: Pair, host?: string): Promise<boolean> {
  const socket = await shake(portOf(hub), host);
  const shown = socket.getPeerX509Certificate()!.fingerprint256;
  socket.destroy();
  return shown === new X509Certificate(cert).fingerprint256;
}

t.test("a hub with a certificate serves https, and download URLs are https", async (t) => {
  const { tls, dataDir } = await filesOf(t, trusted);
  const hub = await startHub(t, { tls, dataDir });
  t.match(hub.url, /^https:\/\/127\.0\.0\.1:\d+$/);
  const project = await createProject(hub);
  t.equal((await project.publish(publication("1.0.0"))).status, 201);
  const path = `/app/deploy/v1/projects/${project.id}/artifacts/1.0.0`;
  const location = await hub.call("GET", path, { bearer: await project.session() });
  t.ok((location.body.download_url as string).startsWith(`${hub.url}/`));
  t.equal((await hub.call("GET", location.body.download_url as string, { key: null })).status, 200);
  await t.rejects(fetch(hub.url.replace("https:", "http:")), "plain HTTP gets no answer");
});

t.test("a client may resume its session for a day, until the certificate is read again", async (t) => {
  const { tls, dataDir } = await filesOf(t, trusted);
  const { hub } = await startHub(t, { tls, dataDir });
  const socket = await shake(portOf(hub));
  const [session] = (await once(socket, "session")) as [Buffer];
  socket.destroy();
  // Field [9] of OpenSSL's SSL_SESSION: the lifetime that the server gave, in seconds.
  const lifetime = Buffer.from("a9050203015180", "hex");
  t.ok(session.includes(lifetime));
  const resumes = async (): Promise<boolean> => {
    const again = await shake(portOf(hub), "127.0.0.1", session);
    const isResumed = again.isSessionReused();
    again.destroy();
    return isResumed;
  };
  t.ok(await resumes());
  await hub.reload();
  t.notOk(await resumes());
});

t.test("a pair that cannot be used is refused before the hub makes anything", async (t) => {
  const good = makeCertificate();
  const sealed = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({
    ...({ type: "pkcs8", format: "pem" } as const),
    ...{ cipher: "aes-256-cbc", passphrase: "secret" },
  });
  for (const [what, pair, mode] of [
    ["another certificate's key", { ...good, key: makeCertificate().key }],
    ["no certificate", { ...good, cert: "nonsense" }],
    ["no key", { ...good, key: "nonsense" }],
    ["a key with a passphrase", { ...good, key: sealed }],
    ["a key that everyone may read", good, 0o644],
    ["a key that everyone may write", good, 0o602],
  ] as const) {
    const { tls, dataDir, write } = await filesOf(t, good);
    await write(pair);
    if (mode !== undefined) await chmod(tls.keyFile, mode);
    await t.rejects(createHub({ dataDir, tls }), { code: "tls_invalid" }, what);
    t.equal(await statsOf(dataDir), undefined, what);
  }
  const { tls, dataDir } = await filesOf(t, good);
  await t.rejects(createHub({ dataDir, tls: { ...tls, certFile: "/nowhere" } }), { code: "tls_invalid" });
  await t.rejects(createHub({ dataDir, tls: { ...tls, keyFile: "/nowhere" } }), { code: "tls_invalid" });
  await chmod(tls.keyFile, 0o640);
  await (await createHub({ dataDir, tls })).close();
});

t.test("a certificate that has expired is told in the log", async (t) => {
  const { tls, dataDir, write } = await filesOf(t, makeCertificate("hub", { endsAt: Date.now() - 1000 }));
  const { lines, logger } = collector();
  const hub = await createHub({ tls, dataDir, logger });
  t.teardown(() => hub.close());
  t.match(lines, [{ level: 40 }]);
  await write(makeCertificate());
  await hub.reload();
  t.equal(lines.length, 1);
});

t.test("a rotation cuts no download, and a pair that cannot be used changes nothing", async (t) => {
  const first = trusted;
  const second = makeCertificate();
  const { tls, dataDir, write } = await filesOf(t, first);
  const { lines, logger } = collector();
  const hub = await startHub(t, { tls, dataDir, logger });
  const project = await createProject(hub);
  const what = publication("1.0.0", { size: 16_000_000 });
  await project.publish(what);
  const path = `/app/deploy/v1/projects/${project.id}/artifacts/1.0.0`;
  const location = await hub.call("GET", path, { bearer: await project.session() });
  const [download] = (await once(
    get(location.body.download_url as string, { ca: first.cert, agent: false }),
    "response",
  )) as [IncomingMessage];

  await write(second);
  t.ok(await shows(hub.hub, first), "until SIGHUP");
  await hub.hub.reload();
  t.ok(await shows(hub.hub, second));
  await write({ ...second, key: first.key });
  await hub.hub.reload();
  t.ok(await shows(hub.hub, second));
  t.match(lines, [{ level: 50, err: { code: "tls_invalid" } }]);
  t.ok((await buffer(download)).equals(what.bytes));
});

t.test("all addresses of a name show the new certificate", async (t) => {
  const second = makeCertificate();
  const { tls, dataDir, write } = await filesOf(t, makeCertificate());
  const { hub, url } = await startHub(t, { tls, dataDir, listen: { host: "localhost", port: 0 } });
  t.match(url, /^https:/);
  await write(second);
  await hub.reload();
  for (const { address } of await lookup("localhost", { all: true })) t.ok(await shows(hub, second, address), address);
});

t.test("a client that never ends its handshake does not keep a hub from closing", async (t) => {
  const { tls, dataDir } = await filesOf(t, makeCertificate());
  const { hub } = await startHub(t, { tls, dataDir });
  const socket = connect(portOf(hub), "127.0.0.1");
  t.teardown(() => socket.destroy());
  const accepted = once(hub.app.server, "connection");
  await once(socket, "connect");
  await accepted;
  const closed = once(socket.resume(), "close");
  const begun = performance.now();
  await hub.close();
  await closed;
  t.ok(performance.now() - begun < 5000);
});

t.test("connections are counted, and closed in favour of others, with TLS too", async (t) => {
  const connections = new Connections(4);
  const app = fastify({ https: makeCertificate() }) as unknown as FastifyInstance;
  t.teardown(() => app.close());
  connections.attach(app);
  app.get("/", (request) => {
    connections.vouch(request);
    return "ok";
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const port = portOf({ app });
  const own = await shake(port);
  t.teardown(() => own.destroy());
  own.write("GET / HTTP/1.1\r\nHost: hub\r\n\r\n");
  await once(own, "data");
  t.match(connections.numbers, { open: 1, vouched: 1 });

  const strangers: TLSSocket[] = [];
  for (let count = 0; count < 6; count++) strangers.push(await shake(port));
  t.match(connections.numbers, { open: 4, vouched: 1, shed: 3 });
  own.write("GET / HTTP/1.1\r\nHost: hub\r\n\r\n");
  await once(own, "data");
  for (const socket of [...strangers, own]) socket.destroy();
  await until(() => connections.numbers.open <= 0);
  t.match(connections.numbers, { open: 0, vouched: 0 });
});
