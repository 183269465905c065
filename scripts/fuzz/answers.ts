import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { isDeepStrictEqual } from "node:util";
import { DeployClient } from "../../lib/client/deploy-client.ts";
import { readFleet } from "../../lib/client/fleet.ts";
import type { HubConnection } from "../../lib/client/hub-connection.ts";
import { MarketplaceClient } from "../../lib/client/marketplace-client.ts";
import { faultOfError } from "./error-text.ts";
import { type Cases, fuzzEach, type Outcome, type Verdict } from "./outcome.ts";
import { mutated, Random } from "./random.ts";
import { type Json, notPlain, setOwn, someObject, someValue } from "./values.ts";

const PROJECT = "prj_0123456789";
const SECRET = "an-api-key-that-nobody-may-see";
const AUTH_PATH = /\/v1\/auth$/;
const base64 = (bytes: number): string => Buffer.alloc(bytes, 7).toString("base64");

/** Statuses that end an exchange at once: others are retried after a while. */
const REFUSED = [400, 401, 403, 409, 413, 422];

interface Read {
  /** Correct answer, which is mutated. */
  sound: { [key: string]: Json };
  /** Reads the answer with the product. */
  read: (hub: AnsweringHub) => Promise<unknown>;
  /** Reading of any JSON parser, to compare with; undefined where the schema takes a part of it. */
  expected?: (value: Json) => unknown;
}

const HOST = { version: "1.0.0", status: "success", error_message: null, completed_at: "2026-01-01T00:00:00Z" };

const READS: Read[] = [
  {
    sound: { version: "1.2.3" },
    read: (hub) => hub.deploying.latestVersion(),
    expected: (value) => (value as { version: Json }).version,
  },
  {
    sound: {
      download_url: "http://127.0.0.1:9/artifact",
      ...{ signature: base64(64), signer_public_key: base64(32), size_bytes: 10, is_yanked: false },
    },
    read: (hub) => hub.deploying.locate("1.2.3"),
  },
  { sound: { dek: base64(32) }, read: (hub) => hub.deploying.authorize("credential", base64(64)) },
  {
    sound: { access_token: "token", expires_in: 900 },
    read: (hub) => new DeployClient(PROJECT, hub.connection).authenticate(),
  },
  {
    sound: { latest_version: "1.2.3", name: "Shop", versions: [{ version: "1.2.3", is_yanked: false }] },
    read: (hub) => new MarketplaceClient("plugin", "shop", hub.connection).detail(),
  },
  {
    sound: { "host-1": HOST, "host-2": { ...HOST, status: "failed", error_message: "no" } },
    read: fleetOf,
    expected: fleetIn,
  },
];

const FIELDS = ["version", "status", "error_message", "completed_at", "running_version"] as const;
/** Returns the fields of a host that the product names, as own members. */
const hostFields = (record: object): unknown =>
  FIELDS.map((field) => (Object.hasOwn(record, field) ? (record as Record<string, unknown>)[field] : undefined));

async function fleetOf(hub: AnsweringHub): Promise<unknown> {
  const found = new Map<string, unknown>();
  const { hosts } = await readFleet({ kind: "project", slug: PROJECT }, hub.connection);
  for await (const host of hosts) found.set(host.host_id, hostFields(host));
  return found;
}

function fleetIn(value: Json): unknown {
  return new Map(Object.entries(value as object).map(([id, record]) => [id, hostFields(record as object)]));
}

/** Hub that answers whatever it is told, and accepts every key. */
class AnsweringHub implements AsyncDisposable {
  readonly deploying: DeployClient;
  readonly connection: HubConnection;
  readonly #server: Server;
  answer: { status: number; body: Buffer; always: boolean } = { status: 200, body: Buffer.from("{}"), always: false };

  private constructor(server: Server) {
    this.#server = server;
    const { port } = server.address() as AddressInfo;
    this.connection = { hubUrl: `http://127.0.0.1:${port}`, apiKey: SECRET, timeoutMs: 30_000 };
    this.deploying = new DeployClient(PROJECT, this.connection);
  }

  static async start(): Promise<AnsweringHub> {
    const server = createServer((request, response) => {
      const { status, body, always } = hub.answer;
      const isLogin = AUTH_PATH.test(request.url!) && !always;
      response.writeHead(isLogin ? 200 : status, { "content-type": "application/json" });
      response.end(isLogin ? JSON.stringify({ access_token: "token" }) : body);
      request.resume();
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const hub = new AnsweringHub(server);
    return hub;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

/** Makes an answer: the correct one with other members, any value, or either with a few bytes changed. */
function someAnswer({ sound }: Read, random: Random): Buffer {
  const value: Json = random.once(6) ? someValue(random) : { ...sound };
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    for (let changes = random.below(3); changes > 0; changes--) {
      const key = random.once(2)
        ? random.pick(Object.keys(sound))
        : random.pick(["__proto__", "constructor", "error", "code"]);
      setOwn(
        value,
        key,
        random.once(8) ? `${SECRET} \u001b[2J\u2028` : random.once(4) ? someObject(random) : someValue(random),
      );
    }
  }
  const text = Buffer.from(JSON.stringify(value));
  if (random.once(3)) return text;
  if (random.once(10)) return Buffer.from("[".repeat(random.below(100_000)));
  if (random.once(10)) return Buffer.concat([text, Buffer.from(random.pick(["{}", ",", "]", "\0", "x", " \n"]))]);
  return mutated(text, random, 4);
}

/** Returns the answer as any JSON parser reads it; undefined when it is not JSON. */
function parsed(body: Buffer): { value: Json } | undefined {
  try {
    return { value: JSON.parse(body.toString("utf8")) as Json };
  } catch {
    return undefined;
  }
}

async function judge(hub: AnsweringHub, { read, expected }: Read): Promise<Verdict> {
  let got: unknown;
  try {
    got = await read(hub);
  } catch (error) {
    const why = faultOfError(error, SECRET);
    return why === undefined ? { accepted: false } : { why };
  }
  const strange = got instanceof Map || got instanceof Uint8Array || got === undefined ? undefined : notPlain(got);
  if (strange !== undefined) return { why: strange };
  const theirs = parsed(hub.answer.body);
  if (theirs === undefined) return { why: "no JSON parser takes what is accepted" };
  if (expected !== undefined && !isDeepStrictEqual(got, expected(theirs.value)))
    return { why: "a JSON parser reads it in another way" };
  return { accepted: true };
}

/** Sends many random answers to the product's clients, over a real connection. */
export async function fuzzAnswers(cases: Cases): Promise<Outcome> {
  await using hub = await AnsweringHub.start();
  return await fuzzEach(cases, async (at) => {
    const random = new Random(at);
    const read = random.pick(READS);
    const body = someAnswer(read, random);
    hub.answer = { status: random.once(5) ? random.pick(REFUSED) : 200, body, always: "access_token" in read.sound };
    return { ...(await judge(hub, read)), kind: "json", bytes: body };
  });
}

/** Judges one answer, as a success and as an error, read by each of the product's clients. */
export async function judgeAnswer(body: Buffer): Promise<Verdict> {
  await using hub = await AnsweringHub.start();
  let accepted = false;
  for (const read of READS)
    for (const status of [200, 403]) {
      hub.answer = { status, body, always: "access_token" in read.sound };
      const verdict = await judge(hub, read);
      if ("why" in verdict) return verdict;
      accepted ||= verdict.accepted;
    }
  return { accepted };
}
