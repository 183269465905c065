import t from "tap";
import { base64, newAuthor, pinning } from "../../support/host/author.ts";
import { marketplaceHost, pluginZip } from "../../support/host/marketplace-host.ts";

/** The order of the group (RFC 8032, section 5.1). */
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
const bytes = pluginZip([]);

t.test("a signature whose S is not less than the order of the group is refused", async (t) => {
  const host = await marketplaceHost(t);
  const author = newAuthor();
  const signature = Buffer.from(author.headers(bytes)["x-signature-ed25519"]!, "base64");
  const s = BigInt(`0x${Buffer.from(signature.subarray(32)).reverse().toString("hex")}`) + ORDER;
  const high = Buffer.from(s.toString(16).padStart(64, "0"), "hex").reverse();
  const other = base64(Buffer.concat([signature.subarray(0, 32), high]));
  host.offer(bytes, { ...author.headers(bytes), "x-signature-ed25519": other });
  await host.refuses(t, { code: "signature_invalid" }, pinning(author));
});
