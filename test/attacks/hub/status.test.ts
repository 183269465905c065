// Only in test:all: many requests for one rule, 10 s of a processor.
import t from "tap";
import type { ErrorKind } from "../../../lib/contract/errors.ts";
import { liedToHost } from "../../support/host/lied-to-host.ts";
import { json } from "../../support/hub/scripted-server.ts";

const CODES: Record<number, [code: string, exitCode: number]> = {
  401: ["key_rejected", 3],
  403: ["forbidden", 3],
  404: ["not_found", 1],
  409: ["conflict", 1],
  413: ["too_large", 5],
  422: ["hub_refused", 1],
  429: ["rate_limited", 75],
  500: ["hub_unavailable", 75],
};

/** docs/contract/README.md#errors. */
const kindOf = (route: string, status: number): ErrorKind => {
  if ((route === "auth" || route === "authorize") && (status === 401 || status === 403)) return "AuthenticationError";
  return route === "auth" ? "DeploymentError" : "ArtifactError";
};

t.test("whatever status a hub refuses with, the old release stays and the error is the contract's", async (t) => {
  const cases = (["auth", "latest", "location", "authorize", "download"] as const)
    .flatMap((route) => Object.keys(CODES).map((status) => ({ route, status: Number(status) })))
    // A download is tried again for a quarter of a minute: test/lib/client/download.test.ts waits for it.
    .filter(({ route, status }) => route !== "download" || (status !== 429 && status !== 500));
  // What is tried again waits: those cases have hosts of their own, side by side.
  const groups = Object.values(
    Object.groupBy(cases, ({ route, status }) => (status === 429 || status === 500 ? `${route} ${status}` : route)),
  );
  await Promise.all(
    groups.map(async (group) => {
      const { hub, fails } = await liedToHost(t);
      for (const { route, status } of group) {
        const [code, exitCode] = CODES[status]!;
        hub.answer(route, json(status, { error: `no ${route} today` }));
        const fault = { kind: kindOf(route, status), code, exitCode, status, says: `no ${route} today` };
        await fails(t, `${route} ${status}`, fault);
      }
    }),
  );
});

t.test("a report that the hub refuses changes nothing about the deployment", async (t) => {
  for (const status of [401, 403, 404, 413, 429, 500]) {
    const { hub, deploy } = await liedToHost(t);
    hub.answer("report", json(status, { error: "no reports today" }));
    const result = await deploy();
    t.match(result, { outcome: "deployed", status: "success", version: "1.1.0" }, `${status}`);
    t.ok(hub.to("report").length >= 1);
  }
});
