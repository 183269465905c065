// Holds: who is warned of a slug like another owner's (commands/hub/projects.ts, commands/publishers/feature.ts)
import t from "tap";
import { HubServe } from "../../commands/hub/hub-serve.ts";
import { ProjectsCreate } from "../../commands/hub/projects.ts";
import { publishers } from "../../commands/publishers/feature.ts";
import { type RunningHub, startHub } from "../support/hub/harness.ts";
import { startWorkflow } from "../support/hub/publishers.ts";
import { runHere } from "../support/programs/run-here.ts";

const keyOf = async (hub: RunningHub, owner: string): Promise<string> => {
  const json = { name: owner, owner, scopes: ["keys", "projects", "publish", "read"] };
  return (await hub.call("POST", "/devkeys/api-keys", { json })).body.key as string;
};

const at = (hub: RunningHub, key: string) => ["--hub-url", hub.url, "--api-key", key];
const create = (hub: RunningHub, key: string, slug: string, ...more: string[]) =>
  runHere([ProjectsCreate], ["project", "create", slug, "--kind", "plugin", "--slug", slug, ...more, ...at(hub, key)]);
const warning = /^warning: the slug tide-tab1e looks like tide-table of another owner/m;

t.test("who creates a look-alike is warned", async (t) => {
  const hub = await startHub(t);
  const [harbour, vendor] = [await keyOf(hub, "harbour"), await keyOf(hub, "vendor")];
  const first = await create(hub, harbour, "tide-table");
  t.match(first, { code: 0, stdout: "plugin tide-table\n" });
  t.notMatch(first.stderr, /warning/);
  t.match(await create(hub, vendor, "tide-tab1e"), { code: 0, stdout: "plugin tide-tab1e\n", stderr: warning });
  t.match(await create(hub, vendor, "tide-tab1e", "--if-missing"), { code: 0, stderr: warning });
  const { stdout } = await create(hub, vendor, "t1de-table", "--json");
  t.match(JSON.parse(stdout), { created: true, project: { looks_like: ["tide-table"] } });
});

t.test("who trusts a workflow to create one is warned", async (t) => {
  const { hub, issuer } = await startWorkflow(t);
  const [harbour, vendor] = [await keyOf(hub, "harbour"), await keyOf(hub, "vendor")];
  await create(hub, harbour, "tide-table");
  const words = ["--name", "release", "--issuer", issuer.url, "--claim", "repository_id=1", "--audience", "hub"];
  const claims = [
    "--claim",
    "repository_owner_id=2",
    "--claim",
    "workflow_ref=a/b/.github/workflows/c.yml@refs/heads/m",
  ];
  const line = ["publisher", "add", "plugin:tide-tab1e", "--pending", ...words, ...claims, ...at(hub, vendor)];
  t.match(await runHere([...publishers.commands], line), { code: 0, stderr: warning });
});

t.test("a strict hub refuses it, and the command says what to do", async (t) => {
  const hub = await startHub(t, { names: "strict" });
  const [harbour, vendor] = [await keyOf(hub, "harbour"), await keyOf(hub, "vendor")];
  await create(hub, harbour, "tide-table");
  const refused = await create(hub, vendor, "tide-tab1e");
  t.match(refused, { code: 1, stderr: /\(name_lookalike\).*looks like tide-table/ });
  t.match(refused.stderr, /ask an administrator to create it/);
});

t.test("hub serve takes no other rule", async (t) => {
  const { code, stderr } = await runHere([HubServe], ["hub", "serve", "--names", "loose"]);
  t.equal(code, 2);
  t.match(stderr, /warn, strict/);
});
