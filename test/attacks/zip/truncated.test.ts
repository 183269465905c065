import t from "tap";
import { marketplaceHost, pluginZip } from "../../support/host/marketplace-host.ts";
import { createTarget, publishZip } from "../../support/hub/marketplace-publication.ts";

const whole = pluginZip(
  [
    { name: "src/main.js", content: "export default 1;\n", method: 8 },
    { name: "data.bin", content: Buffer.alloc(5000, 7), descriptor: true },
  ],
  { comment: "0123456789012345678901234567890123456789" },
);
const cuts = [1, 20, 40, 41, 61, 62, 70, 150, 250, 1000, whole.length - 100, whole.length - 10, whole.length - 1];

t.test("an archive that was cut anywhere and signed so is refused", async (t) => {
  const host = await marketplaceHost(t);
  for (const cut of cuts) await host.refusesZip(t, whole.subarray(0, whole.length - cut), "zip_invalid");
});

t.test("an archive with bytes missing in its middle is refused", async (t) => {
  const host = await marketplaceHost(t);
  for (const at of [10, 100, 2000, whole.indexOf("PK\u0001\u0002") + 3]) {
    const without = Buffer.concat([whole.subarray(0, at), whole.subarray(at + 7)]);
    await host.refusesZip(t, without, "zip_invalid");
  }
});

t.test("the hub refuses such archives when they are published", async (t) => {
  const target = await createTarget(t);
  for (const cut of cuts) {
    const answer = await publishZip(target, whole.subarray(0, whole.length - cut));
    t.match({ status: answer.status, code: answer.body.code }, { status: /^4/, code: /^(zip_invalid|bad_request)$/ });
  }
});
