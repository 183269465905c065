import t from "tap";
import { startIssuer } from "../../support/hub/issuer.ts";
import { AUDIENCE, startWorkflow } from "../../support/hub/publishers.ts";

t.test("a token of an issuer that the target does not trust is refused, and its issuer is never asked", async (t) => {
  const { hub, trust, run, exchange, issuer } = await startWorkflow(t);
  const stranger = await startIssuer(t);
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  await trust({ target: "plugin:tide" });
  const before = issuer.asked.length;
  const now = Math.floor(Date.now() / 1000);
  const own = await stranger.sign({ iss: stranger.url, aud: AUDIENCE, iat: now, exp: now + 60, repository_id: "41" });
  t.match(await exchange("plugin:tide", own), { status: 403, body: { code: "forbidden" } });
  t.same(stranger.asked, [], "nobody makes the hub ask an address");
  // The stranger says that it is the issuer: the signature is by a key that the issuer does not have.
  const forged = await stranger.sign({ iss: issuer.url, aud: AUDIENCE, iat: now, exp: now + 60, repository_id: "41" });
  t.match(await exchange("plugin:tide", forged), { status: 401, body: { code: "key_rejected" } });
  t.ok(issuer.asked.length >= before);
  t.equal((await exchange("plugin:tide", await run())).status, 201);
});
