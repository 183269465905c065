// Only in test:all: somebody types at a terminal, which .ci/run does as an ordinary user.
import { spawnSync } from "node:child_process";
import { chmod, cp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer, request as forward } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t, { type Test } from "tap";
import { makeCertificate } from "../support/hub/certificate.ts";
import { createProject, type RunningHub, startHub } from "../support/hub/harness.ts";
import { builtProgram, commandLine } from "../support/programs/command-line.ts";
import { needs } from "../support/programs/optional.ts";
import { Terminal } from "../support/programs/terminal.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const self = { uid: process.getuid?.(), gid: process.getgid?.() };
const PROGRAM = fileURLToPath(new URL("../../dist/bin/sealift.js", import.meta.url));

/** A person's home, and the program as they run it there. */
function person(t: Test) {
  const home = temporaryFolder(t);
  const here = (env: object) => ({ env: { PATH: process.env.PATH, XDG_CONFIG_HOME: home, ...env }, cwd: home });
  const run = (line: string, env = {}) => commandLine(line.split(" "), here(env));
  const start = (line: string, env = {}) => builtProgram(line.split(" "), here(env));
  const loggedIn = async (hub: RunningHub, name: string): Promise<void> => {
    const ended = await run(`login ${hub.url} --name ${name}`, { SEALIFT_API_KEY: hub.adminKey });
    t.equal(ended.code, 0, ended.stderr);
  };
  return { home, file: join(home, "sealift", "contexts.json"), run, start, loggedIn };
}

const listen = async (t: Test, server: ReturnType<typeof createServer>): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  return (server.address() as AddressInfo).port;
};

t.test("after login commands need no hub and no key, and say which hub they ask", async (t) => {
  const hub = await startHub(t);
  const { file, run, loggedIn } = person(t);
  t.match(await run("key list"), { code: 2, stderr: /--hub-url and --api-key are missing/ });
  await loggedIn(hub, "one");
  t.equal((await stat(file)).mode & 0o777, 0o600);
  const listed = await run("key list");
  t.match(listed, { code: 0, stderr: `hub: ${hub.url} (context one)\n` });
  t.match((await run("key list --json")).stderr, /^$/, "programs read no remarks");
  t.match((await run("context show")).stdout, new RegExp(`^one {2}${hub.url} {2}key .{8}…`));
  t.notMatch((await run("context show")).stdout, hub.adminKey);
  t.match(await run("logout --dry-run"), { code: 0, stderr: /^would forget the context one/ });
  t.match(await readFile(file, "utf8"), hub.adminKey);
  t.match(await run("logout"), { code: 0, stderr: /Forgot the context one/ });
  t.notMatch(await readFile(file, "utf8"), hub.adminKey);
  t.equal((await run("key list")).code, 2);
});

t.test("publishing, a plan for a project's name and doctor use the login, too", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  const { home, run, loggedIn } = person(t);
  await cp("examples/harbour", join(home, "source"), { recursive: true });
  const plan = join(home, "source/deployment/install.yaml");
  await writeFile(plan, (await readFile(plan, "utf8")).replace(/^project_id: .*/m, `project_id: ${project.id}`));
  t.equal((await run("signer create --out keys")).code, 0);
  const publish = `project publish source --project-id ${project.id} --signing-key-file keys/signer.key`;
  t.match(await run(`${publish} --version 1.0.0`), {
    code: 2,
    stderr: /--hub-url and --api-key are missing.*\n.*login/,
  });
  t.match((await run("doctor")).stdout, /No hub was named.*\n.*sealift login/);
  await loggedIn(hub, "one");
  const remark = `hub: ${hub.url} (context one)\n`;
  const published = await run(`${publish} --version 1.0.0`);
  t.match(published, { code: 0, stdout: /^published 1\.0\.0/ });
  t.ok(published.stderr.includes(remark), published.stderr);
  t.match((await run(`deploy-publish source ${publish.slice(23)} --version 1.0.1`)).stdout, /^published 1\.0\.1/);
  await rm(plan);
  const written = await run("plan init Demo --kind project --out source/deployment/install.yaml");
  t.match(written, { code: 0, stderr: remark }, written.stderr);
  t.match((await run("doctor")).stdout, /ok +hub: /);

  // A login decides whom a command asks, not whether one asks anybody.
  const kept = await run(`${publish} --version 1.0.2 --out kept.xdeploy`);
  t.match(kept, { code: 0, stdout: /^built / });
  t.notMatch(kept.stderr, /context one/);
  t.match(
    (await run(`${publish} --version 1.0.2 --out sent.xdeploy --hub-url ${hub.url}`)).stdout,
    /^published 1\.0\.2/,
  );
  t.notMatch((await run(`${publish} --version 1.0.3 --dry-run`)).stderr, /context one/);
  const sized = await run(`${publish} --version 1.0.3 --dry-run --hub-url ${hub.url}`);
  t.match(sized, { code: 0, stdout: /the artifact of them/ }, "the key of the login goes to the hub that was named");
  const elsewhere = await run(`${publish} --version 1.0.3 --hub-url http://127.0.0.1:9`);
  t.match(elsewhere, { code: 2, stderr: /--api-key is missing/ }, "and to no other one");
});

t.test("a user whom the system does not know, without a home, is served", (t) => {
  // As in a container that runs as a mere number.
  const stranger = { uid: 54_321, gid: 54_321, env: { PATH: "/usr/bin:/bin" }, cwd: "/", encoding: "utf8" as const };
  const canBe = process.getuid?.() === 0 && spawnSync("test", ["-r", PROGRAM], stranger).status === 0;
  const ended = spawnSync(process.execPath, [PROGRAM, "context", "list"], canBe ? stranger : { ...stranger, ...self });
  t.equal(ended.status, 0, ended.stderr);
  t.end();
});

t.test("a key that the hub does not know is not kept", async (t) => {
  const hub = await startHub(t);
  const { run } = person(t);
  const ended = await run(`login ${hub.url}`, { SEALIFT_API_KEY: "slk_no_such_key" });
  t.equal(ended.code, 3);
  t.match((await run("context list")).stderr, /None yet/);
});

t.test("contexts are listed and chosen, and one command may use another one", async (t) => {
  const [one, two] = [
    await startHub(t, { dataDir: temporaryFolder(t) }),
    await startHub(t, { dataDir: temporaryFolder(t) }),
  ];
  const { run, loggedIn } = person(t);
  await loggedIn(one, "one");
  await loggedIn(two, "two");
  t.same((await run("context list")).stdout.trimEnd().split("\n"), [`   one  ${one.url}`, `*  two  ${two.url}`]);
  t.match((await run("key list --context one")).stderr, `hub: ${one.url} (context one)`);
  t.equal((await run("context use one")).code, 0);
  t.match((await run("key list")).stderr, `hub: ${one.url} (context one)`);
  t.match(await run("context use tw"), { code: 2, stderr: /There is no context "tw".*\n.*Did you mean two/ });
});

t.test("a key goes to the hub that it was stored for, and to no other one", async (t) => {
  const hub = await startHub(t);
  const seen: (string | undefined)[] = [];
  const thief = await listen(
    t,
    createServer((request, response) => {
      seen.push(request.headers["x-api-key"] as string | undefined);
      response.end("{}");
    }),
  );
  const { run, loggedIn } = person(t);
  await loggedIn(hub, "one");
  t.match(await run(`key list --hub-url http://127.0.0.1:${thief}`), { code: 2, stderr: /--api-key is missing/ });
  t.match(await run(`key list --context one --hub-url http://127.0.0.1:${thief}`), {
    code: 2,
    stderr: /Give one of them/,
  });
  t.same(seen, []);
  t.match(await run(`key list --hub-url ${hub.url}/`), { code: 0, stderr: "" }, "the same hub, named by hand");
});

t.test("a folder's sealift.yaml chooses no context before the folder is trusted", async (t) => {
  const [one, two] = [
    await startHub(t, { dataDir: temporaryFolder(t) }),
    await startHub(t, { dataDir: temporaryFolder(t) }),
  ];
  const { home, run, loggedIn } = person(t);
  await loggedIn(two, "prod");
  await loggedIn(one, "play");
  await writeFile(join(home, "sealift.yaml"), "context: prod\n");
  const refused = /usage.*names a context.*not trusted.*\n.*--context or --hub-url.*`sealift trust-folder`/;
  t.match(await run("project create Stray --kind project"), { code: 2, stderr: refused });
  t.match(await run("project list --context play"), {
    code: 0,
    stdout: "",
    stderr: `hub: ${one.url} (context play)\n`,
  });
  t.match(await run("project list", { SEALIFT_CONTEXT: "prod" }), { code: 0, stdout: "" });
  const named = await run(`project list --hub-url ${one.url}`);
  t.match(named, { code: 0, stdout: "", stderr: /^warning: .* gives context: prod\. That does not count/ });
  t.match(await run("project list --config sealift.yaml"), { code: 0, stderr: `hub: ${two.url} (context prod)\n` });
  t.equal((await run("trust-folder")).code, 0);
  t.match(await run("project list"), { code: 0, stdout: "", stderr: `hub: ${two.url} (context prod)\n` });
});

t.test("a file of keys that others may read is refused", async (t) => {
  const hub = await startHub(t);
  const { file, run, loggedIn } = person(t);
  await loggedIn(hub, "one");
  await chmod(file, 0o644);
  t.match(await run("key list"), { code: 2, stderr: /credential_unreadable.*\n.*chmod 600/ });
});

t.test("on a terminal the key is asked for, and not shown", { skip: needs("tmux") }, async (t) => {
  const hub = await startHub(t);
  const { home, file } = person(t);
  const command = [process.execPath, PROGRAM, "login", hub.url, "--name", "typed"];
  await using terminal = await Terminal.run(command, { env: { XDG_CONFIG_HOME: home } });
  await terminal.shows(/API key for http/);
  await terminal.press("-l", hub.adminKey);
  await terminal.press("Enter");
  const screen = await terminal.shows(/exit 0/);
  t.match(screen, /Logged in to/);
  t.notMatch(screen, hub.adminKey.slice(0, 12));
  t.match(JSON.parse(await readFile(file, "utf8")), {
    current: "typed",
    contexts: { typed: { api_key: hub.adminKey } },
  });
});

t.test("requests go through HTTP_PROXY, but not for NO_PROXY, and doctor shows both", async (t) => {
  const hub = await startHub(t);
  const { port: hubPort } = new URL(hub.url);
  const asked: string[] = [];
  const proxy = await listen(
    t,
    createServer((request, response) => {
      asked.push(request.url!);
      const { pathname, search } = new URL(request.url!);
      const options = { port: hubPort, path: pathname + search, method: request.method, headers: request.headers };
      request.pipe(
        forward({ host: "127.0.0.1", ...options }, (answer) => answer.pipe(response.writeHead(answer.statusCode!))),
      );
    }),
  );
  const { start } = person(t);
  const environment = { HTTP_PROXY: `http://me:secret@127.0.0.1:${proxy}`, SEALIFT_API_KEY: hub.adminKey };
  const through = await start("key list --hub-url http://hub.invalid", environment);
  t.equal(through.code, 0, through.stderr);
  t.match(asked, [/^http:\/\/hub\.invalid\/devkeys/]);
  t.equal((await start(`key list --hub-url ${hub.url}`, { ...environment, NO_PROXY: "127.0.0.1" })).code, 0);
  t.equal(asked.length, 1);
  const { stdout } = await start("doctor --hub-url http://hub.invalid", environment);
  t.match(stdout, `HTTP_PROXY=http://…@127.0.0.1:${proxy}`);
  t.notMatch(stdout, "secret");
});

t.test("--ca-file makes a hub trusted whose certificate nobody knows", async (t) => {
  const hub = await startHub(t);
  const { home, start } = person(t);
  const made = makeCertificate();
  await writeFile(join(home, "key.pem"), made.key);
  await writeFile(join(home, "cert.pem"), made.cert);
  const server = createTlsServer(made, (request, response) => {
    const options = {
      port: new URL(hub.url).port,
      path: request.url,
      method: request.method,
      headers: request.headers,
    };
    request.pipe(
      forward({ host: "127.0.0.1", ...options }, (answer) => answer.pipe(response.writeHead(answer.statusCode!))),
    );
  });
  const port = await listen(t, server);
  const environment = { SEALIFT_API_KEY: hub.adminKey, SEALIFT_HUB_URL: `https://127.0.0.1:${port}` };
  t.match(await start("key list", environment), { code: 75, stderr: /connection_failed/ });
  t.equal((await start("key list --ca-file cert.pem", environment)).code, 0);
  t.match(await start("key list --ca-file key.pem", environment), { code: 2, stderr: /holds no certificate/ });
  t.match(await start("key list --ca-file nowhere.pem", environment), {
    code: 2,
    stderr: /--ca-file nowhere\.pem cannot be read/,
  });
});
