import t from "tap";
import { forgedZip } from "../../support/forged/zip.ts";
import { marketplaceHost, pluginZip } from "../../support/host/marketplace-host.ts";

const files = [
  { name: "a.js", content: "a" },
  { name: "hidden.js", content: "b" },
];

t.test("an end record that counts fewer or more entries than there are is refused", async (t) => {
  const host = await marketplaceHost(t);
  // One reader would install hidden.js, another would not.
  for (const count of [0, 1, 2, 4, 200]) await host.refusesZip(t, pluginZip(files, { count }), "zip_invalid");
  await host.refusesZip(t, pluginZip(files, { count: 2, zip64: true }), "zip_invalid");
});

t.test("a central directory of another size than it says, or elsewhere, is refused", async (t) => {
  const host = await marketplaceHost(t);
  const whole = pluginZip(files);
  const offset = whole.indexOf("PK\u0001\u0002");
  const size = whole.indexOf("PK\u0005\u0006") - offset;
  for (const directorySize of [0, size - 1, size + 1, size - 51, 2 * size])
    await host.refusesZip(t, pluginZip(files, { directorySize }), "zip_invalid");
  for (const directoryOffset of [0, offset - 1, offset + 1, offset + size, 0x7fffffff])
    await host.refusesZip(t, pluginZip(files, { directoryOffset }), "zip_invalid");
  await host.refusesZip(t, pluginZip(files, { directorySize: 2 ** 40, zip64: true }), "zip_invalid");
  await host.refusesZip(t, pluginZip(files, { directoryOffset: 2 ** 52, zip64: true }), "zip_invalid");
});

t.test("a second central directory between the first one and its end record is refused", async (t) => {
  const host = await marketplaceHost(t);
  const evil = pluginZip([{ name: "a.js", content: "evil" }]);
  const good = pluginZip([{ name: "a.js", content: "good" }]);
  const end = good.subarray(good.indexOf("PK\u0005\u0006"));
  const directory = evil.subarray(evil.indexOf("PK\u0001\u0002"), evil.indexOf("PK\u0005\u0006"));
  await host.refusesZip(t, Buffer.concat([good.subarray(0, -end.length), directory, end]), "zip_invalid");
});

t.test("an archive with bytes in front whose offsets do not know of them is refused", async (t) => {
  const host = await marketplaceHost(t);
  await host.refusesZip(t, Buffer.concat([Buffer.from("#!/bin/sh\n"), pluginZip(files)]), "zip_invalid");
});

t.test("an archive behind another one, as the last one's comment or its prefix, is one archive only", async (t) => {
  const host = await marketplaceHost(t);
  const inner = forgedZip([{ name: "inner.js", content: "x" }]);
  await host.refusesZip(t, Buffer.concat([pluginZip(files), inner]), "zip_invalid");
  const installed = await host.accepts(t, pluginZip(files, { prefix: inner }));
  t.strictSame(Object.keys(installed).toSorted(), ["a.js", "hidden.js", "plugin.yaml"]);
});
