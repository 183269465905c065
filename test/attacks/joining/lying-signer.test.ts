import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import t from "tap";
import { Join } from "../../../commands/joining/join.ts";
import { joinLine } from "../../../lib/contract/joining/token.ts";
import { signerHex } from "../../support/hub/joining.ts";
import { runHere } from "../../support/programs/run-here.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** A hub that names signers of its own to hosts that join: they would run what it has signed. */

const TOKEN = `sjt_${"t".repeat(43)}`;
const [honest, lie] = [signerHex(), signerHex()];
const project = { project_id: `prj_${"a".repeat(32)}`, project_name: "Harbour", labels: {} };

const LIES: Record<string, { state: string; signers: string[] }> = {
  "another signer": { state: "joined", signers: [lie] },
  "another signer beside the one of the invite": { state: "joined", signers: [honest, lie] },
  "another signer while the host waits": { state: "pending", signers: [lie] },
  "no signer at all": { state: "joined", signers: [] },
};

for (const [what, answer] of Object.entries(LIES))
  t.test(`a hub that names ${what} is refused, and nothing is kept`, async (t) => {
    const folder = temporaryFolder(t);
    process.env["XDG_CONFIG_HOME"] = folder;
    process.env["SEALIFT_TOKEN"] = joinLine(TOKEN, [honest]);
    const server = createServer((_request, response) => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ ...project, ...answer, host_id: "pier-7" }));
    });
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    t.teardown(() => server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const out = join(folder, "out");
    const ended = await runHere([Join], ["join", url, "--yes", "--host-id", "pier-7", "--out", out]);
    t.match(ended, { code: 4, stderr: /signer_untrusted[^]*The hub names signers with the fingerprint/ });
    for (const file of ["host.env", "signer.pub", "watch.yaml"]) t.notOk(existsSync(join(out, file)), file);
  });
