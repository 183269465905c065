import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { applicationLog, applicationPaths } from "../../../lib/releases/applications.ts";
import { ApplicationRoot } from "../../support/host/application-root.ts";
import { allRefused, inEachSetting, startAttacker } from "../../support/runtime/attacker.ts";

const PROGRAM = `console.log("up"); setInterval(() => {}, 1000);`;

inEachSetting("a sandboxed plugin reads nothing of an application of its root and user", async (t, setting) => {
  const host = await startAttacker(t, { setting });
  const root = new ApplicationRoot(host.root);
  const release = await root.install("web", { app: { data: "storage" }, files: { "server.js": PROGRAM } });
  const { link, settings, data } = applicationPaths(root.layout, "web");
  const paths = {
    program: `${link}/server.js`,
    descriptor: `${link}/app.yaml`,
    release: `${root.layout.releases("project-p")}/${release}/apps/web/server.js`,
    settings,
    data: `${data}/customers`,
    log: applicationLog(root.layout, "web").path,
    grants: host.path("applications.yaml"),
  };
  await root.grant({});
  for (const path of [paths.settings, paths.data, paths.log]) host.write(path.slice(host.root.length + 1), "secret");
  // As app serve runs it with --same-user, whoever this is.
  const program = spawn(process.execPath, ["server.js"], { cwd: link, env: { TOKEN: "secret" } });
  t.teardown(() => program.kill("SIGKILL"));
  await once(program.stdout, "data");
  const ofProcess = Object.fromEntries(
    ["environ", "cmdline", "maps", "cwd/server.js", "root/etc/passwd"].map((name) => [
      name,
      `/proc/${program.pid}/${name}`,
    ]),
  );
  const all: Record<string, string> = { ...paths, ...(existsSync("/proc/self/environ") && ofProcess) };
  for (const [name, path] of Object.entries(all)) t.ok(readFileSync(path, "latin1"), `${name} is there to be read`);
  const read = (name: string) =>
    `return (await load("node:fs")).readFileSync(parameters[${JSON.stringify(name)}]).length`;
  const list = (path: string) => `return (await load("node:fs")).readdirSync(parameters.root + "/${path}").length`;
  await allRefused(
    t,
    host,
    {
      ...Object.fromEntries(Object.keys(all).map((name) => [name, read(name)])),
      "its settings by dots": `return (await load("node:fs")).readFileSync(context.dataDir + "/../../../apps/web.env")`,
      "a link to its data": `const fs = await load("node:fs"); const link = context.dataDir + "/link"; fs.symlinkSync(parameters.data, link); return fs.readFileSync(link).length`,
      "the names in apps": list("apps"),
      "the names of releases": list(".sealift/releases"),
      "a signal to its process": `process.kill(${program.pid}, "SIGTERM"); return 1`,
    },
    { ...all, root: host.root },
  );
  t.equal(program.exitCode ?? program.signalCode, null, "it runs on");
});
