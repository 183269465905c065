// Holds: names that read otherwise than they are (lib/artifact/tree/safe-path.ts)
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

t.test(
  "a name that reads otherwise than it is is refused when it is published, as a file and as a folder",
  async (t) => {
    const target = await createTarget(t);
    for (const name of ["txt.\u202eexe.js", "a\u2066b.js", "a\u200bb.js", "b\u00adc/d.js", "\ufeffa.js", "a\u2028.js"])
      t.match(await publishZip(target, pluginZip([{ name, content }])), {
        ...{ status: 422, body: { code: "member_unsafe", error: /nobody sees/ } },
      });
    const joined = pluginZip([{ name: "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645.js", content }]);
    t.equal((await publishZip(target, joined)).status, 201, "joiners are part of words");
  },
);
