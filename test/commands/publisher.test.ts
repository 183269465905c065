import { writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { plant } from "../support/host/project-root.ts";
import { zipOf } from "../support/hub/archives.ts";
import { DEVELOPER_SECRET } from "../support/hub/marketplace-hub.ts";
import { startWorkflow, type Workflow } from "../support/hub/publishers.ts";
import { commandLine } from "../support/programs/command-line.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** A person who manages the hub, and a run of CI that has no key. */
function users(t: Test, { hub }: Workflow) {
  const folder = temporaryFolder(t);
  const env = { PATH: process.env.PATH, HOME: folder, SEALIFT_HUB_URL: hub.url };
  return {
    folder,
    person: (...words: string[]) => commandLine(words, { cwd: folder, env: { ...env, SEALIFT_API_KEY: hub.adminKey } }),
    run: (words: string[], more: Record<string, string> = {}) =>
      commandLine(words, { cwd: folder, env: { ...env, CI: "true", ...more } }),
  };
}

const CLAIMS = ["repository_id=41", "repository_owner_id=7"].flatMap((claim) => ["--claim", claim]);

/** The service by which GitHub Actions gives a job its token. */
async function startActions(t: Test, answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  return {
    ACTIONS_ID_TOKEN_REQUEST_URL: `http://127.0.0.1:${port}/token?api-version=2.0`,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: "the job's own secret",
  };
}

const plantProject = (folder: string, id = "prj_0123456789"): Promise<void> =>
  plant(folder, {
    "tree/deployment/install.yaml": `format_version: "1"\nproject_id: ${id}\nversion: 1.0.0\nsteps:\n  - {id: tide, action: install_plugin, plugin: tide}\n`,
    "tree/plugins/tide/plugin.yaml": "name: tide\nversion: 1.0.0\nexecution_mode: trusted\n",
  });

t.test("a workflow publishes the first version of a project with no key, and its name stands beside it", async (t) => {
  const workflow = await startWorkflow(t);
  const { folder, person, run } = users(t, workflow);
  t.equal((await person("signer", "create", "--out", "keys")).code, 0);
  const issuer = ["--issuer", workflow.issuer.url, ...CLAIMS];
  const added = await person("publisher", "add", "project:Harbour", "--pending", "--name", "release", ...issuer);
  t.match(added, { code: 0, stderr: /project:prj_\w+ \(pending\) trusts release .* by tokens for http:/ });
  await plantProject(folder, /will have the id (prj_\w+)/.exec(added.stderr)![1]);
  const asked: string[] = [];
  const actions = await startActions(t, (request, response) => {
    asked.push(`${request.url} ${request.headers.authorization}`);
    const audience = new URL(request.url!, "http://x").searchParams.get("audience")!;
    void workflow.run({ aud: audience }).then((value) => response.end(JSON.stringify({ value })));
  });
  const words = ["project", "publish", "tree", "--project-id", "Harbour", "--version", "1.0.0", "--oidc"];
  const published = await run([...words, "--signing-key-file", "keys/signer.key"], actions);
  t.equal(published.code, 0, published.stderr);
  t.match(asked, [/^\/token\?api-version=2.0&audience=http.+ bearer the job's own secret$/]);
  const listed = await person("version", "list", "Harbour", "--json");
  t.match(listed.stdout, /"published_by":"release: repo:acme\/tide:ref:refs\/heads\/main, run 1001"/);
  t.match((await person("publisher", "list")).stdout, /release +project:prj_/);
  const removed = await person("publisher", "remove", "release");
  t.match(removed, { code: 0, stderr: /no longer trusts release/ });
  t.match(await run([...words, "--signing-key-file", "keys/signer.key"], actions), {
    code: 3,
    stderr: /trusts no workflow of the issuer/,
  });
});

t.test("a plugin is published by a token in a file, and a refusal says how it differs", async (t) => {
  const workflow = await startWorkflow(t);
  const { folder, person, run } = users(t, workflow);
  await writeFile(
    join(folder, "tide.zip"),
    zipOf({ "plugin.yaml": "name: tide\nversion: 1.0.0\nexecution_mode: trusted\n" }),
  );
  const token = join(folder, "token.jwt");
  const issuer = ["--issuer", workflow.issuer.url, "--audience", "here", ...CLAIMS];
  t.equal((await person("publisher", "add", "plugin:tide", "--pending", "--name", "ci", ...issuer)).code, 0);
  const words = ["marketplace", "publish", "tide", "--version", "1.0.0", "--archive", "tide.zip", "--oidc"];
  const publish = async (claims: object) => {
    await writeFile(token, `${await workflow.run({ aud: "here", ...claims })}\n`);
    return run([...words, "--oidc-token-file", token], { SEALIFT_SIGNING_SECRET: DEVELOPER_SECRET });
  };
  const refused = await publish({ repository_id: "42" });
  t.match(refused, { code: 3, stderr: /repository_id is "42", not "41"[^]*`sealift publisher list` shows/ });
  const compared = await person("publisher", "test", "ci", "--token-file", token);
  t.match(compared, { code: 3, stdout: 'repository_id is "42", not "41"\n', stderr: /not one of ci/ });
  const published = await publish({});
  t.match(published, { code: 0, stdout: /published tide 1.0.0/ }, published.stderr);
  const again = await run([...words, "--oidc-token-file", token], { SEALIFT_SIGNING_SECRET: DEVELOPER_SECRET });
  t.match(again, { code: 3, stderr: /exchanged before[^]*Ask the CI provider for a new token/ });
  const without = words.filter((word) => word !== "--oidc");
  t.match(await run([...without, "--oidc-token-file", token]), { code: 2, stderr: /--oidc-token-file needs it/ });
});

t.test("outside of CI, --oidc says how to get a token; nothing is sent", async (t) => {
  const workflow = await startWorkflow(t);
  const { folder, run } = users(t, workflow);
  await plantProject(folder);
  await writeFile(join(folder, "signer.key"), "11".repeat(32));
  const words = ["project", "publish", "tree", "--project-id", "Harbour", "--version", "1.0.0", "--oidc"];
  const more = ["--signing-key-file", "signer.key"];
  t.match(await run([...words, ...more]), { code: 2, stderr: /finds no identity token here.*id-token: write/s });
  await writeFile(join(folder, "token"), "nonsense");
  const odd = await run([...words, ...more, "--oidc-token-file", "token"]);
  t.match(odd, { code: 2, stderr: /not a signed JSON Web Token/ });
  const silent = await startActions(t, (_request, response) => response.writeHead(403).end());
  t.match(await run([...words, ...more], silent), { code: 75, stderr: /gave no identity token: it answered 403/ });
  t.same(workflow.issuer.asked, []);
});

t.test("a publisher is added with mistakes named", async (t) => {
  const workflow = await startWorkflow(t);
  const { person } = users(t, workflow);
  const add = (...words: string[]) => person("publisher", "add", ...words, "--name", "x", "--issuer", "github");
  t.match(await add("plugin:tide", "--claim", "repository_id"), { code: 2, stderr: /--claim is NAME=VALUE/ });
  t.match(await add("tide", "--pending", "--claim", "a=b"), { code: 2, stderr: /TARGET is plugin:SLUG/ });
  t.match(await add("plugin:tide", "--pending", "--claim", "repository=acme/tide"), {
    code: 1,
    stderr: /names repository_id, repository_owner_id, workflow_ref or job_workflow_ref, too/,
  });
  t.match(await add("plugin:tide"), { code: 2, stderr: /--claim is missing/ });
});
