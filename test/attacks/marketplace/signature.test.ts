import t from "tap";
import type { Code } from "../../../lib/contract/codes.ts";
import { marketplaceHost, pluginZip } from "../../support/host/marketplace-host.ts";
import { DEVELOPER_SECRET, signatureOf } from "../../support/hub/marketplace-hub.ts";

const bytes = pluginZip([{ name: "src/main.js", content: "export default 2;\n" }]);
const right = signatureOf(bytes);
const hex = right.slice("hmac_sha256:".length);
const withLetters = /[a-f]/.test(hex);

const HEADERS: Record<string, [header: string | null, code: Code]> = {
  "a missing X-Signature": [null, "signature_missing"],
  "an empty X-Signature": ["", "signature_missing"],
  "the signature of another secret": [signatureOf(bytes, "another secret"), "signature_invalid"],
  "the signature of other bytes": [signatureOf(Buffer.from("other bytes")), "signature_invalid"],
  "one wrong digit": [`hmac_sha256:${hex.slice(0, -1)}${hex.endsWith("0") ? "1" : "0"}`, "signature_invalid"],
  zeros: [`hmac_sha256:${"0".repeat(64)}`, "signature_invalid"],
  "no prefix": [hex, "signature_invalid"],
  "the prefix of another algorithm": [`sha256:${hex}`, "signature_invalid"],
  "a prefix in upper case": [`HMAC_SHA256:${hex}`, "signature_invalid"],
  "a prefix with an equals sign": [`hmac_sha256=${hex}`, "signature_invalid"],
  "the prefix twice": [`hmac_sha256:hmac_sha256:${hex}`, "signature_invalid"],
  "upper-case hex": [`hmac_sha256:${hex.toUpperCase()}`, "signature_invalid"],
  "short hex": [`hmac_sha256:${hex.slice(0, 62)}`, "signature_invalid"],
  "long hex": [`hmac_sha256:${hex}00`, "signature_invalid"],
  "no hex at all": ["hmac_sha256:", "signature_invalid"],
  base64: [`hmac_sha256:${Buffer.from(hex, "hex").toString("base64")}`, "signature_invalid"],
  "two signatures": [`${right}, ${right}`, "signature_invalid"],
};

t.test("an artifact without its developer's signature is refused before it is opened", async (t) => {
  t.ok(withLetters, "the upper-case digits differ");
  const host = await marketplaceHost(t);
  for (const [what, [header, code]] of Object.entries(HEADERS)) {
    await t.test(what, async (t) => {
      host.offer(bytes, { "x-signature": header });
      host.hub.repent();
      await host.refuses(t, { code });
      t.notOk(host.events.some((event) => event.event === "verify.ok"));
      t.equal(host.hub.to("install").length, 1, "it is not asked for again");
      t.equal(host.hub.to("report").length, 1, "the hub hears of it");
    });
  }
});

t.test("the operator's own secret decides, as text and not decoded", async (t) => {
  const host = await marketplaceHost(t);
  const secrets = ["00ff", "AAAA", " padded ", "ключ", `${DEVELOPER_SECRET}\n`];
  for (const secret of secrets) {
    const source = { signingSecret: secret };
    host.offer(bytes, {});
    await host.refuses(t, { code: "signature_invalid" }, { source });
    host.offer(bytes, { "x-signature": signatureOf(bytes, secret) });
    t.match(await host.deploy(undefined, { source }), { outcome: "deployed" }, JSON.stringify(secret));
  }
});

t.test("bytes that change on their way are refused, with the true length and with another", async (t) => {
  const host = await marketplaceHost(t);
  const changed = Buffer.from(bytes);
  changed[40]! ^= 1;
  for (const sent of [changed, Buffer.concat([bytes, Buffer.from("x")]), bytes.subarray(0, -1), Buffer.alloc(0)]) {
    host.offer(sent, { "x-signature": right });
    await host.refuses(t, { code: "signature_invalid" });
  }
});
