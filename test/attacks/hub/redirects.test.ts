// Only in test:all: many requests for one rule, 7 s of a processor.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import type { ErrorKind } from "../../../lib/contract/errors.ts";
import { liedToHost } from "../../support/host/lied-to-host.ts";
import { startLyingHub, trustedCertificate } from "../../support/hub/lying-hub.ts";
import { redirect } from "../../support/hub/scripted-server.ts";
import { API_KEY, CREDENTIAL } from "../../support/hub/surface-b.ts";

const ROUTES = ["auth", "latest", "location", "authorize", "download"] as const;
const kindOf = (route: (typeof ROUTES)[number]): ErrorKind => (route === "auth" ? "DeploymentError" : "ArtifactError");

t.test("a hub that redirects in a loop, or more than ten times, ends the deployment", async (t) => {
  for (const route of ROUTES) {
    const host = await liedToHost(t);
    const fault = { kind: kindOf(route), code: "redirect_loop", exitCode: 1 };
    host.hub.answer(
      route,
      redirect(302, ({ path }) => path),
    );
    await host.fails(t, `${route} to itself`, fault);
    host.hub.requests.length = 0;
    host.hub.answer(
      route,
      redirect(307, ({ path }, count) => `${path.split("?")[0]}?hop=${count}`),
    );
    await host.fails(t, `${route} for ever`, fault);
    // The report at the end of a deployment authenticates once more.
    t.ok(host.hub.to(route).length <= (route === "auth" ? 22 : 11), "it stopped after ten");
  }
});

t.test("a hub that redirects from https to http ends the deployment", async (t) => {
  const tls = trustedCertificate();
  for (const route of ROUTES) {
    const host = await liedToHost(t, tls);
    const plain = await startLyingHub(t, { artifact: host.hub.artifact, version: "1.1.0" });
    host.hub.answer(
      route,
      redirect(308, ({ path }) => plain.url + path),
    );
    await host.fails(t, route, { kind: kindOf(route), code: "redirect_insecure", exitCode: 1 });
    t.equal(plain.requests.length, 0, "nothing was ever sent in the clear");
  }
});

t.test(
  "a hub that redirects to a thief hands it no secret; what carries none is followed and still verified",
  async (t) => {
    for (const route of ROUTES) {
      const host = await liedToHost(t);
      const thief = await startLyingHub(t, { artifact: host.hub.artifact, version: "1.1.0" });
      host.hub.answer(
        route,
        redirect(307, ({ path }) => thief.url + path),
      );
      if (route === "auth" || route === "authorize")
        await host.fails(t, route, { kind: kindOf(route), code: "redirect_origin", exitCode: 1 });
      else {
        t.match(await host.deploy(), { outcome: "deployed", version: "1.1.0" }, `${route} is followed`);
        t.match(readFileSync(join(host.root, "plugins/demo/src/main.js"), "utf8"), /1\.1\.0/);
      }
      for (const { headers, body, path } of thief.requests) {
        const heard = JSON.stringify(headers) + body.toString("latin1") + path;
        for (const secret of [API_KEY, CREDENTIAL, "session-token"])
          t.notOk(heard.includes(secret), `${route}: ${secret}`);
      }
    }
  },
);
