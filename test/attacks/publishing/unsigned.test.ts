import t from "tap";
import { startWorkflow } from "../../support/hub/publishers.ts";

t.test("a token without a signature is refused", async (t) => {
  const { hub, trust, run, exchange } = await startWorkflow(t);
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  await trust({ target: "plugin:tide" });
  const [, payload] = (await run()).split(".");
  for (const alg of ["none", "None", "NONE"]) {
    const header = Buffer.from(JSON.stringify({ alg, typ: "JWT" })).toString("base64url");
    for (const token of [`${header}.${payload}.`, `${header}.${payload}`, `${header}.${payload}.AA`])
      t.match(await exchange("plugin:tide", token), { status: 401, body: { code: "key_rejected" } }, alg);
  }
});
