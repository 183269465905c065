import t from "tap";
import type { MadeKit } from "../../../../lib/contract/kits/records.ts";
import { createProject, publication, startHub } from "../../../support/hub/harness.ts";
import { offlineHost, pluginReportOf, submitted } from "../../../support/hub/kits.ts";
import { publishedArchive } from "../../../support/hub/published.ts";
import { Visitor } from "../../../support/hub/web.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

t.test("the page of a target lists its kits, ends one, and says what that does not reach", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  await project.publish(publication("1.0.0"));
  const visitor = await new Visitor(hub.url).signIn(project.key);
  const page = `/projects/${project.id}/kits`;
  const shown = async () => (await visitor.request(page)).html.replaceAll("<!-- -->", "");
  t.match((await visitor.request(`/projects/${project.id}`)).html, `href="${page}"`, "a tab leads there");
  t.match(
    await shown(),
    new RegExp(
      `No kit was made yet[^]*sealift kit make project:${project.id} --host HOST=LINE --out FOLDER --deployment-credential-file FILE`,
    ),
  );
  const { hub_key: hubKey } = (await hub.call("GET", "/devkeys/kits/key")).body as { hub_key: string };
  t.match(await shown(), new RegExp(`hub_keys of policies[^]*${hubKey}`), "before the first kit, too");
  const hosts = [offlineHost("ship-1").named, offlineHost("ship-2").named];
  const json = { version: "1.0.0", hosts, deployment_credential: project.credential };
  const made = await hub.call("POST", `/devkeys/projects/${project.id}/kits`, { key: project.key, json });
  const { id } = made.body as unknown as MadeKit;
  t.match(
    await shown(),
    new RegExp(`${id}[^]*live[^]*1\\.0\\.0[^]*ship-1, ship-2[^]*A stick that is out there is not reached`),
  );
  const ended = await visitor.submit(page, `${page}/${id}/end`);
  t.equal(ended.headers.get("location"), page);
  t.match(await shown(), new RegExp(`${id}[^]*>ended<`));
  t.notMatch(await shown(), `${id}/end`);
  const stranger = await createProject(hub);
  const other = await new Visitor(hub.url).signIn(stranger.key);
  t.equal((await other.request(page)).status, 404);
});

t.test("pages of a project, its hosts and a plugin show the kits that its hosts can open", async (t) => {
  const hub = await startHub(t, { rateLimits: false });
  const project = await createProject(hub);
  await (await publishedArchive(hub, "plugin", "tides", temporaryFolder(t))).publish("1.0.0");
  const pier = offlineHost("pier-7");
  const archive = { digest: "ab".repeat(32), key: Buffer.alloc(32, 7).toString("base64") };
  const json = { version: "1.0.0", hosts: [pier.named], hosts_project_id: project.id, ...archive };
  const { id } = (await hub.call("POST", "/app/marketplace/plugins/tides/kits", { json })).body as unknown as MadeKit;
  await submitted(hub, [pluginReportOf(pier, id, "tides")]);
  const visitor = await new Visitor(hub.url).signIn(hub.adminKey);
  const shown = async (page: string) => (await visitor.request(page)).html.replaceAll("<!-- -->", "");
  t.match(await shown(`/projects/${project.id}/kits`), new RegExp(`${id}[^]*1\\.0\\.0[^]*plugin:tides[^]*pier-7`));
  t.match(await shown("/plugins/tides/kits"), new RegExp(`pier-7[^]*of project ${project.id}[^]*--project PROJECT`));
  const page = "/plugins/tides/fleet/pier-7";
  t.match(await shown(page), new RegExp(`Kits that have not ended[^]*${id}[^]*plugin:tides`));
  const kits = `/projects/${project.id}/kits`;
  t.equal((await visitor.submit(kits, `${kits}/${id}/end`)).headers.get("location"), kits);
  t.match(await shown(page), new RegExp(`${id}[^]*ended at the hub`), "which reaches no stick: the host can open it");
  t.equal((await hub.call("DELETE", `/devkeys/projects/${project.id}/joined-hosts/pier-7`)).status, 204);
  t.notMatch((await visitor.request(page)).html, "Kits that have not ended");
});
