// Only in test:all: each of its archives is published, and refused by a host, 5 s of a processor.
import t from "tap";
import { type ForgedEntry, type ZipHeader } from "../../support/forged/zip.ts";
import { marketplaceHost, pluginZip } from "../../support/host/marketplace-host.ts";
import { createTarget, publishZip } from "../../support/hub/marketplace-publication.ts";

const content = "the content of this file, the content of this file";
const file: ForgedEntry = { name: "src/main.js", content, method: 8 };

/** A local header that is not the central directory's. */
const LIES: Record<string, ZipHeader> = {
  "another name": { name: "src/evil.js" },
  "a shorter name": { name: "src" },
  "a name that leads out": { name: "../../planted" },
  "another method": { method: 0 },
  "an unknown method": { method: 99 },
  "the encryption flag": { flags: 0x0801 },
  "the flag of patches": { flags: 0x0820 },
  "the descriptor flag": { flags: 0x0808 },
  "no UTF-8 flag": { flags: 0 },
  "another CRC": { crc: 1 },
  "no CRC": { crc: 0 },
  "a larger size": { size: content.length + 1 },
  "a smaller size": { size: 1 },
  "no size": { size: 0, compressedSize: 0, crc: 0 },
  "a larger compressed size": { compressedSize: 1000 },
  "a ZIP64 marker without its field": { size: 0xffffffff, compressedSize: 0xffffffff },
  "no signature": { signature: 0 },
  "a descriptor's signature": { signature: 0x08074b50 },
};

t.test("a local header that disagrees with the central directory is refused", async (t) => {
  const host = await marketplaceHost(t);
  for (const [what, local] of Object.entries(LIES)) {
    await t.test(what, (t) => host.refusesEntries(t, [{ ...file, local }], "zip_invalid"));
  }
});

t.test("the hub refuses the same archives when they are published", async (t) => {
  const target = await createTarget(t);
  for (const [what, local] of Object.entries(LIES)) {
    const answer = await publishZip(target, pluginZip([{ ...file, local }]));
    t.match({ status: answer.status, code: answer.body.code }, { status: 422, code: "zip_invalid" }, what);
  }
});

t.test("a local header in ZIP64 that disagrees is refused as well", async (t) => {
  const host = await marketplaceHost(t);
  const other = pluginZip([{ ...file, zip64: true, declared: { size: 12 } }]);
  await host.refusesZip(t, other, "zip_invalid", '"src/main.js"');
  const field = Buffer.alloc(20);
  field.writeUInt16LE(1, 0);
  field.writeUInt16LE(16, 2);
  field.writeBigUInt64LE(2n ** 60n, 4);
  field.writeBigUInt64LE(12n, 12);
  await host.refusesEntries(t, [{ ...file, zip64: true, local: { extra: field } }], "zip_invalid");
});

t.test("a data descriptor that disagrees with the central directory is refused", async (t) => {
  const host = await marketplaceHost(t);
  for (const lie of [{ crc: 1 }, { size: 1 }, { compressedSize: 1 }]) {
    for (const signature of [true, false])
      await host.refusesEntries(t, [{ ...file, descriptor: { ...lie, signature } }], "zip_invalid");
  }
});

t.test("with a descriptor the local header holds zeros or the truth, nothing else", async (t) => {
  const host = await marketplaceHost(t);
  for (const local of [{ crc: 1 }, { size: 1 }, { compressedSize: 1 }])
    await host.refusesEntries(t, [{ ...file, descriptor: true, local }], "zip_invalid");
});
