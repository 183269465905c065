import t from "tap";
import { parsePublicKey } from "../../../lib/artifact/signatures/key-files.ts";
import { base64, newAuthor, pinning } from "../../support/host/author.ts";
import { marketplaceHost, pluginZip } from "../../support/host/marketplace-host.ts";

const bytes = pluginZip([]);
/** The neutral point, a point of order 8, and the neutral point in another encoding: y = p + 1. */
const LOW = [
  "01".padEnd(64, "0"),
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "ee".padEnd(62, "f") + "7f",
];

t.test("a key of low order verifies nothing, and cannot be pinned", async (t) => {
  const host = await marketplaceHost(t);
  for (const hex of LOW) {
    const publicKey = Buffer.from(hex, "hex");
    t.throws(() => parsePublicKey(hex, "signer.pub"), { code: "key_file_invalid" }, hex);
    // With A and R of low order and S = 0, the equation without cofactors holds for many messages.
    const signature = base64(Buffer.concat([publicKey, Buffer.alloc(32)]));
    host.offer(bytes, { "x-signature-ed25519": signature, "x-signer": base64(publicKey) });
    await host.refuses(t, { code: "signer_untrusted" }, pinning(newAuthor()));
    host.offer(bytes, { "x-signature-ed25519": signature, "x-signer": base64(publicKey) });
    await host.refuses(t, { code: "signature_invalid" }, { source: { trust: { pinned: [publicKey] } } });
    host.offer(bytes, { "x-signature-ed25519": signature, "x-signer": base64(publicKey) });
    await host.refuses(t, { code: "signature_invalid" }, { source: { trust: { onFirstUse: true } } });
  }
});
