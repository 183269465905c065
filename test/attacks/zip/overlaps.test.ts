import { crc32, deflateRawSync } from "node:zlib";
import t from "tap";
import { descriptorEntry, forgedZip } from "../../support/forged/zip.ts";
import { marketplaceHost, pluginZip, SLUG } from "../../support/host/marketplace-host.ts";

const text = (name: string) => ({ name, content: `content of ${name}` });

t.test("two entries that share one local header are refused", async (t) => {
  const host = await marketplaceHost(t);
  const descriptor = `name: ${SLUG}\nversion: 1.0.0\n`;
  const shared = {
    name: "again.yaml",
    content: descriptor,
    written: false,
    central: { offset: 0 },
  };
  await host.refusesZip(t, pluginZip([shared]), "zip_invalid", '"again.yaml"');
  await host.refusesZip(t, pluginZip([{ ...shared, name: "plugin.yaml" }]), "member_duplicate", '"plugin.yaml"');
});

t.test("an entry whose bytes hold another entry is refused", async (t) => {
  const host = await marketplaceHost(t);
  // The quoted-overlap bomb: the first file's stored bytes are the second file with its header.
  const inner = forgedZip([text("inner.js")]);
  const local = inner.subarray(0, 30 + "inner.js".length + text("inner.js").content.length);
  const first = forgedZip([{ name: "outer.bin", content: local }]);
  const offset = first.indexOf(local);
  const entries = [
    { name: "outer.bin", content: local },
    { ...text("inner.js"), written: false, central: { offset } },
  ];
  await host.refusesZip(t, forgedZip(entries), "zip_invalid", '"inner.js"');
});

t.test("a kernel of deflated zeros used by many entries is refused before it is unpacked", async (t) => {
  const host = await marketplaceHost(t);
  const zeros = Buffer.alloc(1024 * 1024);
  const data = deflateRawSync(zeros, { level: 9 });
  const kernel = forgedZip([descriptorEntry(SLUG)]).indexOf("PK\u0001\u0002");
  const bytes = pluginZip([
    { name: "b0", content: zeros, data, method: 8 },
    ...Array.from({ length: 200 }, (_, index) => ({
      name: `b${index + 1}`,
      data: Buffer.alloc(0),
      written: false,
      method: 8,
      declared: { size: zeros.length, crc: crc32(zeros), compressedSize: data.length },
      central: { offset: kernel },
    })),
  ]);
  await host.refusesZip(t, bytes, "zip_invalid", '"b1"');
});

t.test("an entry whose bytes reach into the central directory, or behind the archive, is refused", async (t) => {
  const host = await marketplaceHost(t);
  for (const more of [1, 46, 60, 1000, 0x7fffffff]) {
    const { name, content } = text("last.js");
    const size = content.length + more;
    await host.refusesEntries(t, [{ name, content, declared: { size, compressedSize: size } }], "zip_invalid");
    const compressedSize = deflateRawSync(content).length + more;
    await host.refusesEntries(t, [{ name, content, method: 8, declared: { compressedSize } }], "zip_invalid");
  }
});

t.test("an entry that points into the central directory or behind the archive is refused", async (t) => {
  const host = await marketplaceHost(t);
  for (const offset of [1, 10_000, 0xfffffffe])
    await host.refusesEntries(t, [{ ...text("lost.js"), central: { offset } }], "zip_invalid", "");
});
