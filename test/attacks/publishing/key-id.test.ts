import t from "tap";
import { AUDIENCE, startWorkflow } from "../../support/hub/publishers.ts";

t.test("the id of a key is looked up in the issuer's list, and is neither a path nor an address", async (t) => {
  const { hub, trust, claims, exchange, issuer } = await startWorkflow(t);
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  await trust({ target: "plugin:tide" });
  const now = Math.floor(Date.now() / 1000);
  const payload = { iss: issuer.url, aud: AUDIENCE, jti: "1", iat: now, exp: now + 60, ...claims };
  for (const kid of ["../../../../etc/passwd", "http://127.0.0.1:1/keys", "'; drop table api_keys; --", "2"]) {
    const answer = await exchange("plugin:tide", await issuer.sign(payload, { kid }));
    t.match(answer, { status: 401, body: { detail: /not signed by a key of its issuer/ } }, kid);
  }
  const asked = new Set(issuer.asked);
  t.same([...asked].toSorted(), ["/.well-known/openid-configuration", "/keys"]);
  t.ok(issuer.asked.length <= 4, `unknown ids do not make the hub ask each time: ${issuer.asked.length}`);
});
