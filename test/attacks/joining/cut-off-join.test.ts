import { readFile, writeFile } from "node:fs/promises";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { Join } from "../../../commands/joining/join.ts";
import { joinLine } from "../../../lib/contract/joining/token.ts";
import { startHub } from "../../support/hub/harness.ts";
import { invited } from "../../support/hub/joining.ts";
import { runHere } from "../../support/programs/run-here.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** A join that is cut off before the hub has heard of it, or before the host hears of the answer. */

type Cut = "before" | "after" | "never";

/** Starts a way to a hub that cuts connections. @param cuts one for each request; none for those that follow */
async function wayTo(t: Test, hubUrl: string, cuts: Cut[]): Promise<string> {
  const server = createServer((asked, response) => {
    const cut = cuts.shift() ?? "never";
    if (cut === "before") return void response.socket!.destroy();
    const { method, headers, url } = asked;
    const forwarded = request(new URL(url!, hubUrl), { method: method!, headers }, (answer) => {
      if (cut === "after") return void response.socket!.destroy();
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    asked.pipe(forwarded);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

for (const approve of [false, true])
  t.test(
    `a join ${approve ? "that needs approval " : ""}that is cut off is repeated, and makes no second key`,
    async (t) => {
      const hub = await startHub(t);
      const { at, invite, signers, list } = await invited(hub);
      const folder = temporaryFolder(t);
      process.env["XDG_CONFIG_HOME"] = folder;
      const { token } = await invite({ approve });
      process.env["SEALIFT_TOKEN"] = joinLine(token, signers);
      const cuts: Cut[] = [
        "before",
        "after",
        ...(approve ? (["never", "before", "after"] as const) : ["after" as const]),
      ];
      const url = await wayTo(t, hub.url, cuts);
      const out = join(folder, "out");
      const words = ["join", url, "--yes", "--host-id", "pier-7", "--out", out, "--wait", "0"];
      const secrets = new Set<string>();
      const codes: number[] = [];
      for (let attempt = 0; attempt < 10; attempt++) {
        const { code } = await runHere([Join], words);
        codes.push(code);
        secrets.add(await readFile(join(out, "host.env"), "utf8"));
        if (code === 0) break;
        if (approve && attempt === 2)
          t.equal((await hub.call("POST", `${at}/joined-hosts/pier-7/approve`)).status, 204);
      }
      t.strictSame(codes, approve ? [75, 75, 75, 75, 75, 0] : [75, 75, 75, 0]);
      t.equal(secrets.size, 1, "with the same secrets each time");
      const { items } = (await hub.call("GET", "/devkeys/api-keys")).body as { items: { host: string | null }[] };
      t.equal(items.filter(({ host }) => host === "pier-7").length, 1, "the hub has one key");
      t.match(await list(), [{ host_id: "pier-7", state: "joined" }]);
      const { items: invites } = (await hub.call("GET", `${at}/host-invites`)).body;
      t.match(invites, [{ used: 1 }]);
    },
  );

t.test(
  "a join that is cut off while it writes its files goes on with them, and replaces none of a person",
  async (t) => {
    const hub = await startHub(t);
    const { invite, signers } = await invited(hub);
    const folder = temporaryFolder(t);
    process.env["XDG_CONFIG_HOME"] = folder;
    process.env["SEALIFT_TOKEN"] = joinLine((await invite()).token, signers);
    const words = ["join", hub.url, "--yes", "--host-id", "pier-7", "--out", folder];
    await writeFile(join(folder, "watch.yaml"), "hub_url: mine\n");
    t.match(await runHere([Join], words), { code: 2, stderr: /watch\.yaml exists already/ });
    t.equal(await readFile(join(folder, "watch.yaml"), "utf8"), "hub_url: mine\n");
    t.equal(await readFile(join(folder, "signer.pub"), "utf8"), `${signers[0]}\n`);
    await writeFile(join(folder, "host.env"), "SEALIFT_API_KEY=somebody's\n");
    t.match(await runHere([Join], words), { code: 2, stderr: /does not hold the key and the credential/ });
  },
);
