import t from "tap";
import { GrantAdd, GrantList } from "../../commands/hub/grants.ts";
import { createProject, startHub } from "../support/hub/harness.ts";
import { runHere } from "../support/programs/run-here.ts";

t.test("grants are of plugins and services, and a project has none", async (t) => {
  const hub = await startHub(t);
  const { id } = await createProject(hub);
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  const run = (...words: string[]) =>
    runHere([GrantAdd, GrantList], ["grant", ...words, "--hub-url", hub.url, "--api-key", hub.adminKey]);
  t.match(await run("add", "tide", "bob"), { code: 0, stderr: "bob may see plugin:tide.\n" });
  t.match(await run("list", "tide"), { code: 0, stdout: /^bob / });
  for (const words of [
    ["list", id],
    ["add", id, "bob"],
  ])
    t.match(await run(...words), { code: 2, stderr: /is a project; grants are for plugins and services/ });
});
