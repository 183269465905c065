// Only in test:all: each of its archives is published, and refused by a host, 5 s of a processor.
/**
 * Archives that two readers read in two ways: each was installed once, and unzip, bsdtar or Python saw another tree.
 */
import t from "tap";
import { descriptorEntry, type ForgedZip, forgedZip } from "../../support/forged/zip.ts";
import { marketplaceHost, pluginZip, SLUG } from "../../support/host/marketplace-host.ts";

const visible = pluginZip([{ name: "a.js", content: "visible" }]);
const hidden = pluginZip([{ name: "a.js", content: "hidden" }]);

const endOf = (archive: Buffer): number => archive.lastIndexOf("PK\u0005\u0006");

function withNumber(archive: Buffer, offset: number, value: number, bytes: 2 | 4 | 8): Buffer {
  const changed = Buffer.from(archive);
  if (bytes === 8) changed.writeBigUInt64LE(BigInt(value), offset);
  else changed.writeUIntLE(value, offset, bytes);
  return changed;
}

t.test("two end records, the comment of the last one longer than what follows, are refused", async (t) => {
  const host = await marketplaceHost(t);
  // The earlier record's comment ends the file, the later one's would end a byte behind it.
  const inner = visible.subarray(endOf(visible));
  const outer = withNumber(hidden, endOf(hidden) + 20, inner.length, 2);
  const both = Buffer.concat([outer, inner]);
  for (const comment of [1, 2, 100])
    await host.refusesZip(t, withNumber(both, outer.length + 20, comment, 2), "zip_invalid");
});

t.test("an end record in the comment of another one is refused, also when both are right", async (t) => {
  const host = await marketplaceHost(t);
  const end = Buffer.from(visible.subarray(endOf(visible)));
  const outer = withNumber(visible, endOf(visible) + 20, end.length, 2);
  await host.refusesZip(t, Buffer.concat([outer, end]), "zip_invalid");
});

t.test("an archive with bytes behind its end record's comment is refused", async (t) => {
  const host = await marketplaceHost(t);
  for (const junk of ["x", "x".repeat(70_000)])
    await host.refusesZip(t, Buffer.concat([visible, Buffer.from(junk)]), "zip_invalid");
});

/** ZIP64 record and locator of an archive that has them. */
function end64(options: ForgedZip): Buffer {
  const archive = forgedZip({ ...options, zip64: true });
  return archive.subarray(archive.indexOf("PK\u0006\u0006"), endOf(archive));
}

t.test(
  "a ZIP64 record in the last entry's comment, before a plain end record with other values, is refused",
  async (t) => {
    const host = await marketplaceHost(t);
    const secret = { entries: [descriptorEntry(SLUG), { name: "a.js", content: "hidden" }] };
    const record = Buffer.from(end64(secret));
    const start = hidden.length;
    const plain = forgedZip({
      prefix: hidden,
      entries: [descriptorEntry(SLUG), { name: "a.js", content: "visible" }],
    });
    const end = endOf(plain);
    const central = plain.lastIndexOf("PK\u0001\u0002");
    // The hidden directory lies in the prefix; the locator says where its record stands, inside the comment.
    record.writeBigUInt64LE(BigInt(hidden.indexOf("PK\u0001\u0002")), 48);
    record.writeBigUInt64LE(BigInt(end), 56 + 8);
    const commented = withNumber(plain, central + 32, record.length, 2);
    const size = commented.readUInt32LE(end + 12) + record.length;
    const forged = withNumber(
      Buffer.concat([commented.subarray(0, end), record, commented.subarray(end)]),
      end + record.length + 12,
      size,
      4,
    );
    t.ok(start > 0);
    await host.refusesZip(t, forged, "zip_invalid");
  },
);

t.test("ZIP64 values beside a plain end record that has others are refused", async (t) => {
  const host = await marketplaceHost(t);
  const entries = [descriptorEntry(SLUG), { name: "a.js", content: "a" }, { name: "b.js", content: "b" }];
  const archive = forgedZip({ entries, zip64: true });
  const end = endOf(archive);
  const truth = archive.readUInt32LE(archive.indexOf("PK\u0006\u0006") + 48);
  // What stays unset comes from the ZIP64 record: the right values are fine in both.
  await host.accepts(t, withNumber(archive, end + 16, truth, 4));
  await host.refusesZip(t, withNumber(archive, end + 16, truth - 1, 4), "zip_invalid");
  await host.refusesZip(t, withNumber(withNumber(archive, end + 8, 2, 2), end + 10, 2, 2), "zip_invalid");
  await host.refusesZip(t, withNumber(archive, end + 12, 1, 4), "zip_invalid");
});

t.test("a gap between the central directory and its end record is refused, with ZIP64 too", async (t) => {
  const host = await marketplaceHost(t);
  const entries = [descriptorEntry(SLUG), { name: "a.js", content: "a" }];
  for (const zip64 of [false, true])
    for (const gap of [1, 56, 76, 200]) {
      const archive = forgedZip({ entries, zip64 });
      const end = zip64 ? archive.indexOf("PK\u0006\u0006") : endOf(archive);
      let moved: Buffer = Buffer.concat([archive.subarray(0, end), Buffer.alloc(gap), archive.subarray(end)]);
      if (zip64) moved = withNumber(moved, endOf(moved) - 20 + 8, end + gap, 8);
      await host.refusesZip(t, moved, "zip_invalid");
    }
});

t.test("a ZIP64 record that is longer or shorter than it says is refused", async (t) => {
  const host = await marketplaceHost(t);
  const archive = forgedZip({ entries: [descriptorEntry(SLUG), { name: "a.js", content: "a" }], zip64: true });
  const record = archive.indexOf("PK\u0006\u0006");
  for (const bytes of [0, 43, 45, 2 ** 40])
    await host.refusesZip(t, withNumber(archive, record + 4, bytes, 8), "zip_invalid");
});

t.test("a file with content and the DOS attribute of a folder is refused", async (t) => {
  const host = await marketplaceHost(t);
  for (const madeBy of [0, 3]) {
    const archive = pluginZip([{ name: "lib", content: "x", madeBy }]);
    const central = archive.lastIndexOf("PK\u0001\u0002");
    const changed = Buffer.from(archive);
    changed[central + 38]! |= 0x10;
    await host.refusesZip(t, changed, "zip_invalid");
  }
});
