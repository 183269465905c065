import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { replaceableProgram } from "../../../../lib/agent/upgrade/own-program.ts";
import { SealiftError } from "../../../../lib/contract/errors.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const NOBODY = ["/bin/false"] as const;

t.test("where npm or a checkout holds the program, the command there is named", async (t) => {
  for (const [path, command] of [
    ["/usr/local/lib/node_modules/sealift", "npm install --global sealift@latest"],
    ["/srv/app/node_modules/@acme/sealift", "npm install @acme/sealift@latest"],
    ["/home/me/sealift", "git pull && npm ci"],
  ] as const) {
    const error = await replaceableProgram({ isOneFile: false, path, asking: NOBODY }).catch(
      (thrown: unknown) => thrown,
    );
    t.ok(error instanceof SealiftError);
    t.match(error, { code: "upgraded_elsewhere", exitCode: 2, hint: `Upgrade it with: ${command}` });
  }
});

t.test("where Debian's package manager owns the file, the package is named", async (t) => {
  const folder = temporaryFolder(t);
  const dpkg = join(folder, "dpkg-query");
  writeFileSync(dpkg, '#!/bin/sh\n[ "$1" = --search ] && echo "sealift:amd64: $2"\n');
  chmodSync(dpkg, 0o755);
  const path = join(folder, "sealift");
  const refused = replaceableProgram({ isOneFile: true, path, asking: [dpkg, "--search"] });
  await t.rejects(refused, { code: "upgraded_elsewhere", hint: /apt install \.\/sealift_/ });
});

t.test("a file that nobody owns may be replaced, where its folder can be written", async (t) => {
  const path = join(temporaryFolder(t), "sealift");
  t.equal(await replaceableProgram({ isOneFile: true, path, asking: NOBODY }), path);
  t.equal(await replaceableProgram({ isOneFile: true, path, asking: ["/no/such/dpkg-query"] }), path);
  const away = { isOneFile: true, path: "/proc/self/no-such-folder/sealift", asking: NOBODY };
  await t.rejects(replaceableProgram(away), { code: "program_unusable" });
});
