// Only in test:all: whole pipelines of publishers.
import { execFile, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import { parse, parseAllDocuments } from "yaml";
import packageJson from "../../package.json" with { type: "json" };
import { writeAction } from "../../scripts/release/action.ts";
import { plant } from "../support/host/project-root.ts";
import { AUDIENCE, startWorkflow } from "../support/hub/publishers.ts";
import { billOf } from "../support/hub/statements.ts";
import { builtFile } from "../support/programs/command-line.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";

/** A step of a composite action, as far as it is used here. */
interface Step {
  name: string;
  if?: string;
  env: Record<string, string>;
  run: string;
}

/** Runs a script as a CI system does. `sealift` is the built program. */
async function runScript(folder: string, script: string, env: Record<string, string>) {
  const programs = join(folder, "bin");
  await mkdir(programs, { recursive: true });
  await writeFile(join(programs, "sealift"), `#!/bin/sh\nexec "${process.execPath}" "${builtFile("sealift")}" "$@"\n`);
  await chmod(join(programs, "sealift"), 0o755);
  const path = `${programs}:${dirname(process.execPath)}:${process.env["PATH"]}`;
  return new Promise<{ code: number; stdout: string; stderr: string }>((resolve) =>
    execFile(
      "bash",
      ["-e", "-c", script],
      { cwd: folder, env: { PATH: path, XDG_CONFIG_HOME: folder, ...env } },
      (error, stdout, stderr) => resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    ),
  );
}

/** Makes the action's repository. @param sums of the executables that it installs, by their name */
function actionRepository(folder: string, sums: Readonly<Record<string, string>> = {}): string {
  const names = ["x64", "arm64"].map((processor) => `sealift-${packageJson.version}-linux-${processor}`);
  writeAction(join(folder, "action"), names.map((name) => `${sums[name] ?? "0".repeat(64)}  ${name}\n`).join(""));
  return join(folder, "action");
}

/** A new project that trusts the workflow, with its tree, and what publishes it. */
async function prepared(t: Test) {
  const { hub, trust, run } = await startWorkflow(t, { rateLimits: false });
  const folder = temporaryFolder(t);
  const { body } = await trust({ creates: { kind: "project", name: "Harbour" } });
  const id = body.creates.slug as string;
  await plant(folder, {
    "tree/deployment/install.yaml": `format_version: "1"\nproject_id: ${id}\nversion: 1.0.0\nsteps:\n  - {id: install, action: install_plugin, plugin: tide}\n`,
    "tree/plugins/tide/plugin.yaml": "name: tide\nversion: 1.0.0\nexecution_mode: trusted\n",
    "bom.json": billOf([{ name: "lodash", version: "4.17.20" }]).toString(),
  });
  return { hub, run, folder, id };
}

t.test("the action of GitHub publishes by the run's identity, and says what it has done", async (t) => {
  const { hub, run, folder, id } = await prepared(t);
  const action = parse(await readFile("ci/github/action.yml", "utf8")) as {
    inputs: Record<string, { default?: string }>;
    runs: { steps: Step[] };
  };
  const given: Record<string, string> = {
    ...{ "hub-url": hub.url, target: "project:Harbour", version: "1.0.0", source: "tree", sbom: "bom.json" },
    ...{ audience: AUDIENCE, "signing-key": randomBytes(32).toString("hex"), "sealift-version": "none" },
  };
  const inputs = Object.fromEntries(
    Object.entries(action.inputs).map(([name, input]) => [name, given[name] ?? input.default ?? ""]),
  );
  const filled = (text: string) => text.replaceAll(/\$\{\{ inputs\.([\w-]+) \}\}/g, (_, name: string) => inputs[name]!);
  const tokens = createServer(
    (_request, response) => void run().then((value) => response.end(JSON.stringify({ value }))),
  );
  tokens.listen(0, "127.0.0.1");
  await once(tokens, "listening");
  t.teardown(() => tokens.close());
  const runner = {
    ACTIONS_ID_TOKEN_REQUEST_URL: `http://127.0.0.1:${(tokens.address() as AddressInfo).port}/token?api-version=2.0`,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: "request-token",
    GITHUB_ACTION_PATH: actionRepository(folder),
    GITHUB_STEP_SUMMARY: join(folder, "summary.md"),
  };
  const steps = action.runs.steps.filter((step) => step.if !== "inputs.sealift-version != 'none'");
  t.strictSame(
    steps.map(({ name }) => name),
    ["Publish"],
  );
  const [publish] = steps as [Step];
  t.notMatch(publish.run, "${{", "no input is a part of a script");
  const env = Object.fromEntries(Object.entries(publish.env).map(([name, text]) => [name, filled(text)]));
  const ended = await runScript(folder, publish.run, { ...runner, ...env });
  t.equal(ended.code, 0, ended.stderr);
  const summary = await readFile(runner.GITHUB_STEP_SUMMARY, "utf8");
  t.match(summary, /### Published project:Harbour 1\.0\.0.+\| size \| .+\| SHA-256 \| [0-9a-f]{64} \|.+\| sbom \|/s);
  t.match(summary, "sealift version statements 'project:Harbour' '1.0.0'");
  t.notMatch(ended.stdout + ended.stderr + summary, given["signing-key"]!, "the key is nowhere");
  const { body } = await hub.call("GET", `/devkeys/projects/${id}/versions`);
  t.match(body.items, [{ version: "1.0.0" }]);

  const refused = await runScript(folder, publish.run, { ...runner, ...env, SEALIFT_TARGET: "project:Other" });
  t.equal(refused.code, 3);
  t.match(await readFile(runner.GITHUB_STEP_SUMMARY, "utf8"), /### Not published: project:Other\n\n.+\(forbidden\)/s);
});

t.test("the action installs the program whose digest it names, and no other", async (t) => {
  const folder = temporaryFolder(t);
  const program = "#!/bin/sh\necho the released program\n";
  const digest = createHash("sha256").update(program).digest("hex");
  const version = packageJson.version;
  const name = `sealift-${version}-linux-${process.arch}`;
  let served = program;
  const asked: string[] = [];
  const releases = createServer((request, response) => {
    asked.push(request.url!);
    response.end(served);
  });
  releases.listen(0, "127.0.0.1");
  await once(releases, "listening");
  t.teardown(() => releases.close());
  const repository = actionRepository(folder, { [name]: digest });
  const from = `http://127.0.0.1:${(releases.address() as AddressInfo).port}`;
  let count = 0;
  const install = async (settings: Record<string, string> = {}) => {
    const runner = join(folder, `runner-${(count += 1)}`);
    await mkdir(runner);
    const [path, temporary] = [join(runner, "path"), join(runner, "temporary")];
    const env = { GITHUB_ACTION_PATH: repository, GITHUB_PATH: path, RUNNER_TEMP: temporary, SEALIFT_FROM: from };
    const ended = await runScript(folder, 'sh "$GITHUB_ACTION_PATH/install.sh"', { ...env, ...settings });
    const added = await readFile(path, "utf8").catch(() => "");
    return { ...ended, added, left: await readdir(temporary, { recursive: true }).catch(() => []) };
  };
  const installed = await install();
  t.match(installed, { code: 0, stdout: `Installed ${name}, SHA-256 ${digest}.\n` });
  t.strictSame(asked, [`/v${version}/${name}`]);
  t.equal((await runScript(folder, `"${installed.added.trim()}/sealift"`, {})).stdout, "the released program\n");

  served = program.replace("released", "exchanged");
  const exchanged = await install();
  t.match(exchanged, { code: 2, added: "", stderr: new RegExp(`has another digest than ${digest}`) });
  t.strictSame(exchanged.left, [`sealift-${version}`], "nothing of it is left");

  served = program;
  const other = { SEALIFT_WANTED: "9.8.7" };
  t.match(await install(other), { code: 2, stderr: /sealift-version 9\.8\.7 needs sealift-sha256/ });
  t.match(await install({ ...other, SEALIFT_WANTED_SHA256: digest }), {
    code: 0,
    stdout: /^Installed sealift-9\.8\.7/,
  });
});

t.test("the component of GitLab publishes by the token of its job", async (t) => {
  const { hub, run, folder } = await prepared(t);
  const [head, job] = parseAllDocuments(await readFile("ci/gitlab/templates/publish.yml", "utf8"));
  const { spec } = head!.toJSON() as { spec: { inputs: Record<string, { default?: string }> } };
  t.equal(spec.inputs["sealift-version"]!.default, packageJson.version, "its tag fixes what it installs");
  const { "sealift-publish": component } = job!.toJSON() as {
    "sealift-publish": { image: string; variables: Record<string, string>; script: string[] };
  };
  t.equal(component.image, "$[[ inputs.image ]]", "an image may be named by its digest");
  const inputs: Record<string, string> = {
    ...{ "hub-url": hub.url, target: "project:Harbour", version: "1.0.0", source: "tree", sbom: "", stage: "false" },
  };
  const filled = (text: string) => text.replaceAll(/\$\[\[ inputs\.([\w-]+) \]\]/g, (_, name: string) => inputs[name]!);
  const variables = Object.fromEntries(Object.entries(component.variables).map(([name, text]) => [name, filled(text)]));
  const [install, publish] = component.script as [string, string];
  t.match(install, /^npm install --global/);
  const script = publish.replace("$(npm root --global)/sealift", process.cwd());
  const env = {
    SEALIFT_OIDC_TOKEN: await run(),
    SEALIFT_OIDC_AUDIENCE: AUDIENCE,
    SIGNING_KEY: randomBytes(32).toString("hex"),
  };
  const ended = await runScript(folder, script, { ...variables, ...env });
  t.equal(ended.code, 0, ended.stderr);
  t.match(await readFile(join(folder, "sealift-summary.md"), "utf8"), /### Published project:Harbour 1\.0\.0/);
});

t.test("a cancelled job leaves no signing key in the temporary folder", async (t) => {
  const folder = temporaryFolder(t);
  const [programs, temporary] = [join(folder, "bin"), join(folder, "temporary")];
  await mkdir(programs);
  await mkdir(temporary);
  await writeFile(join(programs, "sealift"), "#!/bin/sh\nexec sleep 60\n", { mode: 0o755 });
  const job = spawn("/bin/sh", ["ci/publish.sh"], {
    detached: true,
    env: {
      ...{ PATH: `${programs}:${process.env["PATH"]}`, TMPDIR: temporary, SIGNING_KEY: "0".repeat(64) },
      ...{ SEALIFT_TARGET: "project:Harbour", SEALIFT_VERSION: "1.0.0", SEALIFT_SOURCE: "tree" },
    },
  });
  const ended = once(job, "exit");
  await until(async () => (await readdir(temporary, { recursive: true })).some((name) => name.endsWith("signer.key")));
  process.kill(-job.pid!, "SIGTERM");
  t.strictSame(await ended, [143, null]);
  t.strictSame(await readdir(temporary), []);
});
