// Holds: which grants of an identity provider's people are read (lib/options/sign-on.ts)
import t from "tap";
import { flagsLayer } from "../../../lib/options/layers.ts";
import { resolveOptions } from "../../../lib/options/resolve.ts";
import { signOn } from "../../../lib/options/sign-on.ts";

const { webOidcGrant } = signOn;
const read = async (given: string) =>
  (await resolveOptions({ webOidcGrant }, [flagsLayer({ "web-oidc-grant": [given] })])).webOidcGrant;

t.test("a grant names a value, an owner, known scopes, and a project if it is for one", async (t) => {
  const grant = { value: "ops", owner: "acme", scopes: ["read", "publish"], projectId: null };
  t.strictSame((await read("ops=acme:read"))[0], { ...grant, scopes: ["read"] });
  t.match(await read("a=b=acme:read:prj_1"), [{ value: "a=b", projectId: "prj_1" }]);
  t.strictSame(new Set((await read("ops=acme:publish+read"))[0]!.scopes), new Set(grant.scopes));
  for (const wrong of [
    "ops",
    "ops=acme",
    "=acme:read",
    "ops=:read",
    "ops=acme:",
    "ops=acme:read:",
    "ops=acme:read+fly",
  ])
    await t.rejects(read(wrong), { code: "usage", message: /VALUE=OWNER:SCOPE\+SCOPE/ }, wrong);
  await t.rejects(read("ops=acme:read+read"), { code: "usage" }, "a scope twice");
});
