import { createHash, randomFillSync } from "node:crypto";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import t from "tap";
import { newRing, readRing, type Ring, RingWriter } from "../../../../lib/artifact/thread/ring.ts";

const SLOT = 512 * 1024;

function collect(ring: Ring): { whole: boolean; bytes: Buffer } {
  const pieces: Buffer[] = [];
  const whole = readRing(ring, (bytes) => void pieces.push(Buffer.from(Uint8Array.from(bytes))));
  return { whole, bytes: Buffer.concat(pieces) };
}

t.test("what is written is read, wherever it ends between two slots", (t) => {
  for (const length of [0, 1, SLOT - 1, SLOT, SLOT + 1, 3 * SLOT, 8 * SLOT - 1, 8 * SLOT]) {
    const bytes = randomFillSync(Buffer.alloc(length));
    const ring = newRing();
    const writer = new RingWriter(ring);
    for (let at = 0; at < length;) at += writer.write(bytes.subarray(at, at + 100_000));
    writer.end(true);
    const read = collect(ring);
    t.ok(read.whole);
    t.ok(read.bytes.equals(bytes), `${length} bytes`);
  }
  t.end();
});

t.test("a writer may fill the ring in place, as far as there is room", (t) => {
  const ring = newRing();
  const writer = new RingWriter(ring);
  const bytes = randomFillSync(Buffer.alloc(8 * SLOT));
  let written = 0;
  for (let place = writer.place(300_000); place.length > 0; place = writer.place(300_000)) {
    bytes.copy(place, 0, written);
    writer.filled(place.length);
    written += place.length;
  }
  t.equal(written, 8 * SLOT);
  writer.end(true);
  t.ok(collect(ring).bytes.equals(bytes));
  writer.abandon();
  t.equal(writer.place(1).length, 0, "an abandoned ring has none");
  t.end();
});

t.test("a writer that gives up says so, and what it wrote before is read", (t) => {
  const ring = newRing();
  const writer = new RingWriter(ring);
  writer.write(Buffer.from("half of it"));
  writer.end(false);
  t.strictSame(collect(ring), { whole: false, bytes: Buffer.from("half of it") });
  t.end();
});

t.test("another thread reads many times what the ring holds, byte for byte, and no slot is overwritten", async (t) => {
  const ring = newRing();
  const code = `
    const { parentPort, workerData } = require("node:worker_threads");
    const { createHash } = require("node:crypto");
    import(workerData.module).then(({ readRing }) => {
      const hash = createHash("sha256");
      let slow = 3;
      const whole = readRing(workerData.ring, (bytes) => {
        // The writer has to wait for room: it fills all of the ring meanwhile.
        if (slow-- > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
        hash.update(bytes);
      });
      parentPort.postMessage({ whole, digest: hash.digest("hex") });
    });`;
  const module = new URL("../../../../lib/artifact/thread/ring.ts", import.meta.url).href;
  const worker = new Worker(code, { eval: true, workerData: { ring, module } });
  const answer = once(worker, "message");
  const writer = new RingWriter(ring);
  const hash = createHash("sha256");
  let waits = 0;
  for (let piece = 0; piece < 40; piece++) {
    const bytes = randomFillSync(Buffer.alloc(700_000 + piece));
    hash.update(bytes);
    for (let rest = bytes; ;) {
      rest = rest.subarray(writer.write(rest));
      if (rest.length === 0) break;
      waits++;
      await writer.room();
    }
  }
  writer.end(true);
  t.strictSame((await answer)[0], { whole: true, digest: hash.digest("hex") });
  t.ok(waits > 0, "the ring was full");
  await worker.terminate();
});

t.test("a writer that waits for room goes on when the reader is given up", async (t) => {
  const writer = new RingWriter(newRing());
  t.equal(writer.write(Buffer.alloc(9 * SLOT)), 8 * SLOT);
  const room = writer.room().then(() => "released");
  t.equal(await Promise.race([room, sleep(20, "waiting")]), "waiting");
  writer.abandon();
  t.equal(await room, "released");
  t.equal(writer.write(Buffer.alloc(9 * SLOT)), 9 * SLOT, "and nothing is kept any more");
});
