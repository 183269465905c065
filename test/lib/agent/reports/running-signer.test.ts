import { readFileSync } from "node:fs";
import t from "tap";
import { newAuthor } from "../../../support/host/author.ts";
import { SLUG } from "../../../support/host/marketplace-host.ts";
import { pluginHost } from "../../../support/host/plugin-host.ts";
import { authorHub } from "../../../support/hub/author-hub.ts";

t.test("a host tells who has signed what it runs, also when another version is refused", async (t) => {
  const { hub, publish } = await authorHub(t);
  const author = newAuthor();
  const connection = { hubUrl: hub.url, apiKey: hub.adminKey };
  t.equal((await publish("1.0.0", author)).status, 201);
  t.equal((await publish("1.1.0")).status, 201);
  const shown = async () =>
    (await hub.call("GET", `/app/deployments/deployments/plugin/${SLUG}/hosts`)).body["host"] as Record<
      string,
      unknown
    >;

  const host = await pluginHost(t, { ...connection, trust: { pinned: [author.publicKey] } });
  const deployed = await host.deploy("1.0.0");
  t.equal(deployed.outcome, "deployed");
  const running = { running_version: "1.0.0", running_signer: author.publicKey.toString("hex") };
  t.match(JSON.parse(readFileSync(deployed.report!, "utf8")), running);
  t.match(await shown(), running);
  t.match(await host.deploy("1.1.0"), { outcome: "failed", error: { code: "signature_missing" } });
  t.match(await shown(), { version: "1.1.0", status: "failed", ...running });

  const open = await pluginHost(t, connection);
  t.equal((await open.deploy("1.0.0")).outcome, "deployed");
  t.match(await shown(), { running_version: "1.0.0", running_signer: null }, "nobody's signature was demanded");
});
