// Holds: which version of Sealift a publication says that hosts need (lib/contract/agent-needs.ts,
// commands/publishing/needed-agent.ts)
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { DeployPublish } from "../../commands/publishing/deploy-publish.ts";
import { SignerCreate } from "../../commands/publishing/signer-create.ts";
import { agentNeeds } from "../../lib/contract/agent-needs.ts";
import { application } from "../../lib/contract/files/application.ts";
import { createProject, startHub } from "../support/hub/harness.ts";
import { Visitor } from "../support/hub/web.ts";
import { runHere } from "../support/programs/run-here.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const WEB = "command: [node, server.js]\nlisten: [http]\nhealth: { http: / }\n";
const WORKER = "command: [node, worker.js]\nof: web\n";

/** A project with applications, its hub, and its publication. */
async function shop(t: Test) {
  const folder = temporaryFolder(t);
  process.env["XDG_CONFIG_HOME"] = folder;
  const hub = await startHub(t);
  const project = await createProject(hub, ["publish", "deploy", "report", "read"]);
  const source = join(folder, "source");
  const keys = join(folder, "keys");
  await runHere([SignerCreate], ["signer", "create", "--out", keys]);
  const write = async (apps: Record<string, string>): Promise<void> => {
    const steps = Object.keys(apps).map((id) => `{id: ${id}, action: install_app, app: ${id}}`);
    await mkdir(join(source, "deployment"), { recursive: true });
    await writeFile(
      join(source, "deployment/install.yaml"),
      `format_version: "1"\nproject_id: ${project.id}\nsteps: [${steps.join(", ")}]\n`,
    );
    for (const [id, yaml] of Object.entries(apps)) {
      await mkdir(join(source, "apps", id), { recursive: true });
      await writeFile(join(source, "apps", id, "app.yaml"), yaml);
      await writeFile(join(source, "apps", id, `${id === "web" ? "server" : id}.js`), "");
    }
    await writeFile(join(source, "apps/web/worker.js"), "");
  };
  const bearer = await project.session();
  return {
    ...{ hub, project, write },
    publish: (version: string, apiKey = project.key, ...more: string[]) =>
      runHere(
        [DeployPublish],
        [
          ...["deploy-publish", source, "--hub-url", hub.url, "--api-key", apiKey, "--project-id", project.id],
          ...["--version", version, "--signing-key-file", join(keys, "signer.key"), ...more],
        ],
      ),
    hears: async (host: string, agent: string): Promise<void> => {
      const { status } = await hub.call("POST", "/app/deploy/v1/deployments/report", {
        bearer,
        headers: { "x-sealift-host": host, "user-agent": agent },
        json: {
          ...{ project_id: project.id, deployment_id: host, status: "success", version: "1.0.0", plugins: [] },
          ...{ started_at: "", completed_at: "", host_id: host, running_version: "1.0.0" },
        },
      });
      if (status >= 300) throw new Error(`${host}: ${status}`);
    },
  };
}

t.test("a publication and its page say how many hosts have an older Sealift than it needs", async (t) => {
  const { hub, project, write, publish, hears } = await shop(t);
  await write({ web: WEB });
  const plain = await publish("1.0.0");
  t.equal(plain.code, 0, plain.stderr);
  t.notMatch(plain.stderr, /needs Sealift/);

  await write({ web: WEB, worker: WORKER });
  t.match(await publish("1.1.0"), { code: 0, stderr: /^1\.1\.0 needs Sealift 0\.3\.0 \(apps\/worker: of\)\.$/m });
  await hears("pier-1", "sealift");
  await hears("pier-2", "sealift/0.3.0");
  await hears("pier-3", "sealift/0.3.1");
  const told = /^warning: 1\.2\.0 needs Sealift 0\.3\.0: 1 of 3 hosts runs one before 0\.3\.0 \(apps\/worker: of\)\.$/m;
  t.match(await publish("1.2.0", project.key, "--dry-run"), { code: 0, stderr: told });
  t.match(await publish("1.2.0"), { code: 0, stderr: told }, "and it is published all the same");
  const json = await publish("1.3.0", project.key, "--json");
  t.match(JSON.parse(json.stdout.trim().split("\n").at(-1)!), {
    needs: { agent: "0.3.0", keys: ["apps/worker: of"], hosts: 3, older_hosts: 1 },
  });
  const { body } = await hub.call("POST", "/devkeys/api-keys", {
    json: { name: "ci", scopes: ["publish"], project_id: project.id },
  });
  const blind = await publish("1.4.0", (body as { key: string }).key);
  t.match(
    blind,
    { code: 0, stderr: /^1\.4\.0 needs Sealift 0\.3\.0 \(apps\/worker: of\)\.$/m },
    "a key that cannot read",
  );

  const visitor = await new Visitor(hub.url).signIn(hub.adminKey);
  const page = async (): Promise<string> => (await visitor.request(`/projects/${project.id}`)).html;
  t.match(await page(), /1\.2\.0.*needs Sealift 0\.3\.0: 1 of 3 hosts runs one before 0\.3\.0/s);
  const { items } = (await hub.call("GET", `/devkeys/projects/${project.id}/versions`)).body as unknown as {
    items: { version: string; needs_agent?: string }[];
  };
  t.strictSame(
    items.map(({ version, needs_agent: needs }) => [version, needs]),
    [
      ["1.4.0", "0.3.0"],
      ["1.3.0", "0.3.0"],
      ["1.2.0", "0.3.0"],
      ["1.1.0", "0.3.0"],
      ["1.0.0", undefined],
    ],
  );
});

t.test("what agents of 0.2.0 refuse or read otherwise needs 0.3.0", (t) => {
  const needs = (app: object) =>
    agentNeeds(new Map([["a", application.parse({ command: ["node", "a.js"], ...app })]]))?.keys ?? [];
  t.strictSame(needs({}), []);
  t.strictSame(
    needs({ listen: ["http"], health: { http: "/" }, environment: { required: ["A"], optional: ["B"] } }),
    [],
  );
  t.strictSame(needs({ schedule: "30 3 * * *", timezone: "Europe/Vienna", catch_up: true, within: "5m" }), [
    "apps/a: catch_up",
    "apps/a: schedule",
    "apps/a: timezone",
    "apps/a: within",
  ]);
  t.strictSame(needs({ health: { command: ["node", "ok.js"] } }), ["apps/a: health.command"]);
  t.strictSame(needs({ limits: { memory: "100M" } }), ["apps/a: limits"]);
  t.strictSame(needs({ environment: { values: { A: "b" } } }), ["apps/a: environment.values"]);
  t.strictSame(needs({ command: ["node", "a.js", "--port=$PORT"], ports: ["http"] }), ["apps/a: $PORT in a command"]);
  t.strictSame(needs({ command: ["sh", "$PORT"] }), [], "which is no address of it");
  t.end();
});
