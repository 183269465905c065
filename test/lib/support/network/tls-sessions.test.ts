// Holds: that the check of a certificate counts for resumed sessions no longer than it may
// (lib/support/network/tls-sessions.ts)
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from "node:tls";
import t, { type Test } from "tap";
import { prepareNetwork } from "../../../../commands/shell/network.ts";
import { exchange } from "../../../../lib/support/network/exchange.ts";
import { makeCertificate } from "../../../support/hub/certificate.ts";
import { until } from "../../../support/until.ts";

const trust = (...certificates: string[]): void => setDefaultCACertificates(certificates);

/** Serves until the end of the test. @returns its address, and whether each connection resumed a session */
async function serve(t: Test, pair: { key: string; cert: string }, more: { maxVersion?: "TLSv1.2" } = {}) {
  const resumed: boolean[] = [];
  const server: Server = createServer({ ...pair, ...more, sessionTimeout: 3 * 24 * 60 * 60 }, (_request, response) =>
    response.setHeader("connection", "close").end("here"),
  );
  server.on("secureConnection", (socket: TLSSocket) => resumed.push(socket.isSessionReused()));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => server.close());
  return { url: new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}`), resumed };
}

async function ask(url: URL): Promise<string> {
  const { body } = await exchange(url, { method: "GET", timeoutMs: 5000 });
  return (await body.toArray()).join("");
}

t.beforeEach(() => trust(...getCACertificates("bundled")));

for (const version of ["TLSv1.2", "TLSv1.3"] as const)
  t.test(`a later connection resumes the session of the one before, by ${version}`, async (t) => {
    const pair = makeCertificate();
    trust(pair.cert);
    const { url, resumed } = await serve(t, pair, version === "TLSv1.2" ? { maxVersion: version } : {});
    for (let time = 0; time < 3; time++) t.equal(await ask(url), "here");
    t.strictSame(resumed, [false, true, true]);
  });

t.test("a server that is no longer trusted is refused, though it would resume the session", async (t) => {
  const [pair, other] = [makeCertificate(), makeCertificate("other")];
  trust(pair.cert);
  const { url, resumed } = await serve(t, pair);
  await ask(url);
  await ask(url);
  trust(other.cert);
  const caFile = join(t.testdir(), "ca.pem");
  writeFileSync(caFile, other.cert);
  await prepareNetwork({ caFile, usesTls: true });
  await t.rejects(ask(url), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
  t.strictSame(resumed.slice(0, 2), [false, true]);
});

t.test("a certificate that has ended is refused, though its server would resume the session", async (t) => {
  const endsAt = Date.now() + 3000;
  const pair = makeCertificate("127.0.0.1", { endsAt });
  trust(pair.cert);
  const { url, resumed } = await serve(t, pair);
  await ask(url);
  await ask(url);
  t.strictSame(resumed, [false, true]);
  // OpenSSL knows the real time only; certificates have whole seconds.
  await until(() => Date.now() > endsAt + 1000);
  await t.rejects(ask(url), { code: "CERT_HAS_EXPIRED" });
});

t.test("a certificate is checked again after a day, however often its session was resumed", async (t) => {
  const pair = makeCertificate("127.0.0.1", { endsAt: Date.now() + 10 * 24 * 60 * 60 * 1000 });
  trust(pair.cert);
  const { url, resumed } = await serve(t, pair);
  const started = performance.now();
  let hours = 0;
  t.intercept(performance, "now", { value: () => started + hours * 60 * 60 * 1000 });
  for (hours of [0, 12, 23.9, 24.1]) await ask(url);
  t.strictSame(resumed, [false, true, true, false]);
});

t.test("a server whose certificate was refused leaves no session", async (t) => {
  const pair = makeCertificate();
  const { url, resumed } = await serve(t, pair);
  await t.rejects(ask(url), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
  trust(pair.cert);
  await ask(url);
  t.notOk(resumed.at(-1));
});
