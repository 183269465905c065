import t from "tap";
import { createProject } from "../../support/hub/harness.ts";
import { startWorkflow } from "../../support/hub/publishers.ts";

t.test("a slow issuer lets a former owner trust no workflow for a target that is lost", async (t) => {
  const { hub, issuer, trust, run, exchange } = await startWorkflow(t);
  const { id } = await createProject(hub);
  const issue = async (owner: string) =>
    (
      await hub.call("POST", "/devkeys/api-keys", {
        json: { name: owner, owner, scopes: ["keys", "projects", "publish"] },
      })
    ).body as { id: string; key: string };
  const [former, next] = [await issue("former"), await issue("next")];
  const give = (owner: string) => hub.call("POST", `/devkeys/projects/${id}/transfer`, { json: { owner } });
  t.equal((await give("former")).status, 200);

  const document = { issuer: issuer.url, jwks_uri: `${issuer.url}/keys` };
  const slowly = (work: () => Promise<unknown>) => {
    issuer.answers.set("/.well-known/openid-configuration", (response) => {
      issuer.answers.delete("/.well-known/openid-configuration");
      void work().then(() =>
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(document)),
      );
    });
  };
  slowly(() => give("next"));
  t.match(await trust({ target: `project:${id}` }, former.key), { status: 403, body: { code: "forbidden" } });
  t.equal((await exchange(`project:${id}`, await run())).status, 403);
  t.strictSame((await hub.call("GET", "/devkeys/publishers", { key: next.key })).body.items, []);
});

t.test("… and a key that is revoked meanwhile trusts none", async (t) => {
  const { hub, issuer, trust } = await startWorkflow(t);
  const { body } = await hub.call("POST", "/devkeys/api-keys", {
    json: { name: "thief", scopes: ["keys", "projects", "publish"] },
  });
  issuer.answers.set("/.well-known/openid-configuration", (response) => {
    void hub
      .call("DELETE", `/devkeys/api-keys/${body.id}`)
      .then(() =>
        response
          .writeHead(200, { "content-type": "application/json" })
          .end(JSON.stringify({ issuer: issuer.url, jwks_uri: `${issuer.url}/keys` })),
      );
  });
  const creates = { kind: "plugin", slug: "fresh", name: "Fresh" } as const;
  t.match(await trust({ creates }, body.key as string), { status: 401, body: { code: "key_rejected" } });
  t.strictSame((await hub.call("GET", "/devkeys/publishers")).body.items, []);
});
