// Only in test:all: each of its archives is published, and refused by a host, 11 s of a processor.
import { randomBytes } from "node:crypto";
import { deflateRawSync } from "node:zlib";
import t from "tap";
import type { ForgedEntry } from "../../support/forged/zip.ts";
import { marketplaceHost } from "../../support/host/marketplace-host.ts";

/** Small files are inflated at once, large ones as a stream. */
const CONTENTS: Record<string, Buffer> = {
  "a small file": randomBytes(1000),
  "a file of 3 MiB": randomBytes(3 * 1024 * 1024),
};

for (const [what, content] of Object.entries(CONTENTS)) {
  const entries: ForgedEntry[] = [0, 8].map((method) => ({ name: "data.bin", content, method }));
  const deflated = deflateRawSync(content);

  t.test(`${what} with another CRC than it says is refused`, async (t) => {
    const host = await marketplaceHost(t);
    for (const entry of entries) await host.refusesEntries(t, [{ ...entry, declared: { crc: 1 } }], "zip_invalid");
    const flipped = Buffer.from(content);
    flipped[500]! ^= 1;
    await host.refusesEntries(t, [{ ...entries[0]!, data: flipped }], "zip_invalid");
    await host.refusesEntries(t, [{ ...entries[1]!, data: deflateRawSync(flipped) }], "zip_invalid");
  });

  t.test(`${what} that is longer or shorter than it says is refused`, async (t) => {
    const host = await marketplaceHost(t);
    for (const more of [-1, 1, -999, 2_000_000, -content.length]) {
      const size = Math.max(content.length + more, 0);
      for (const entry of entries) await host.refusesEntries(t, [{ ...entry, declared: { size } }], "zip_invalid");
    }
  });

  t.test(`${what} whose deflated data ends early is refused`, async (t) => {
    const host = await marketplaceHost(t);
    for (const length of [1, deflated.length - 1, deflated.length >> 1, 0]) {
      const entry = { name: "data.bin", content, method: 8, data: deflated.subarray(0, length) };
      await host.refusesEntries(t, [entry], "zip_invalid");
    }
  });

  t.test(`${what} with bytes behind its deflated data is refused`, async (t) => {
    const host = await marketplaceHost(t);
    for (const trail of [Buffer.alloc(1), Buffer.from("junk"), deflateRawSync("more"), Buffer.alloc(500_000)]) {
      const entry = { name: "data.bin", content, method: 8, data: Buffer.concat([deflated, trail]) };
      await host.refusesEntries(t, [entry], "zip_invalid");
    }
  });
}
