import { readFileSync } from "node:fs";
import t from "tap";
import { examine } from "../../../lib/agent/doctor.ts";
import type { Finding } from "../../../lib/agent/finding.ts";
import { layoutOf } from "../../../lib/releases/layout.ts";
import { currentRelease } from "../../../lib/releases/release.ts";
import { descriptorEntry, forgedZip } from "../../support/forged/zip.ts";
import { newAuthor, pinning } from "../../support/host/author.ts";
import { marketplaceHost, SLUG } from "../../support/host/marketplace-host.ts";

t.test("doctor names a plugin whose author's key was not pinned, and the release says who signed", async (t) => {
  const host = await marketplaceHost(t);
  const findings = async (): Promise<Finding[]> => {
    const found = await Array.fromAsync(examine({ projectRoot: host.root, supervisor: { name: "none" } }));
    return found.filter(({ check, status }) => check === `target plugin-${SLUG}` && status === "warning");
  };
  t.match(await findings(), [
    { message: /^1\.0\.0 was deployed without a pinned signer/, hint: /--signer-public-key/ },
  ]);

  const author = newAuthor();
  const bytes = forgedZip([descriptorEntry(SLUG, "1.1.0"), { name: "src/main.js", content: "x" }]);
  const version = host.offer(bytes, author.headers(bytes));
  const result = await host.deploy(version, pinning(author));
  t.equal(result.outcome, "deployed", result.error?.message ?? "deployed");
  t.strictSame(await findings(), []);
  const signer = author.publicKey.toString("hex");
  t.equal((await currentRelease(layoutOf(host.root), `plugin-${SLUG}`))?.signer, signer);
  t.match(JSON.parse(readFileSync(result.report!, "utf8")), { signer });
});
