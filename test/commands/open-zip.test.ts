import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { OpenArtifact } from "../../commands/publishing/open.ts";
import { newAuthor } from "../support/host/author.ts";
import { pluginOf } from "../support/hub/author-hub.ts";
import { runHere } from "../support/programs/run-here.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

t.test("artifact open verifies a ZIP by its author's signature", async (t) => {
  const file = join(temporaryFolder(t), "tide.zip");
  const bytes = pluginOf("1.0.0");
  await writeFile(file, bytes);
  const [author, other] = [newAuthor(), newAuthor()];
  const signatureOf = (signed: Buffer) => author.headers(signed)["x-signature-ed25519"]!;
  const open = (signature: string, key: Buffer, ...more: string[]) =>
    runHere(
      [OpenArtifact],
      ["artifact", "open", file, "--signer-public-key", key.toString("hex"), "--signature", signature, ...more],
    );
  const signer = author.publicKey.toString("hex");
  const good = await open(signatureOf(bytes), author.publicKey);
  t.match(good, { code: 0, stderr: new RegExp(`^The author's signature holds: 2 files, .*\\nSigned by ${signer}\\.`) });
  t.match(JSON.parse((await open(signatureOf(bytes), author.publicKey, "--json")).stdout), {
    ...{ verified: true, signer, format: "zip", files: 2, manifest: null },
  });
  for (const [signature, key] of [
    [signatureOf(bytes), other.publicKey],
    [signatureOf(pluginOf("1.1.0")), author.publicKey],
  ] as const)
    t.match(await open(signature, key), { code: 4, stderr: /signature_invalid/ });
  t.match(await open("AA==", author.publicKey), { code: 2, stderr: /--signature/ });
  t.match(await open(signatureOf(bytes), author.publicKey, "--out", `${file}.tree`), { code: 2, stderr: /is a ZIP/ });

  const broken = bytes.subarray(0, -1);
  await writeFile(file, broken);
  t.match(await open(signatureOf(broken), author.publicKey), { code: 4, stderr: /zip_invalid/ });
});
