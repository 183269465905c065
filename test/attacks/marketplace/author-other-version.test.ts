import t from "tap";
import { descriptorEntry, forgedZip } from "../../support/forged/zip.ts";
import { newAuthor, pinning } from "../../support/host/author.ts";
import { marketplaceHost, SLUG } from "../../support/host/marketplace-host.ts";

t.test("an old version with its author's signature is refused under a new label", async (t) => {
  const host = await marketplaceHost(t);
  const author = newAuthor();
  const old = forgedZip([descriptorEntry(SLUG, "0.9.0"), { name: "src/main.js", content: "// with a hole\n" }]);
  host.offer(old, author.headers(old));
  await host.refuses(t, { code: "descriptor_mismatch", says: "0.9.0" }, pinning(author));
});
