import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { plant } from "../support/host/project-root.ts";
import { zipOf } from "../support/hub/archives.ts";
import { startDoor } from "../support/hub/door.ts";
import { DEVELOPER_SECRET } from "../support/hub/marketplace-hub.ts";
import { startStaging } from "../support/hub/staging.ts";
import { commandLine } from "../support/programs/command-line.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** A hub with a project and a plugin, and two users of it: CI, which may only stage, and a person who may publish. */
async function users(t: Test) {
  const staging = await startStaging(t, { rateLimits: false });
  const folder = temporaryFolder(t);
  const as = (key: string) => {
    const env = { PATH: process.env.PATH, HOME: folder, SEALIFT_HUB_URL: staging.hub.url, SEALIFT_API_KEY: key };
    return (...words: string[]) => commandLine(words, { cwd: folder, env });
  };
  return { staging, folder, ci: as(staging.stager.key), person: as(staging.approver.key), host: as(staging.host.key) };
}

const plantProject = (folder: string, id: string, version: string): Promise<void> =>
  plant(folder, {
    "tree/deployment/install.yaml": `format_version: "1"\nproject_id: ${id}\nversion: ${version}\nsteps:\n  - {id: tide, action: install_plugin, plugin: tide}\n`,
    "tree/plugins/tide/plugin.yaml": `name: tide\nversion: ${version}\nexecution_mode: trusted\n`,
  });

t.test("CI stages a version of a project, and a person compares and approves it", async (t) => {
  const { staging, folder, ci, person, host } = await users(t);
  const { project } = staging;
  t.equal((await person("signer", "create", "--out", "keys")).code, 0);
  t.match(await person("project", "update", "Harbour", "--require-approval"), {
    code: 0,
    stderr: /publish with --stage/,
  });
  t.match(await person("project", "update", "Harbour"), { code: 2, stderr: /--require-approval is missing/ });
  const publish = (version: string, ...more: string[]) =>
    ci(...["project", "publish", "tree", "--project-id", project, "--version", version], ...more);
  const signed = ["--signing-key-file", "keys/signer.key"];
  await plantProject(folder, project, "1.0.0");
  t.match(await publish("1.0.0", ...signed), { code: 5, stderr: /approval_required.*--stage/s });
  const staged = await publish("1.0.0", ...signed, "--stage");
  t.match(staged, { code: 0, stdout: /^staged 1\.0\.0 as art_/ });
  const [, digest = ""] = /\nstaged: waits for approval: sealift stage approve ([0-9a-f]{64})\n$/.exec(staged.stdout)!;
  t.match((await publish("1.0.0", ...signed, "--stage")).stdout, /is staged already.*\n.*stage approve/);
  t.match(await ci("stage", "list"), {
    code: 0,
    stdout: new RegExp(`Harbour +1\\.0\\.0 .*${digest.slice(0, 16)} +stage +no`),
  });
  t.match(await person("stage", "show", "Harbour", "1.0.0"), {
    code: 0,
    stdout: new RegExp(`stage approve ${digest}`),
  });
  t.match(await host("stage", "list"), { code: 3, stderr: /lacks the scope publish or stage/ });
  t.match(await person("stage", "approve", "abc"), { code: 2, stderr: /DIGEST is a SHA-256/ });
  t.match(await person("stage", "approve", "0".repeat(64)), { code: 2, stderr: /No staged version has the digest/ });
  t.match(await person("stage", "approve", digest.slice(0, 12)), { code: 0, stderr: /Harbour 1\.0\.0 is published\./ });
  t.match((await person("version", "list", "Harbour")).stdout, / stage, approved by publish projects/);

  await plantProject(folder, project, "1.1.0");
  const second = await publish("1.1.0", ...signed, "--stage", "--json");
  t.match(second.stdout, /"outcome":"staged".*"state":\{"name":"staged"/);
  t.match(await person("stage", "diff", project, "1.1.0", ...signed), {
    code: 0,
    stdout: /~ plugins\/tide\/plugin\.yaml/,
  });
  t.match(await ci("stage", "reject", project, "1.1.0", "--reason", "wrong tides"), { code: 0, stderr: /Rejected/ });
  t.match(await person("stage", "list"), { code: 0, stdout: "", stderr: /No version waits for approval/ });
});

t.test("a plugin is staged by both of its commands", async (t) => {
  const { folder, ci, person } = await users(t);
  await writeFile(join(folder, "secret"), DEVELOPER_SECRET);
  await writeFile(
    join(folder, "tide.zip"),
    zipOf({ "plugin.yaml": "name: tide\nversion: 1.0.0\nexecution_mode: trusted\n" }),
  );
  const secret = ["--signing-secret-file", "secret", "--stage"];
  const words = ["marketplace", "publish", "tide", "--version", "1.0.0", "--archive", "tide.zip"];
  const line = /^staged tide 1\.[01]\.0 \(.*\nstaged: waits for approval: sealift stage approve [0-9a-f]{64}\n$/;
  t.match(await ci(...words, ...secret), { code: 0, stdout: line });
  t.match(await ci(...words, ...secret), {
    code: 0,
    stdout: /^unchanged: tide 1\.0\.0 .*\nstaged: waits for approval/,
  });
  await plant(folder, {
    "tide/plugin.yaml": "name: tide\nversion: 1.1.0\nentry_point: index.js\nexecution_mode: sandboxed\n",
    "tide/index.js": "export default {};\n",
  });
  t.match(await ci("plugin", "publish", "tide", ...secret), { code: 0, stdout: line });
  const listed = await person("stage", "list", "--json");
  const digests = [...listed.stdout.matchAll(/"sha256":"([0-9a-f]{64})"/g)].map(([, digest]) => digest!);
  t.equal(digests.length, 2);
  t.match(await person("stage", "approve", ...digests), { code: 0, stderr: /Tide 1\.0\.0 is.*\n.*Tide 1\.1\.0 is/ });
});

t.test("a job waits until a version is approved, rejected or gone, and no longer than it is told to", async (t) => {
  const { staging, folder } = await users(t);
  const { hub, project, stager, approver, upload } = staging;
  const door = await startDoor(t);
  door.hub = hub.url;
  const env = { PATH: process.env.PATH, HOME: folder, SEALIFT_HUB_URL: door.url, SEALIFT_API_KEY: stager.key };
  const wait = (version: string, ...more: string[]) =>
    commandLine(["stage", "wait", project, version, "--interval", "100ms", ...more], { cwd: folder, env });
  /** Does something once a job has looked for the first time, and still waits. */
  const meanwhile = (version: string, work: () => Promise<unknown>): void => {
    let isDone = false;
    door.trouble = ({ path }) => {
      const looks = door.passages.filter((one) => one.path.endsWith(`/${version}/outcome`)).length;
      if (path.endsWith(`/${version}/outcome`) && looks === 2 && !isDone) {
        isDone = true;
        void work();
      }
      return { kind: "none" };
    };
  };
  t.match(await wait("9.9.9"), { code: 1, stderr: /not_found/ });
  for (const version of ["1.0.0", "1.1.0", "1.2.0"]) await upload(stager.key, version, "true");
  const late = await wait("1.0.0", "--timeout", "0s");
  t.match(late, { code: 75, stderr: /stage_unfinished.*still waits for approval/s });

  meanwhile("1.0.0", () => staging.approve(approver.key, "1.0.0"));
  const approved = await wait("1.0.0", "--json");
  t.match(approved, { code: 0, stdout: /"event":"result","status":"success".*"state":"published"/ });
  t.equal((await wait("1.0.0")).code, 0, "also when it was approved before");

  const reject = (version: string) =>
    hub.call("POST", `/devkeys/staging/${project}/${version}/reject`, { json: { reason: "wrong tides" } });
  meanwhile("1.1.0", () => reject("1.1.0"));
  t.match(await wait("1.1.0"), { code: 7, stderr: /stage_ended.*1\.1\.0 of prj_\w+ was rejected or removed/s });
  meanwhile("1.2.0", async () => {
    await reject("1.2.0");
    await upload(stager.key, "1.2.0", "true");
  });
  t.equal((await wait("1.2.0")).code, 7, "the label has come again, with other bytes");
});
