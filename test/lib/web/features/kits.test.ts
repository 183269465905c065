import t from "tap";
import type { MadeKit } from "../../../../lib/contract/kits/records.ts";
import { createProject, publication, startHub } from "../../../support/hub/harness.ts";
import { offlineHost } from "../../../support/hub/kits.ts";
import { Visitor } from "../../../support/hub/web.ts";

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
