// Only in test:all: each of its archives is published, and refused by a host, 7 s of a processor.
import t from "tap";
import { forgedZip } from "../../support/forged/zip.ts";
import { marketplaceHost } from "../../support/host/marketplace-host.ts";

const file = { name: "src/main.js", content: "export default 1;\n" };

t.test("an encrypted entry is refused, in each of its ways", async (t) => {
  const host = await marketplaceHost(t);
  for (const flag of [0x0001, 0x2000, 0x2001])
    await host.refusesEntries(t, [{ ...file, flags: 0x0800 | flag }], "zip_invalid");
  await host.refusesEntries(t, [{ ...file, flags: 0x0841 }], "zip_invalid", "");
  const aes = { ...file, method: 99, flags: 0x0801, data: Buffer.alloc(40) };
  await host.refusesEntries(t, [aes], "zip_invalid");
  const folder = { name: "folder/", flags: 0x0801 };
  await host.refusesEntries(t, [folder], "zip_invalid");
});

t.test("a patch in place of a file is refused, which other readers refuse, too", async (t) => {
  const host = await marketplaceHost(t);
  for (const flag of [0x0020, 0x0086 | 0x0020])
    await host.refusesEntries(t, [{ ...file, flags: 0x0800 | flag }], "zip_invalid");
});

t.test("a compression method other than stored and deflated is refused", async (t) => {
  const host = await marketplaceHost(t);
  for (const method of [1, 6, 9, 12, 14, 93, 95, 0xffff])
    await host.refusesEntries(t, [{ ...file, method }], "zip_invalid");
});

t.test("data that is not deflated as it says is refused", async (t) => {
  const host = await marketplaceHost(t);
  for (const data of [Buffer.from("not deflate at all"), Buffer.alloc(0), Buffer.from([7]), Buffer.alloc(100, 255)])
    await host.refusesEntries(t, [{ ...file, method: 8, data }], "zip_invalid");
});

t.test("an archive without files is refused", async (t) => {
  const host = await marketplaceHost(t);
  await host.refusesZip(t, forgedZip([]), "zip_invalid", "no file");
  await host.refusesZip(t, forgedZip([{ name: "top/" }, { name: "top/src/" }]), "zip_invalid", "no file");
});

t.test("what is not a ZIP is refused", async (t) => {
  const host = await marketplaceHost(t);
  const page = "<!doctype html><title>Sign in</title><p>Your session has expired.</p>";
  const others = [page, "", "PK", "PK\u0003\u0004", "PK\u0005\u0006", `${"\0".repeat(70_000)}`, '{"error": "no"}'];
  for (const text of others) await host.refusesZip(t, Buffer.from(text), "zip_invalid");
});
