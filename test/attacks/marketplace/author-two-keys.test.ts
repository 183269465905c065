import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { publicKeyFrom, publicKeysFrom } from "../../../commands/shell/signer.ts";
import { newAuthor } from "../../support/host/author.ts";
import { marketplaceHost, pluginZip } from "../../support/host/marketplace-host.ts";

t.test("a pinned file with two keys trusts both and no third, and is not a single key", async (t) => {
  const [first, second, third] = [newAuthor(), newAuthor(), newAuthor()];
  const file = join(t.testdir({}), "pins.pub");
  writeFileSync(file, `${first.publicKey.toString("hex")}\n${second.publicKey.toString("hex")} # since May\n`);
  const pinned = await publicKeysFrom([file]);
  const bytes = pluginZip([]);
  for (const [author, code] of [
    [first, undefined],
    [second, undefined],
    [third, "signer_untrusted"],
  ] as const) {
    const host = await marketplaceHost(t);
    const version = host.offer(bytes, author.headers(bytes));
    const variant = { source: { trust: { pinned } } };
    if (code === undefined) t.equal((await host.deploy(version, variant)).outcome, "deployed");
    else await host.refuses(t, { code }, variant);
  }
  await t.rejects(publicKeyFrom(file), { code: "key_file_invalid", message: /holds 2 keys/ });
  writeFileSync(file, `${first.publicKey.toString("hex")}\nnot a key\n`);
  await t.rejects(publicKeysFrom([file]), { code: "key_file_invalid" }, "one that cannot be read spoils all");
});
