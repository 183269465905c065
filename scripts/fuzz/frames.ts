import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { encodeFrame, FrameError, FrameReader } from "../../lib/runtime/guest/frames.ts";
import { MemorySampler } from "../../lib/runtime/sandbox/memory-sampler.ts";
import { Reaper } from "../../lib/runtime/sandbox/reaper.ts";
import { SandboxProcess } from "../../lib/runtime/sandbox/sandbox-process.ts";
import { type Cases, fuzzEach, type Outcome, type Verdict } from "./outcome.ts";
import { mutated, Random } from "./random.ts";
import { type Json, notPlain, setOwn, someObject, someValue } from "./values.ts";

/** Frames of one case: a single process sends them all. */
const FRAMES = 60;
const TYPES = [
  "reply",
  "request",
  "cancelled",
  "log",
  "health",
  "ready",
  "failed",
  "used",
  "crash",
  "toString",
  "__proto__",
];
const FIELDS = [
  "id",
  "ok",
  "code",
  "message",
  "stack",
  "level",
  "target",
  "method",
  "call",
  "status",
  "actions",
  "routes",
];

/** Message of the record that ends a case. */
const LAST = "the last frame of the case";

/** Objects that break code which converts its input to a text or number. */
const STUBBORN: Json[] = [
  { toString: 1, valueOf: 1 },
  { toString: null },
  { toJSON: 1 },
  [[[]]],
  { then: 1 },
  { length: -1 },
];

function someFrame(random: Random): Buffer {
  const header: { [key: string]: Json } = {};
  setOwn(header, "t", random.pick(TYPES));
  for (let fields = random.below(6); fields > 0; fields--) {
    const value = random.once(3) ? random.pick(STUBBORN) : someValue(random, 2);
    setOwn(header, random.once(8) ? "__proto__" : random.pick(FIELDS), value);
  }
  const body = random.once(3)
    ? random.pick(["", "{", "[".repeat(5_000), "null", '{"__proto__":{"polluted":1}}', '["\\u005f_proto__"]'])
    : JSON.stringify(random.once(2) ? someObject(random) : someValue(random));
  return encodeFrame(header as { t: string }, body);
}

/** Reads frames by the format, the whole stream at once. Undefined where the product has to give up. */
function frames(stream: Buffer): { read: { header: unknown; body: string }[]; broken: boolean } {
  const read: { header: unknown; body: string }[] = [];
  for (let at = 0; at + 8 <= stream.length;) {
    const length = stream.readUInt32BE(at);
    const headerLength = stream.readUInt32BE(at + 4);
    if (length < 4 || length > 8 * 1024 * 1024) return { read, broken: true };
    if (at + 4 + length > stream.length) break;
    const end = at + 8 + headerLength;
    if (headerLength > 64 * 1024 || end > at + 4 + length) return { read, broken: true };
    let header: unknown;
    try {
      header = JSON.parse(stream.subarray(at + 8, end).toString("utf8"));
    } catch {
      return { read, broken: true };
    }
    if (typeof (header as { t?: unknown } | null)?.t !== "string") return { read, broken: true };
    read.push({ header, body: stream.subarray(end, at + 4 + length).toString("utf8") });
    at += 4 + length;
  }
  return { read, broken: false };
}

/** Splits a stream into pieces of any size: the frames must not depend on where the pieces end. */
function judgeReader(stream: Buffer, random: Random): Verdict {
  const reader = new FrameReader();
  const read: { header: unknown; body: string }[] = [];
  let broken = false;
  try {
    for (let at = 0; at < stream.length;) {
      const piece = stream.subarray(at, at + random.pick([1, 3, 8, 100, 65_536]));
      at += piece.length;
      for (const frame of reader.push(piece)) read.push(frame);
    }
  } catch (error) {
    if (!(error instanceof FrameError)) return { why: `it fails with ${String(error)}` };
    broken = true;
  }
  return isDeepStrictEqual({ read, broken }, frames(stream))
    ? { accepted: !broken }
    : { why: "its frames are cut in another way" };
}

/**
 * Makes a process send a stream, as a sandboxed plugin could. No exception may leave the runtime's end of the channel,
 * no call may be answered by it, and the runtime's own objects must not change.
 */
export async function judgeProcess(stream: Buffer, folder: string): Promise<Verdict> {
  const file = join(folder, "frames");
  const last = encodeFrame({ t: "log", message: LAST });
  writeFileSync(file, Buffer.concat([encodeFrame({ t: "ready", actions: ["act"], routes: 0 }), stream, last]));
  const failed = Promise.withResolvers<void>();
  const escaped: unknown[] = [];
  const note = (error: unknown): void => {
    escaped.push(error);
    failed.resolve();
  };
  process.on("uncaughtException", note).on("unhandledRejection", note);
  await using reaper = new Reaper();
  try {
    const sent = Promise.withResolvers<void>();
    const strange: string[] = [];
    const look = (value: unknown): void => {
      const why = value === undefined ? undefined : notPlain(value);
      if (why !== undefined) strange.push(why);
    };
    const child = await SandboxProcess.start({
      launch: { file: "/bin/sh", arguments: ["-c", 'cat "$0" >&3; exec sleep 1000', file] },
      ...{
        cwd: folder,
        user: undefined,
        bounds: undefined,
        init: {} as never,
        startTimeoutMs: 30_000,
        memoryLimitMb: 1_000,
        channelBytes: 8 * 1024 * 1024,
        reaper,
      },
      sampler: new MemorySampler(),
      port: {
        request: (_target, _method, parameters) => {
          look(parameters);
          return Promise.resolve(parameters);
        },
      },
      log: (_level, message, fields) => {
        look(fields);
        if (message === LAST) sent.resolve();
      },
      onLine: () => {},
      onDropped: () => {},
      late: { silent: () => {}, stuck: () => {} },
    });
    const call = child.call("act", "null", { requestId: undefined, depth: 0, timeoutMs: 60_000, graceMs: 1_000 });
    const answered = call.then(
      (result) => strange.push(`a call was answered with ${result}`),
      () => {},
    );
    await Promise.race([sent.promise, child.exited, failed.promise]);
    child.kill("plugin_crashed", "The case is over.");
    await child.exited;
    await answered;
    if (escaped.length > 0) return { why: `the runtime fails with ${String(escaped[0])}` };
    return strange.length > 0 ? { why: strange[0]! } : { accepted: true };
  } finally {
    process.off("uncaughtException", note).off("unhandledRejection", note);
  }
}

/** One case in this many starts a process: reading alone is a thousand times quicker. */
const PROCESS_EVERY = 50;

/** Reads many random streams of frames; a real process sends some of them. */
export const fuzzFrames = (cases: Cases, folder: string): Promise<Outcome> =>
  fuzzEach(cases, async (at) => {
    const random = new Random(at);
    const withProcess = at % PROCESS_EVERY === 0;
    const sound = Buffer.concat(
      Array.from({ length: withProcess ? FRAMES : 1 + random.below(5) }, () => someFrame(random)),
    );
    const stream = withProcess ? sound : mutated(sound, random, 4);
    const verdict = withProcess ? await judgeProcess(stream, folder) : judgeReader(stream, random);
    return { ...verdict, kind: "frames", bytes: stream };
  });
