// Only in test:all: every program against each oddity of a server.
// In a process of its own: it trusts a certificate, and closes idle connections of the whole process.
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import t, { type Test } from "tap";
import * as z from "zod";
import { followHints } from "../../../lib/client/hint-stream.ts";
import { bodyOf, type HttpRequest, send, transportError } from "../../../lib/client/http.ts";
import { call } from "../../../lib/client/json-request.ts";
import { SealiftError } from "../../../lib/contract/errors.ts";
import { Destinations } from "../../../lib/hub/base/destinations.ts";
import { fetchArchive } from "../../../lib/hub/features/import/fetch-archive.ts";
import { SourceHosts } from "../../../lib/hub/features/import/source-hosts.ts";
import { SignOn } from "../../../lib/hub/features/sign-on/sign-on.ts";
import { post } from "../../../lib/hub/features/webhooks/exchange.ts";
import { Exporter } from "../../../lib/support/tracing/exporter.ts";
import { trustedCertificate } from "../../support/hub/lying-hub.ts";
import { get, startMirror } from "../../support/hub/mirrored.ts";
import { ODD_NAMES, type OddName, type OddServer, startOdd } from "../../support/odd-servers.ts";

/** Milliseconds after which a client is held to wait for ever: a busy machine is slow. */
const NEVER_MS = 60_000;
/** Bytes that readers take. */
const MAX_BYTES = 1_000_000;
/** Servers that are asked at a time where no time limit ends the exchange. */
const AT_ONCE = 4;

interface Limits {
  timeoutMs: number;
  leastRate: { bytesPerSecond: number; overMs: number };
}

/** Limits that end nothing before the test fails: only the event that a server makes can end an exchange. */
const UNLIMITED: Limits = { timeoutMs: 10 * NEVER_MS, leastRate: { bytesPerSecond: 1, overMs: 10 * NEVER_MS } };
/** For silent servers. Long enough for the head of an answer on a busy machine. */
const TIMED: Limits = { ...UNLIMITED, timeoutMs: 2500 };
const RATED: Limits = { ...UNLIMITED, leastRate: { bytesPerSecond: 10_000, overMs: 300 } };

/** Servers that only a time limit ends, and that limit. Signing on has one of its own, of ten seconds. */
const ENDED_BY_LIMITS: Partial<Record<OddName, Limits>> = {
  "1xx and silence": TIMED,
  silence: TIMED,
  "half a head and silence": TIMED,
  "a head that drips": TIMED,
  "a head and silence": TIMED,
  "a body that stops": TIMED,
  "a body that drips": RATED,
};

interface Asking {
  limits: Limits;
  signal: AbortSignal;
  t: Test;
}

const anything = z.looseObject({});

/** Asks a server, and says in few words how that ended. */
type Client = (url: string, asking: Asking) => Promise<string>;

async function* threePieces(): AsyncGenerator<Buffer> {
  for (let piece = 0; piece < 3; piece++) yield Buffer.alloc(1000);
}

const CLIENT_NAMES = [
  "json",
  "bytes",
  "upload",
  "hints",
  "webhook",
  "importing",
  "traces",
  "mirror",
  "sign-on",
] as const;
type ClientName = (typeof CLIENT_NAMES)[number];

const CLIENTS: Record<ClientName, Client> = {
  async json(url, { limits, signal }) {
    await call({ operation: "keys", method: "POST", url, json: { a: 1 } }, anything, { ...limits, signal });
    return "done";
  },
  async bytes(url, { limits, signal }) {
    const request: HttpRequest = { operation: "download", method: "GET", url };
    const transport = { ...limits, signal };
    const answer = await send(request, transport);
    let bytes = 0;
    try {
      for await (const chunk of bodyOf(answer, request)) if ((bytes += chunk.length) > MAX_BYTES) return "too many";
    } catch (error) {
      throw transportError(error, request, answer.url, transport);
    } finally {
      answer.discard();
    }
    return `${bytes} bytes`;
  },
  async upload(url, { limits, signal }) {
    const form = () => ({ contentType: "text/plain", length: undefined, bytes: threePieces() });
    await call({ operation: "publish", method: "POST", url, form }, anything, { ...limits, signal });
    return "done";
  },
  async hints(url, { limits, signal }) {
    const hub = { ...limits, hubUrl: url, apiKey: "slk_key", signal };
    await followHints(["plugin:tide"], hub, { silenceMs: limits.timeoutMs, onOpen: () => {}, onHint: () => {} });
    return "done";
  },
  async webhook(url, { limits, signal }) {
    const message = {
      headers: {},
      body: "{}",
      signal: AbortSignal.any([signal, AbortSignal.timeout(limits.timeoutMs)]),
    };
    const outcome = await post(new Destinations(["127.0.0.1"]), new URL(url), message);
    return outcome.kind === "failed" ? outcome.error : outcome.kind;
  },
  async importing(url, { limits, signal }) {
    const host = { shape: "github", origin: url } as const;
    const sources = { sourceHosts: new SourceHosts([host]), maxArtifactBytes: MAX_BYTES, logger: undefined };
    let bytes = 0;
    for await (const chunk of fetchArchive(sources, host, "acme/tide@v1", { ...limits, signal })) bytes += chunk.length;
    return `${bytes} bytes`;
  },
  async traces(url, { limits }) {
    const warnings: string[] = [];
    const { timeoutMs } = limits;
    const settings = { url: new URL(url), headers: {}, timeoutMs, resource: {}, sampler: () => true };
    const exporter = new Exporter({ ...settings, parent: undefined }, "1", (message) => void warnings.push(message));
    const context = { traceId: "a".repeat(32), spanId: "b".repeat(16), isSampled: true, state: "" };
    const span = { context, parentId: undefined, name: "work", kind: 1, startMs: 0, endMs: 1 } as const;
    exporter.add({ ...span, attributes: {}, isFailed: false });
    // Closing waits for two seconds, and says what it lost then; the exchange goes on.
    const cause = (): string | undefined => warnings.find((warning) => !warning.includes("were lost"));
    let known = -1;
    while (cause() === undefined && warnings.length > known) {
      known = warnings.length;
      await exporter.close();
    }
    return cause() ?? "done";
  },
  async mirror(url, { limits, t }) {
    const mirror = await startMirror(t, url, limits);
    const path = "/app/deploy/v1/downloads/art_1?expires=9999999999&signature=ab";
    const answer = await get(mirror.url + path).catch(() => ({ status: "broken off" }));
    await mirror.close();
    return String(answer.status);
  },
  async "sign-on"(url) {
    const client = { issuer: url, clientId: "hub", clientSecret: undefined, scope: "openid", claim: "groups" };
    const signOn = new SignOn({ ...client, grants: [] }, randomBytes(32), Date.now);
    await signOn.begin("http://127.0.0.1/sign-in/oidc", "/");
    return "done";
  },
};

/** `ours` is for the clients of hubs: json, bytes, upload and hints. */
type Row = Partial<Record<ClientName | "ours", string | RegExp>>;

const LOST: Row = { ours: "connection_failed", webhook: /ECONNRESET/, importing: /be reached/, traces: /ECONNRESET/ };
const SILENT: Row = {
  ours: "timed_out",
  webhook: /took too long/,
  importing: /be reached/,
  traces: /not answer in time/,
};
const BROKEN: Row = { ours: "connection_failed", webhook: /HPE_/, importing: /be reached/, traces: /HPE_/ };
const SWITCHED: Row = {
  ...{ ours: "bad_answer", webhook: /^the receiver answered 101 Switching Protocols to a plain request$/ },
  ...{ importing: /^The source host \S+ answered 101/, traces: /takes none: it answered 101/ },
};
/** Outcomes of clients for which only the head counts. */
const HEAD_COUNTS: Row = { hints: "bad_answer", webhook: "delivered", traces: "done" };
const BREAKS_OFF: Row = { importing: /broke off/, mirror: "broken off" };
const REDIRECTED: Row = { importing: /not on this hub's list/, traces: /it answered 307/ };

/** Outcomes of clients that end alike in nearly every row. */
const OTHERWISE: Row = { mirror: "502", "sign-on": "The identity provider does not answer; try again in a moment." };

const EXPECTED: Record<OddName, Row> = {
  "101": SWITCHED,
  "101 without a protocol": SWITCHED,
  "a flood of 1xx": {
    ...{ ours: "bad_answer", webhook: /sent more than 16 informational answers/ },
    ...{ importing: /sent more than 16/, traces: /sent more than 16/ },
  },
  "1xx and silence": SILENT,
  silence: SILENT,
  "an end before the head": LOST,
  "a reset before the head": LOST,
  "half a head": LOST,
  "half a head and silence": SILENT,
  "a head that drips": SILENT,
  "an endless head": BROKEN,
  "a head and silence": { ours: "timed_out", ...HEAD_COUNTS, ...BREAKS_OFF },
  "a body shorter than its length": { ours: "connection_failed", ...HEAD_COUNTS, ...BREAKS_OFF },
  "a body longer than its length": {
    ...{ json: "connection_failed", bytes: "2 bytes", upload: "bad_answer" },
    ...{ ...HEAD_COUNTS, importing: "2 bytes", mirror: "200" },
  },
  "two lengths": BROKEN,
  "a body that drips": { ours: "too_slow", ...HEAD_COUNTS, importing: /too slowly/, mirror: "broken off" },
  "a body that stops": { ours: "timed_out", ...HEAD_COUNTS, ...BREAKS_OFF },
  "a body that is reset": { ours: "connection_failed", ...HEAD_COUNTS, ...BREAKS_OFF },
  "an endless body": { ours: "bad_answer", bytes: "too many", ...HEAD_COUNTS, importing: /is larger than/ },
  "gzip that nobody asked for": {
    ...{ json: "done", bytes: /^\d\d bytes$/, upload: "bad_answer" },
    ...{ ...HEAD_COUNTS, importing: /^\d\d bytes$/, mirror: "200" },
  },
  "a redirect to itself": { ...REDIRECTED, ours: "redirect_loop", webhook: /not followed: loop/ },
  "redirects without an end": { ...REDIRECTED, ours: "redirect_loop", webhook: /not followed: too_many/ },
  // Clients of hubs follow it, and leave their keys behind.
  "a redirect to another address": {
    ...{ ...REDIRECTED, json: "done", bytes: "2 bytes", upload: "done", hints: "bad_answer" },
    ...{ webhook: /must begin with https/, mirror: "200" },
  },
  "a redirect down to http": { ...REDIRECTED, ours: "redirect_insecure", webhook: /not followed: insecure/ },
  "two answers at once": {
    ...{ json: "connection_failed", bytes: "2 bytes", upload: "done" },
    ...{ ...HEAD_COUNTS, importing: "2 bytes", mirror: "200" },
  },
};

const STRAYING: readonly ClientName[] = ["json", "bytes", "upload", "hints", "mirror"];
const tls = trustedCertificate();
const wordsFor = (error: unknown): string => (error instanceof SealiftError ? error.code : (error as Error).message);
const never = (): Promise<string> => sleep(NEVER_MS, "it never settled", { ref: false });

/** Returns the limit that ends an exchange; undefined where what the server does ends it. */
const limitOf = (client: ClientName, name: OddName): Limits | undefined =>
  client in HEAD_COUNTS && EXPECTED[name][client] === HEAD_COUNTS[client] ? undefined : ENDED_BY_LIMITS[name];

/** Asks an odd server, and checks how that ended and what it left behind. */
async function check(t: Test, client: ClientName, name: OddName, odd: OddServer): Promise<void> {
  const what = `${client}: ${name}`;
  const asking: Asking = { limits: limitOf(client, name) ?? UNLIMITED, signal: new AbortController().signal, t };
  const outcome = await Promise.race([CLIENTS[client](odd.url, asking).catch(wordsFor), never()]);
  const row = EXPECTED[name];
  const expected = row[client] ?? OTHERWISE[client] ?? row.ours ?? "?";
  t.match(outcome, typeof expected === "string" ? new RegExp(`^${expected}$`) : expected, what);
  await t.resolves(odd.closed(), `${what}: nothing is open`);
  const mayStray = name === "a redirect to another address" && STRAYING.includes(client);
  t.ok(odd.requests > 0 && (mayStray || odd.strays === 0), `${what}: ${odd.strays} connections elsewhere`);
}

for (const client of CLIENT_NAMES) {
  void t.test(`what a server does ends ${client} without a time limit, and leaves no connection`, async (t) => {
    const names = ODD_NAMES.filter((name) => limitOf(client, name) === undefined).values();
    const worker = async (): Promise<void> => {
      for (const name of names) await check(t, client, name, await startOdd(t, name, tls));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  });
}

t.test("a server that is silent or too slow ends every client at its limit, and leaves no connection", async (t) => {
  const checks: Promise<void>[] = [];
  for (const client of CLIENT_NAMES)
    for (const name of ODD_NAMES.filter((each) => limitOf(client, each) !== undefined)) {
      const odd = await startOdd(t, name, tls);
      const checked = check(t, client, name, odd);
      checks.push(checked);
      // One after the other begins, so that none uses up its limit while others connect.
      await Promise.race([odd.until(1), checked]);
    }
  await Promise.all(checks);
});

t.test("an abort ends an exchange at any point", async (t) => {
  const points = ODD_NAMES.filter((name) => name in ENDED_BY_LIMITS || name === "an endless body");
  const aborted: ClientName[] = ["json", "bytes", "upload", "webhook", "importing"];
  await Promise.all(
    points.flatMap((name) =>
      aborted.map(async (client) => {
        const odd = await startOdd(t, name, tls);
        const abort = new AbortController();
        const asking = { limits: UNLIMITED, signal: abort.signal, t };
        const running = CLIENTS[client](odd.url, asking).catch(wordsFor);
        await odd.until(1);
        abort.abort();
        const outcome = await Promise.race([running, never()]);
        t.not(outcome, "it never settled", `${client}: ${name}`);
        await t.resolves(odd.closed(), `${client}: ${name}: nothing is open`);
      }),
    ),
  );
});
