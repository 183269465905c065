// Holds: who gets the settings of a host (lib/hub/features/settings/routes.ts)
import t from "tap";
import { isErrorBody, startHub } from "../../support/hub/harness.ts";
import { keyOf, withSettings } from "../../support/hub/settings.ts";

t.test("settings of a host go to its own key alone, and to none of several hosts", async (t) => {
  const hub = await startHub(t);
  const { id, at, host, upload, own, say, project, uploader, sendCard } = await withSettings(hub);
  const [seven, eight] = [await host("pier-7"), await host("pier-8")];
  await upload([seven.document(1, null)]);
  isErrorBody(t, await own(eight.api), 404, "not_found");
  const elsewhere = await withSettings(hub);
  const stranger = await elsewhere.host("pier-7");
  isErrorBody(t, await own(stranger.api), 404, "not_found");
  isErrorBody(t, await say(stranger.api, seven.outcome(1)), 404, "not_found");
  for (const key of [project.key, await keyOf(hub, ["admin"]), await keyOf(hub, ["deploy"], id)]) {
    isErrorBody(t, await own(key), 403, "forbidden");
    isErrorBody(t, await say(key, seven.outcome(1)), 403, "forbidden");
    isErrorBody(t, await sendCard({ ...seven, api: key }), 403, "forbidden");
  }
  isErrorBody(t, await own(uploader), 403, "forbidden");
  isErrorBody(t, await hub.call("GET", `${at}/settings`, { key: eight.api }), 403, "other_host");
  const named = await hub.call("GET", `${at}/host-settings?host_id=pier-7`, { key: eight.api });
  isErrorBody(t, named, 404, "not_found");
  const header = { "x-sealift-host": "pier-7" };
  isErrorBody(t, await hub.call("GET", `${at}/host-settings`, { key: eight.api, headers: header }), 403, "other_host");
  const list = await hub.call("GET", `${at}/settings`);
  t.notMatch(JSON.stringify(list.body), /"sealed"/, "no list has them");
});
