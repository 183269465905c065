import t from "tap";
import { startWorkflow } from "../../support/hub/publishers.ts";

t.test("an issuer is at a public https address, or where the operator allows one", async (t) => {
  const { hub, trust, issuer } = await startWorkflow(t, { issuerAllow: [] });
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  const addresses = [
    ...[issuer.url, "http://issuer.example.org", "https://10.0.0.1", "https://[::1]", "https://169.254.169.254"],
    ...["ftp://issuer.example.org", "https://user:password@issuer.example.org", "https://127.0.0.1:25"],
  ];
  for (const address of addresses)
    t.match(await trust({ target: "plugin:tide", issuer: address }), { status: 422, body: { detail: /^issuer: / } });
  t.same(issuer.asked, []);
});
