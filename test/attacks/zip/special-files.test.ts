import t from "tap";
import { FOLDER } from "../../support/forged/zip.ts";
import { marketplaceHost, pluginZip } from "../../support/host/marketplace-host.ts";

t.test("devices, pipes and sockets are refused", async (t) => {
  const host = await marketplaceHost(t);
  for (const type of [0o020000, 0o060000, 0o010000, 0o140000, 0o150000]) {
    await host.refusesEntries(t, [{ name: "special", mode: type | 0o666 }], "member_type");
    await host.refusesEntries(t, [{ name: "special/", mode: type | 0o666 }], "member_type");
  }
});

t.test("an entry that is half a file and half a folder is refused", async (t) => {
  const host = await marketplaceHost(t);
  await host.refusesEntries(t, [{ name: "folder", mode: FOLDER }], "zip_invalid");
  await host.refusesEntries(t, [{ name: "folder/", mode: 0o100644 }], "zip_invalid");
  await host.refusesEntries(t, [{ name: "folder/", content: "with content" }], "zip_invalid");
  await host.refusesEntries(t, [{ name: "folder/", content: "with content", madeBy: 0 }], "zip_invalid");
});

t.test("DOS attributes by which readers differ are refused, others are not", async (t) => {
  const host = await marketplaceHost(t);
  for (const madeBy of [0, 3]) {
    await host.refusesEntries(t, [{ name: "label", content: "x", attributes: 0x08, madeBy }], "zip_invalid");
    await host.refusesEntries(t, [{ name: "label/", attributes: 0x18, madeBy }], "zip_invalid");
    await host.refusesEntries(t, [{ name: "file", content: "x", attributes: 0x10, madeBy }], "zip_invalid");
  }
  const plain = { name: "plain", content: "x", attributes: 0x21, madeBy: 0 };
  t.match(await host.accepts(t, pluginZip([plain])), { plain: /^file / });
});

t.test("set-user-id and world-writable bits do not reach the disk", async (t) => {
  const host = await marketplaceHost(t);
  const files = await host.accepts(
    t,
    pluginZip([
      { name: "setuid", content: "x", mode: 0o104777 },
      { name: "writable", content: "x", mode: 0o100666 },
    ]),
  );
  t.match(files, { setuid: /^file 755 /, writable: /^file 644 / });
});
