/**
 * `npm run build && node scripts/load/streams.ts --streams 10000`: opens streams of hints of one project at the built
 * hub, publishes some versions, and polls meanwhile as a fleet of that size does once a minute. Prints the time from
 * the beginning of a publication to each hint, the times of the polls without and with the streams, and the hub's
 * memory; exits with 1 when a hint did not come. `--database-url` gives the hub a PostgreSQL.
 */
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { DeployClient } from "../../lib/client/deploy-client.ts";
import { keyService } from "../../lib/client/key-service.ts";
import { followChanges } from "../../lib/contract/changes/routes.ts";
import { pathOf } from "../../lib/contract/surfaces/paths.ts";
import { descriptors } from "../../lib/support/descriptors.ts";
import { scriptArguments } from "../arguments.ts";
import { peakMbOf } from "../bench/measure.ts";
import { serveHub } from "../bench/stage.ts";
import { timesLine } from "../bench/statistics.ts";
import { randomPublisher } from "./publisher.ts";

const { values } = scriptArguments(import.meta.filename, {
  options: {
    streams: { type: "string", default: "10000" },
    publications: { type: "string", default: "10" },
    "database-url": { type: "string" },
  },
});
const streams = Number(values.streams);
const publications = Number(values.publications);
const { "database-url": databaseUrl } = values;
/**
 * Descriptors of a hub per stream, when all of them are one owner's, who may have three quarters of the streams, which
 * may have three quarters of the room.
 */
const DESCRIPTORS_PER_STREAM = 16 / 9;
const DESCRIPTORS_BESIDE = 200;
/** Streams opened at a time. */
const BATCH = 100;
/** Interval of publications, in milliseconds. */
const EACH_MS = 4000;
const POLLS_PER_SECOND = Math.ceil(streams / 60);

/** Opens a stream, and calls `onHint` with each hint. Resolves when the hub has answered. */
async function openStream(request: string, port: number, onHint: () => void): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  const answered = Promise.withResolvers<void>();
  socket.on("data", (chunk: Buffer) => {
    const text = chunk.toString("latin1");
    if (text.startsWith("HTTP/1.1 ") && !text.startsWith("HTTP/1.1 200"))
      answered.reject(new Error(text.slice(0, 300)));
    answered.resolve();
    if (text.includes("event: changed")) onHint();
  });
  socket.on("error", answered.reject);
  socket.write(request);
  await answered.promise;
  return socket;
}

const limit = (await descriptors())?.limit ?? Infinity;
if (limit < streams * DESCRIPTORS_PER_STREAM + DESCRIPTORS_BESIDE) {
  const most = Math.floor((limit - DESCRIPTORS_BESIDE) / DESCRIPTORS_PER_STREAM);
  console.error(`This shell may open ${limit} files: raise \`ulimit -n\`, or measure at most --streams ${most}.`);
  process.exit(2);
}

const folder = await mkdtemp(join(tmpdir(), "sealift-streams-"));
const sockets: Socket[] = [];
try {
  const database = databaseUrl === undefined ? [] : ["--database-url", databaseUrl];
  await using hub = await serveHub(join(folder, "hub"), ["--rate-limit", "0", ...database]);
  const connection = { hubUrl: hub.url, apiKey: hub.admin.SEALIFT_API_KEY, timeoutMs: 30_000 };
  const keys = keyService(connection);
  const project = await keys.createProject({ body: { name: "Load", kind: "project" } });
  const key = await keys.createKey({
    body: { name: "load", project_id: project.id, scopes: ["deploy", "report", "read"] },
  });
  const publish = randomPublisher(connection, { projectId: project.id, folder, bytes: 20_000, onError: console.error });
  await publish("1.0.0");

  const client = new DeployClient(project.id, { ...connection, apiKey: key.key });
  const first = await client.latestIfChanged(undefined);
  const etag = first.changed ? first.etag : undefined;
  /** Polls as a fleet does, for a time. @returns the duration of each poll */
  const poll = async (forMs: number): Promise<number[]> => {
    const times: number[] = [];
    const asked: Promise<void>[] = [];
    for (const end = performance.now() + forMs; performance.now() < end; await sleep(1000 / POLLS_PER_SECOND)) {
      const begun = performance.now();
      asked.push(client.latestIfChanged(etag).then(() => void times.push(performance.now() - begun)));
    }
    await Promise.all(asked);
    return times;
  };
  await poll(2000);
  console.log(timesLine("polls without streams", await poll(10_000)));

  const { port, host } = new URL(connection.hubUrl);
  const path = `${pathOf(followChanges)}?targets=project:${project.id}`;
  const request = `GET ${path} HTTP/1.1\r\nhost: ${host}\r\nx-api-key: ${key.key}\r\n\r\n`;
  let publishedAt = 0;
  let hints: number[] = [];
  const begun = performance.now();
  while (sockets.length < streams) {
    const size = Math.min(BATCH, streams - sockets.length);
    const onHint = (): void => void hints.push(performance.now() - publishedAt);
    sockets.push(...(await Promise.all(Array.from({ length: size }, () => openStream(request, Number(port), onHint)))));
  }
  console.log(`${sockets.length} streams after ${((performance.now() - begun) / 1000).toFixed(1)} s`);
  await sleep(2000);
  console.log(timesLine("polls with streams", await poll(10_000)));

  let missed = 0;
  const all: number[] = [];
  const polling = poll(publications * EACH_MS);
  for (let number = 1; number <= publications; number++) {
    hints = [];
    publishedAt = performance.now();
    await publish(`1.${number}.0`);
    await sleep(Math.max(publishedAt + EACH_MS - performance.now(), 0));
    missed += streams - hints.length;
    all.push(...hints);
  }
  console.log(timesLine("from a publication to a hint", all));
  console.log(timesLine("polls while hints are sent", await polling));
  console.log(`peak memory of the hub: ${peakMbOf(hub.process.pid!)} MB`);
  console.log(`hints that did not come: ${missed}`);
  if (missed !== 0) process.exitCode = 1;
} finally {
  for (const socket of sockets) socket.destroy();
  await Promise.all(sockets.filter(({ closed }) => !closed).map((socket) => once(socket, "close")));
  await rm(folder, { recursive: true, force: true });
}
