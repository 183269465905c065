import { request as httpRequest } from "node:http";
import type { Test } from "tap";
import { createMirror, type MirrorOptions } from "../../../lib/mirror/mirror.ts";
import { createLogger } from "../../../lib/support/logging.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { type Door, startDoor } from "./door.ts";
import { createProject, publication, type RunningHub, startHub } from "./harness.ts";

/** A hub whose requests are counted, and artifacts on it. */
export async function countedHub(t: Test): Promise<CountedHub> {
  const hub = await startHub(t);
  const door = await startDoor(t);
  door.hub = hub.url;
  const project = await createProject(hub);
  return {
    ...{ hub, door },
    async publish(version, size = 300_000) {
      const what = publication(version, { size });
      await project.publish(what);
      const bearer = await project.session();
      const locate = async (): Promise<string> => {
        const path = `/app/deploy/v1/projects/${project.id}/artifacts/${version}`;
        const { body } = await hub.call("GET", path, { bearer });
        const { pathname, search } = new URL(body.download_url as string);
        return pathname + search;
      };
      return { bytes: what.bytes, path: await locate(), locate };
    },
    downloads: () => door.passages.filter(({ headers }) => headers.range !== "bytes=0-0"),
  };
}

interface CountedHub {
  hub: RunningHub;
  door: Door;
  /** Publishes random bytes. `path` is that of a download URL; `locate` makes another one. */
  publish: (version: string, size?: number) => Promise<{ bytes: Buffer; path: string; locate: () => Promise<string> }>;
  /** Requests for more than the byte by which a mirror asks for permission. */
  downloads: () => Door["passages"];
}

/** Starts a mirror; it ends with the test, or when it is closed. */
export async function startMirror(t: Test, hubUrl: string, more: Partial<MirrorOptions> = {}) {
  const cacheDir = more.cacheDir ?? temporaryFolder(t);
  const mirror = await createMirror({
    ...{ hubUrl, cacheDir, quotaBytes: 10_000_000, timeoutMs: 20_000 },
    listen: { host: "127.0.0.1", port: 0 },
    logger: createLogger({ name: "mirror", level: "silent" }),
    ...more,
  });
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => (closed ??= mirror.close());
  t.teardown(close);
  return { url: await mirror.listen(), metricsUrl: mirror.metricsUrl, cacheDir, close };
}

interface Got {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  bytes: Buffer;
}

/** One request on a connection of its own, with the whole answer. Rejects when the answer ends early. */
export function get(url: string, headers: Record<string, string> = {}, method = "GET"): Promise<Got> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, headers, agent: false }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.on("error", reject);
      answer.on("end", () =>
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, bytes: Buffer.concat(chunks) }),
      );
    });
    request.on("error", reject).end();
  });
}
