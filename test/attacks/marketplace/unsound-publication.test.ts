/** Archives that the hub published, and that every host refused. */
import { deflateRawSync } from "node:zlib";
import t from "tap";
import { descriptorEntry, forgedZip } from "../../support/forged/zip.ts";
import { pluginZip, SLUG } from "../../support/host/marketplace-host.ts";
import { createTarget, publishZip } from "../../support/hub/marketplace-publication.ts";

const content = "some text, some text, some text";

t.test("contents that cannot be unpacked are refused when they are published", async (t) => {
  const target = await createTarget(t);
  const broken = deflateRawSync(content);
  broken.fill(0xff, 2, 8);
  const unsound: Record<string, Buffer> = {
    "broken deflate data": pluginZip([{ name: "a.js", content, method: 8, data: broken }]),
    "a size that is too large": pluginZip([{ name: "a.js", content, method: 8, declared: { size: 1_000 } }]),
    "a size that is too small": pluginZip([{ name: "a.js", content, method: 8, declared: { size: 5 } }]),
    "a wrong CRC": pluginZip([{ name: "a.js", content, method: 8, declared: { crc: 1 } }]),
    "a large file with a wrong CRC": pluginZip([
      { name: "a.bin", content: Buffer.alloc(3_000_000, 1), method: 8, declared: { crc: 1 } },
    ]),
  };
  for (const [what, archive] of Object.entries(unsound)) {
    const answer = await publishZip(target, archive);
    t.match(answer, { status: 422, body: { code: "zip_invalid" } }, what);
  }
});

t.test("a plugin without its descriptor is refused when it is published", async (t) => {
  const target = await createTarget(t);
  const without = [
    [{ name: "src/main.js", content }],
    [
      { name: "lib/plugin.yaml", content },
      { name: "main.js", content },
    ],
    [{ name: "plugin.yaml/main.js", content }],
  ];
  for (const entries of without)
    t.match(await publishZip(target, forgedZip(entries)), { status: 422, body: { code: "descriptor_invalid" } });
  for (const top of ["", "tides-1.0.0/"]) {
    const archive = forgedZip([descriptorEntry(SLUG, "1.0.0", top), { name: `${top}main.js`, content }]);
    t.equal((await publishZip(target, archive)).status, 201, top);
  }
});
