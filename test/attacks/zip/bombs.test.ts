// Only in test:all: each of its archives is published, and refused by a host, 10 s of a processor.
import { deflateRawSync } from "node:zlib";
import t from "tap";
import { DEFAULT_LIMITS, type Limits } from "../../../lib/artifact/limits.ts";
import { marketplaceHost, pluginZip } from "../../support/host/marketplace-host.ts";

const MIB = 1024 * 1024;
const limited = (limits: Partial<Limits>) => ({ options: { limits: { ...DEFAULT_LIMITS, ...limits } } });

t.test("an archive that unpacks to far more than its size is refused by its ratio", async (t) => {
  const host = await marketplaceHost(t);
  const zeros = Buffer.alloc(70 * MIB);
  const bomb = { name: "zeros.bin", content: zeros, method: 8, data: deflateRawSync(zeros, { level: 9 }) };
  await host.refusesZip(t, pluginZip([bomb]), "limit_exceeded", '"zeros.bin"');
  const passed = host.events.filter((event) => event.event === "verify.ok").map(({ check }) => check);
  t.strictSame(passed, ["hmac"], "before a byte was unpacked");
  await t.test("unless the operator raises the limit", async (t) => {
    const files = await host.accepts(t, pluginZip([bomb]), limited({ maxRatio: 2000 }));
    t.match(files, { "zeros.bin": /^file/ });
  });
});

t.test("many entries that are harmless alone are a bomb together", async (t) => {
  const host = await marketplaceHost(t);
  const zeros = Buffer.alloc(10 * MIB);
  const data = deflateRawSync(zeros, { level: 9 });
  const entries = Array.from({ length: 8 }, (_, index) => ({ name: `${index}.bin`, content: zeros, method: 8, data }));
  await host.refusesZip(t, pluginZip(entries), "limit_exceeded", '"6.bin"');
});

t.test("more entries than the limit are refused, folders and links included", async (t) => {
  const host = await marketplaceHost(t);
  const files = Array.from({ length: 10 }, (_, index) => ({ name: `${index}`, content: "" }));
  const folders = Array.from({ length: 10 }, (_, index) => ({ name: `${index}/` }));
  for (const entries of [files, folders])
    await host.refusesZip(t, pluginZip(entries), "limit_exceeded", "10 entries", limited({ maxEntries: 10 }));
  t.match(await host.accepts(t, pluginZip(files), limited({ maxEntries: 11 })), { "9": /^file/ });
});

t.test("an entry larger than the limit is refused by what it says, before it is unpacked", async (t) => {
  const host = await marketplaceHost(t);
  const large = { name: "large.bin", content: Buffer.alloc(3 * MIB), method: 8 };
  const limits = limited({ maxEntryBytes: 2 * MIB });
  await host.refusesZip(t, pluginZip([large]), "limit_exceeded", '"large.bin"', limits);
  const huge = { ...large, zip64: true, declared: { size: 2 ** 45 } };
  await host.refusesZip(t, pluginZip([huge]), "limit_exceeded", '"large.bin"');
});

t.test("an entry that says less than it unpacks to is cut off there", async (t) => {
  const host = await marketplaceHost(t);
  const zeros = Buffer.alloc(60 * MIB);
  const data = deflateRawSync(zeros, { level: 9 });
  for (const size of [0, 1, 10, 2 * MIB]) {
    const bomb = { name: "bomb.bin", content: zeros, data, method: 8, declared: { size } };
    await host.refusesEntries(t, [bomb], "zip_invalid");
  }
});

t.test("entries that are larger than the limit together are refused", async (t) => {
  const host = await marketplaceHost(t);
  const entries = Array.from({ length: 4 }, (_, index) => ({ name: `${index}.bin`, content: Buffer.alloc(MIB) }));
  const deflated = entries.map((entry) => ({ ...entry, method: 8 }));
  await host.refusesZip(t, pluginZip(deflated), "limit_exceeded", '"2.bin"', limited({ maxTotalBytes: 3 * MIB }));
});

t.test("an archive that is itself larger than the limit is refused while it comes", async (t) => {
  const host = await marketplaceHost(t);
  host.offer(pluginZip([{ name: "a.bin", content: Buffer.alloc(4 * MIB) }]));
  await host.refuses(t, { code: "limit_exceeded" }, limited({ maxTotalBytes: MIB }));
  t.notOk(
    host.events.some((event) => event.event === "verify.ok"),
    "before its signature is known",
  );
  t.equal(host.hub.to("install").length, 1, "it is not asked for again");
});
