import t from "tap";
import { newAuthor, pinning } from "../../support/host/author.ts";
import { marketplaceHost, pluginZip } from "../../support/host/marketplace-host.ts";

const bytes = pluginZip([{ name: "src/main.js", content: "export default 2;\n" }]);

t.test("a hub that drops, swaps or repeats the author's headers gets nothing installed", async (t) => {
  const host = await marketplaceHost(t);
  const [author, other] = [newAuthor(), newAuthor()];
  const mine = author.headers(bytes);
  const theirs = other.headers(bytes);
  const { "x-signature-ed25519": signature, "x-signer": signer } = mine;
  const lies: Record<string, [headers: Record<string, string | string[]>, code: string]> = {
    "both dropped": [{}, "signature_missing"],
    "another author's": [theirs, "signer_untrusted"],
    "another author's key": [{ ...mine, "x-signer": theirs["x-signer"]! }, "signer_untrusted"],
    "another author's signature": [
      { ...mine, "x-signature-ed25519": theirs["x-signature-ed25519"]! },
      "signature_invalid",
    ],
    "one in the place of the other": [{ "x-signature-ed25519": signer!, "x-signer": signature! }, "signature_invalid"],
    "the signature twice": [{ ...mine, "x-signature-ed25519": [signature!, signature!] }, "signature_invalid"],
    "two signatures": [
      { ...mine, "x-signature-ed25519": [signature!, theirs["x-signature-ed25519"]!] },
      "signature_invalid",
    ],
    "two keys": [{ ...mine, "x-signer": [signer!, theirs["x-signer"]!] }, "signature_invalid"],
  };
  for (const [what, [headers, code]] of Object.entries(lies)) {
    host.offer(bytes, headers as Record<string, string>);
    await t.test(what, (t) => host.refuses(t, { code } as never, pinning(author)));
  }
});
