import t from "tap";
import { descriptorEntry, forgedZip } from "../../support/forged/zip.ts";
import { newAuthor, pinning } from "../../support/host/author.ts";
import { marketplaceHost } from "../../support/host/marketplace-host.ts";

t.test("another plugin of the same author is refused, although its signature holds", async (t) => {
  const host = await marketplaceHost(t);
  const author = newAuthor();
  const other = forgedZip([descriptorEntry("admin-shell", "1.1.0"), { name: "src/main.js", content: "x" }]);
  host.offer(other, author.headers(other));
  await host.refuses(t, { code: "descriptor_mismatch", says: "admin-shell" }, pinning(author));
});
