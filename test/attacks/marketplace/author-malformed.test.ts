import t from "tap";
import { base64, newAuthor, pinning } from "../../support/host/author.ts";
import { marketplaceHost, pluginZip } from "../../support/host/marketplace-host.ts";

const bytes = pluginZip([]);

t.test("headers of another form are refused before any byte", async (t) => {
  const host = await marketplaceHost(t);
  const author = newAuthor();
  const { "x-signature-ed25519": signature, "x-signer": signer } = author.headers(bytes) as Record<
    "x-signature-ed25519" | "x-signer",
    string
  >;
  const wrong: Record<string, Record<string, string | null>> = {
    "a signature without its key": { "x-signer": null },
    "a key without its signature": { "x-signature-ed25519": null },
    "an empty signature": { "x-signature-ed25519": "" },
    hexadecimal: { "x-signature-ed25519": Buffer.from(signature, "base64").toString("hex") },
    base64url: { "x-signer": author.publicKey.toString("base64url") },
    "no padding": { "x-signature-ed25519": signature.replace(/=+$/, "") },
    "63 bytes": { "x-signature-ed25519": base64(Buffer.from(signature, "base64").subarray(1)) },
    "65 bytes": { "x-signature-ed25519": base64(Buffer.concat([Buffer.from(signature, "base64"), Buffer.alloc(1)])) },
    "a key of 31 bytes": { "x-signer": base64(author.publicKey.subarray(1)) },
    "bits that no byte needs": { "x-signature-ed25519": signature.replace(/A==$|[^A]==$/, "B==") },
    "a name before it": { "x-signature-ed25519": `ed25519:${signature}` },
  };
  for (const [what, headers] of Object.entries(wrong)) {
    host.offer(bytes, { "x-signature-ed25519": signature, "x-signer": signer, ...headers });
    await t.test(what, (t) => host.refuses(t, { code: "signature_invalid" }, pinning(author)));
    t.notOk(
      host.events.some(({ event }) => event === "fetch.started"),
      what,
    );
  }
});
