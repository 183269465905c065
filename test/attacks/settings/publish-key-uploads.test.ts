// Holds: which keys upload settings (lib/contract/settings/routes.ts)
import t from "tap";
import { isErrorBody, startHub } from "../../support/hub/harness.ts";
import { keyOf, withSettings } from "../../support/hub/settings.ts";

t.test("the key of a CI, which publishes, uploads no settings and drops none; nor do hosts", async (t) => {
  const hub = await startHub(t);
  const { id, at, host, upload, shown } = await withSettings(hub);
  const pier = await host("pier-7");
  const ci = await keyOf(hub, ["publish", "stage", "deploy", "report", "read"], id);
  for (const key of [ci, pier.api]) {
    isErrorBody(t, await upload([pier.document(1, null)], key), 403, "forbidden");
    isErrorBody(t, await hub.call("DELETE", `${at}/settings/pier-7`, { key }), 403, "forbidden");
  }
  t.match(await shown(), [{ number: null }]);
  const giving = { name: "more", scopes: ["settings"], project_id: id };
  const grown = await hub.call("POST", "/devkeys/api-keys", { json: giving, key: await keyOf(hub, ["keys"], id) });
  isErrorBody(t, grown, 403, "forbidden");
});
