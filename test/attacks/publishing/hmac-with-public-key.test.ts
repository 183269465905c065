import { createPublicKey } from "node:crypto";
import t from "tap";
import { AUDIENCE, startWorkflow } from "../../support/hub/publishers.ts";

t.test("a token that is signed with the issuer's public key as a shared secret is refused", async (t) => {
  const { hub, trust, claims, exchange, issuer } = await startWorkflow(t);
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  await trust({ target: "plugin:tide" });
  const pem = createPublicKey({ key: issuer.jwk, format: "jwk" }).export({ format: "pem", type: "spki" });
  const now = Math.floor(Date.now() / 1000);
  const payload = { iss: issuer.url, aud: AUDIENCE, jti: "1", iat: now, exp: now + 60, ...claims };
  for (const secret of [String(pem), JSON.stringify(issuer.jwk), issuer.jwk.n!])
    for (const alg of ["HS256", "HS384", "HS512"]) {
      const token = await issuer.sign(payload, { alg, key: new TextEncoder().encode(secret.padEnd(64, "=")) });
      const answer = await exchange("plugin:tide", token);
      t.match(answer, { status: 401, body: { detail: /algorithm/ } }, alg);
    }
});
