import { tellMeasured } from "../../support/work.ts";
import type { Blobs, IncomingBlob } from "../blobs/port.ts";
import type { HubMetrics } from "./hub-metrics.ts";

/** Runs `work` and records its duration. */
async function measured<T>(metrics: HubMetrics | undefined, operation: string, work: () => Promise<T>): Promise<T> {
  const started = performance.now();
  let failed = true;
  try {
    const result = await work();
    failed = false;
    return result;
  } finally {
    const durationMs = performance.now() - started;
    metrics?.blobCall(operation, durationMs, failed);
    tellMeasured(`blob ${operation}`, durationMs, failed);
  }
}

/** Wraps an incoming blob so that its commit is measured: that is where a bucket takes its time. */
function measuredIncoming(blob: IncomingBlob, metrics: HubMetrics | undefined): IncomingBlob {
  return {
    get size() {
      return blob.size;
    },
    get path() {
      return blob.path;
    },
    write: (chunk) => blob.write(chunk),
    copyFrom: (path) => blob.copyFrom(path),
    flush: () => blob.flush(),
    readBack: () => blob.readBack(),
    commit: (id) => measured(metrics, "store", () => blob.commit(id)),
    keep: () => blob.keep(),
    [Symbol.asyncDispose]: () => blob[Symbol.asyncDispose](),
  };
}

/** Measures the calls that requests wait for. A read ends with its first byte; listings are not measured. */
export function measuredBlobs(blobs: Blobs, metrics: HubMetrics | undefined): Blobs {
  return {
    name: blobs.name,
    owner: () => blobs.owner(),
    claim: (owner) => blobs.claim(owner),
    create: async (name) => measuredIncoming(await measured(metrics, "create", () => blobs.create(name)), metrics),
    reopen: async (path) => {
      const blob = await blobs.reopen(path);
      return blob && measuredIncoming(blob, metrics);
    },
    kept: (prefix) => blobs.kept(prefix),
    forget: (path) => blobs.forget(path),
    read: (id, range) => measured(metrics, "read", () => blobs.read(id, range)),
    ...(blobs.filesOf && { filesOf: (id) => blobs.filesOf!(id) }),
    size: (id) => measured(metrics, "size", () => blobs.size(id)),
    directUrl: async (id, lifetimeMs) => blobs.directUrl?.(id, lifetimeMs),
    remove: (id) => measured(metrics, "remove", () => blobs.remove(id)),
    list: () => blobs.list(),
    moveToTrash: (id) => measured(metrics, "trash", () => blobs.moveToTrash(id)),
    takeBack: (id) => measured(metrics, "take_back", () => blobs.takeBack(id)),
    listTrash: () => blobs.listTrash(),
    removeFromTrash: (id) => measured(metrics, "remove", () => blobs.removeFromTrash(id)),
    clearIncoming: (minAgeMs) => blobs.clearIncoming(minAgeMs),
    check: (signal) => measured(metrics, "check", () => blobs.check(signal)),
    ...(blobs.close && { close: () => blobs.close!() }),
  };
}
