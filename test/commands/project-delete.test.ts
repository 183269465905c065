import t from "tap";
import { ProjectsCreate, ProjectsDelete } from "../../commands/hub/projects.ts";
import { createProject, publication, startHub } from "../support/hub/harness.ts";
import { FLEET_SCOPES, fleetOf } from "../support/hub/project-fleet.ts";
import { runHere } from "../support/programs/run-here.ts";

t.test("a project is deleted by its name given twice, and by force while hosts report to it", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub, FLEET_SCOPES);
  await project.publish(publication("1.0.0"));
  const run = (words: string[], key = hub.adminKey) =>
    runHere([ProjectsCreate, ProjectsDelete], ["project", ...words, "--hub-url", hub.url, "--api-key", key]);
  const would = /^would delete the project Demo with 1 version, 1 key\n/;
  t.match(await run(["delete", "Demo", "--dry-run"]), { code: 0, stderr: would });
  const asked = await run(["delete", "Demo"]);
  t.match(asked, { code: 2, stderr: would });
  t.match(asked.stderr, /Nothing was deleted.*\n.*--confirm "Demo"/);
  t.match(await run(["delete", "Demo", "--confirm", "Other"]), { code: 2, stderr: /is called "Demo", not "Other"/ });
  t.equal((await hub.call("GET", `/devkeys/projects/${project.id}`)).status, 200);

  const fleet = await fleetOf(hub, project);
  await fleet.report("web", "1.0.0");
  const refused = await run(["delete", "Demo", "--confirm", "Demo"]);
  t.match(refused, { code: 5, stderr: /project_in_use.*1 host has reported/s });
  const json = await run(["delete", "Demo", "--confirm", "Demo", "--force", "--json"]);
  const { project: gone } = JSON.parse(json.stdout) as { project: object };
  t.match(gone, { id: project.id, contents: { versions: 1, hosts: 1, reporting_hosts: 1 } });
  t.equal((await hub.call("GET", `/devkeys/projects/${project.id}`)).status, 404);
  t.match(await run(["delete", "Demo", "--confirm", "Demo"]), { code: 1, stderr: /not_found/ });
});

t.test("a second project of one name is refused, unless it is asked for", async (t) => {
  const hub = await startHub(t);
  const run = (...words: string[]) =>
    runHere([ProjectsCreate], ["project", "create", ...words, "--hub-url", hub.url, "--api-key", hub.adminKey]);
  t.equal((await run("Fleet")).code, 0);
  t.match(await run("Fleet"), { code: 1, stderr: /name_taken/ });
  t.match(await run("fleet"), { code: 1, stderr: /name_taken/ });
  t.equal((await run("Fleet", "--same-name")).code, 0);
});
