import t from "tap";
import { startIssuer } from "../../support/hub/issuer.ts";
import { signOnBy } from "../../support/hub/sign-on.ts";
import { startStaging } from "../../support/hub/staging.ts";
import { Visitor } from "../../support/hub/web.ts";

t.test("a person does not approve in a session what a key of theirs has staged, nor with a second key", async (t) => {
  const issuer = await startIssuer(t);
  const scopes = ["keys", "projects", "publish", "read"] as const;
  const { hub, project, upload, staged, approve } = await startStaging(t, {
    ...signOnBy(issuer, [{ scopes, owner: "admin" }]),
    rateLimits: false,
  });
  const signedIn = async (person: string): Promise<Visitor> => {
    issuer.claims = { ...issuer.claims, sub: person };
    const visitor = new Visitor(hub.url);
    const { headers } = await visitor.request("/sign-in/oidc");
    await visitor.request(issuer.answer(headers.get("location")!));
    return visitor;
  };
  const keyOf = async (visitor: Visitor, scope: string): Promise<string> => {
    const { html } = await visitor.submit("/keys", "/keys", { name: "by hand", scope });
    return /slk_[\w-]{20,}/.exec(html)![0];
  };
  const at = `/staging/${project}/1.0.0`;
  const submit = async (visitor: Visitor) => {
    const [{ sha256 }] = (await staged(hub.adminKey)) as [{ sha256: string }];
    return visitor.submit(at, `${at}/approve`, { sha256 });
  };

  const alice = await signedIn("alice");
  await upload(await keyOf(alice, "publish"), "1.0.0", "true");
  t.match(await submit(alice), { status: 403, html: /was staged by the same person/ });
  t.notMatch((await alice.request(at)).html, ">Approve</summary>", "and the page has no form for it");
  t.match(await approve(await keyOf(alice, "publish"), "1.0.0"), { status: 403, body: { code: "own_approval" } });
  t.match(await submit(await signedIn("alice")), { status: 403 }, "nor in another session");
  const bob = await signedIn("bob");
  t.match((await bob.request(at)).html, ">Approve</summary>");
  t.equal((await submit(bob)).status, 303, "another person does");
  const { items } = (await hub.call("GET", `/devkeys/projects/${project}/versions`)).body;
  t.match(items, [{ approved_by: `bob by ${issuer.url}` }]);
});
