import t from "tap";
import { startWorkflow } from "../../support/hub/publishers.ts";

t.test("a token is taken once, for whichever target", async (t) => {
  const { hub, trust, run, exchange } = await startWorkflow(t);
  for (const slug of ["tide", "pilot"]) {
    await hub.call("POST", "/devkeys/projects", { json: { name: slug, kind: "plugin", slug } });
    await trust({ target: `plugin:${slug}` });
  }
  const token = await run();
  t.equal((await exchange("plugin:tide", token)).status, 201);
  for (const slug of ["tide", "pilot"])
    t.match(await exchange(`plugin:${slug}`, token), { status: 401, body: { detail: /exchanged before/ } });
  // Without an id, it is known by all that is signed; another signature of the same is the same token.
  const nameless = await run({ jti: undefined });
  t.equal((await exchange("plugin:tide", nameless)).status, 201);
  t.equal((await exchange("plugin:tide", nameless)).status, 401);
});
