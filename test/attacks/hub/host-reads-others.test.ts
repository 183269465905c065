// Holds: what the key of a host reads (lib/hub/access/own-host.ts)
import t from "tap";
import { isErrorBody, publication, startHub } from "../../support/hub/harness.ts";
import { invited, ownSecrets } from "../../support/hub/joining.ts";
import { publishFiles, report } from "../../support/hub/shown-hub.ts";

/** Texts that only the other host has brought to the hub. */
const OTHER = "pier-8";
const SECRETS = [OTHER, "port 8443 is taken", "quay=north-vault"];

type Described = Record<string, Record<string, unknown>>;

t.test("a key that speaks for a host reads nothing about another one, on any route", async (t) => {
  const hub = await startHub(t, { rateLimits: false });
  const { project, invite, join } = await invited(hub);
  for (const version of ["1.0.0", "2.0.0"]) await project.publish(publication(version));
  const labels = { quay: "north-vault" };
  const { token } = await invite({ uses: 1, fleet: true });
  const second = await invite({ uses: 1, labels });
  const [own, other] = [ownSecrets(), ownSecrets()];
  await join(token, "pier-7", own);
  await join(second.token, OTHER, other);
  const bearerOf = async (xdevkey: string): Promise<string> =>
    (await hub.call("POST", "/app/deploy/v1/auth", { key: null, json: { xdevkey, project_id: project.id } })).body
      .access_token as string;
  await hub.call("POST", `/devkeys/projects/${project.id}/rollouts`, { json: { version: "2.0.0", waves: ["100%"] } });
  const failed = { status: "failed", error_message: SECRETS[1], version: "2.0.0", running_version: "1.0.0" };
  const facts = { project_id: project.id, deployment_id: "d", plugins: [], started_at: "", completed_at: "" };
  const reported = await hub.call("POST", "/app/deploy/v1/deployments/report", {
    bearer: await bearerOf(other.key),
    json: { ...facts, ...failed, host_id: OTHER, labels },
  });
  t.equal(reported.status, 200);
  // Hosts of the same owner report a plugin, too.
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  const descriptor = "name: tide\nversion: 1.0.0\nentry_point: i.js\nexecution_mode: sandboxed\n";
  await publishFiles(hub, { slug: "tide", version: "1.0.0" }, { "plugin.yaml": descriptor, "i.js": "1" });
  const step = { id: "s", action: "install_plugin", status: "failed", duration_ms: 1, error_message: SECRETS[1]! };
  await report(hub, { slug: "tide", host: OTHER, version: "1.0.0", status: "failed", steps: [step] });
  const hostKey = (
    await hub.call("POST", "/devkeys/api-keys", {
      json: { name: "h", host: "pier-7", scopes: ["deploy", "report", "read"] },
    })
  ).body.key as string;

  const described = (await hub.call("GET", "/openapi.json", { key: null })).body as { paths: Described };
  const rollouts = await hub.call("GET", `/devkeys/projects/${project.id}/rollouts`);
  const values: Record<string, string> = {
    ...{ project_id: project.id, id: project.id, kind: "plugin", slug: "tide", version: "2.0.0" },
    ...{ host_id: OTHER, host: OTHER, rollout: (rollouts.body.items as { id: string }[])[0]!.id },
  };
  let revealing = 0;
  let asked = 0;
  for (const [path, methods] of Object.entries(described.paths)) {
    if (!("get" in methods) || path.includes("changes")) continue;
    const query = path.endsWith("/components") ? "?q=any" : "";
    const url = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? "x")) + query;
    const seen = (await hub.call("GET", url)).bytes.toString();
    if (SECRETS.some((secret) => seen.includes(secret))) revealing++;
    const callers = [{ key: own.key }, { key: hostKey }, { key: null, bearer: await bearerOf(own.key) }];
    for (const as of callers) {
      const { bytes, status } = await hub.call("GET", url, as);
      asked++;
      // A refusal may repeat the name that the caller has named.
      const plain = bytes.toString().replaceAll('"quay":"', "quay=");
      const text = status === 403 ? plain.replaceAll(OTHER, "") : plain;
      for (const secret of SECRETS) t.notOk(text.includes(secret), `GET ${url} hides ${secret}`);
    }
  }
  t.ok(revealing >= 8 && asked > 100, `${revealing} routes tell an administrator of ${OTHER}`);

  const hosts = `/app/deploy/v1/projects/${project.id}/hosts`;
  for (const path of [hosts, `${hosts}/${OTHER}`])
    isErrorBody(t, await hub.call("GET", path, { key: own.key }), 403, "other_host");
  const failures = (await hub.call("GET", `/devkeys/projects/${project.id}/rollouts`, { key: own.key })).body;
  t.match(failures, { items: [{ version: "2.0.0", failing: [] }] }, "with --fleet it reads rollouts");
  const numbers = await hub.call("GET", `/app/deploy/v1/projects/${project.id}/fleet`, { key: own.key });
  t.match(numbers, { status: 200, body: { labels: [] } }, "numbers, and no label of another host");
  isErrorBody(
    t,
    await hub.call("GET", `/devkeys/projects/${project.id}/host-invites`, { key: own.key }),
    403,
    "other_host",
  );
  const undecided = await hub.call("GET", "/devkeys/api-keys", { key: own.key });
  isErrorBody(t, undecided, 403, "forbidden");
  t.match(undecided.body.error, /Keys that speak for one host/, "a route that says nothing of other hosts is closed");
});

t.test("a joined host deploys and reports, and reads only by an invite that says so", async (t) => {
  const hub = await startHub(t);
  const { project, invite, join } = await invited(hub);
  await project.publish(publication("1.0.0"));
  const own = ownSecrets();
  await join((await invite()).token, "pier-7", own);
  t.strictSame((await hub.call("GET", "/devkeys/key", { key: own.key })).body.scopes, ["deploy", "report"]);
  for (const path of ["rollouts", "versions"])
    isErrorBody(
      t,
      await hub.call("GET", `/devkeys/projects/${project.id}/${path}`, { key: own.key }),
      403,
      "forbidden",
    );
});
