import type { ServerResponse } from "node:http";
import t from "tap";
import { startWorkflow } from "../../support/hub/publishers.ts";

t.test("an issuer whose keys hang, grow, redirect, are none or lie at a private address lets nobody in", async (t) => {
  const { hub, trust, run, exchange, issuer } = await startWorkflow(t);
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  await trust({ target: "plugin:tide" });
  const isSettled = async (what: string, answer: (response: ServerResponse) => void): Promise<void> => {
    issuer.answers.set("/keys", answer);
    const started = performance.now();
    const { status, body } = await exchange("plugin:tide", await run());
    t.match({ status, body }, { status: 503, body: { code: "hub_unavailable", detail: /does not answer/ } }, what);
    t.ok(performance.now() - started < 25_000, `${what} ends`);
  };
  await isSettled("grows", (response) => {
    response.writeHead(200, { "content-type": "application/json" }).write('{"keys":[');
    const more = setInterval(() => response.write(" ".repeat(65_536)), 5);
    response.on("close", () => clearInterval(more));
  });
  await isSettled("redirects", (response) =>
    response.writeHead(302, { location: "http://169.254.169.254/latest/meta-data" }).end(),
  );
  await isSettled("is not JSON", (response) => response.end("<html>"));
  await isSettled("answers 500", (response) => response.writeHead(500).end());
  await isSettled("hangs", () => {});
  issuer.answers.clear();
  t.equal((await exchange("plugin:tide", await run())).status, 201, "and works again by itself");
});

t.test("an issuer that sends the hub to a private address for its keys is refused", async (t) => {
  const { hub, trust, issuer } = await startWorkflow(t);
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  for (const jwks_uri of ["http://169.254.169.254/keys", "https://10.0.0.1/keys", "file:///etc/passwd"]) {
    issuer.answers.set("/.well-known/openid-configuration", (response) =>
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ issuer: issuer.url, jwks_uri })),
    );
    t.match(await trust({ target: "plugin:tide" }), { status: 422, body: { detail: /^issuer: / } }, jwks_uri);
  }
});
