import t from "tap";
import { isErrorBody, type RunningHub, startHub } from "../../../../support/hub/harness.ts";
import { publishFiles } from "../../../../support/hub/shown-hub.ts";

const AT = "/app/deployments/v1";

t.test("a host's key polls, reads marks and hears hints as its own host, and as no other one", async (t) => {
  const hub = await startHub(t);
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  await publishFiles(hub, { slug: "tide", version: "1.0.0" }, { "plugin.yaml": "name: tide\n" });
  const json = { name: "k", host: "pier·7" };
  const { key } = (await hub.call("POST", "/devkeys/api-keys", { json })).body as { key: string };
  const named = (host: string) => ({ "x-sealift-host": encodeURIComponent(host) });
  const asks: Record<string, (headers: Record<string, string>) => ReturnType<RunningHub["call"]>> = {
    "many targets": (headers) =>
      hub.call("POST", `${AT}/poll`, { key, headers, json: { targets: [{ target: "plugin:tide", etag: null }] } }),
    marks: (headers) => hub.call("GET", `${AT}/marks?targets=plugin:tide`, { key, headers }),
  };
  for (const [what, ask] of Object.entries(asks)) {
    isErrorBody(t, await ask(named("pier-8")), 403, "other_host");
    t.equal((await ask(named("pier·7"))).status, 200, what);
    t.equal((await ask({})).status, 200, `${what}, without a name`);
  }
  const stream = await hub.call("GET", `${AT}/changes?targets=plugin:tide`, { key, headers: named("pier-8") });
  isErrorBody(t, stream, 403, "other_host");
});
