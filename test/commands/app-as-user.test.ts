// Holds: what only root may do with applications (commands/apps/app-allow.ts, commands/apps/app-run.ts,
// lib/apps/serve.ts)
// In a process of its own: it starts programs.
import { spawnSync } from "node:child_process";
import { chownSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { parse } from "yaml";
import { applicationsFile } from "../../lib/contract/files/applications.ts";
import { makeFolder } from "../../lib/support/files.ts";
import { ApplicationRoot } from "../support/host/application-root.ts";
import { SEALIFT, ServedRoot } from "../support/host/served-root.ts";

const isRoot = process.getuid?.() === 0;
/** An ordinary user: this one, or the last one where that is root. */
const UID = isRoot ? 65_534 : process.getuid!();
const AS_USER = isRoot ? ["setpriv", "--reuid", `${UID}`, "--regid", `${UID}`, "--clear-groups"] : [];

/** A project root of the ordinary user. */
async function ordinary(t: Parameters<typeof ApplicationRoot.make>[0]) {
  const root = await ApplicationRoot.make(t);
  await makeFolder(root.layout.sealift);
  const own = (): void => (isRoot ? void spawnSync("chown", ["-R", `${UID}`, root.layout.root]) : undefined);
  own();
  const run = (as: readonly string[], ...[verb, id, ...more]: string[]) => {
    const words = [verb!, id!, "--project-root", root.layout.root, ...more];
    const [file, ...args] = [...as, process.execPath, SEALIFT, "app", ...words];
    const { status, stdout, stderr } = spawnSync(file!, args, { encoding: "utf8", cwd: "/" });
    return { code: status, stdout, stderr };
  };
  const grants = () =>
    applicationsFile.parse(parse(readFileSync(join(root.layout.root, "applications.yaml"), "utf8"))).applications;
  return { root, own, run, grants };
}

t.test("an ordinary user allows what runs as himself, also by what a release asks", async (t) => {
  const { root, run, grants } = await ordinary(t);
  t.match(run(AS_USER, "allow", "web", "--same-user"), { code: 0 });
  t.match(grants(), { web: { same_user: true } });
  const file = join(root.layout.root, "app.yaml");
  writeFileSync(file, "command: [node, server.js]\n");
  t.match(run(AS_USER, "allow", "api", "--from", file, "--yes"), { code: 0 });
  t.match(grants(), { api: { same_user: true } });
  t.match(run(AS_USER, "allow", "web", "--from", file, "--yes"), { code: 0 }, "again");
});

t.test("only root takes the place of an application of the system's systemd", async (t) => {
  const { root, own, run } = await ordinary(t);
  await root.grant({ web: {} }, "systemd");
  own();
  const refused = /Only root can be the user of web\.\n.*sudo/;
  const words = ["run", "web", "--systemd-scope"];
  t.match(run(AS_USER, ...words, "system", "--", "true"), { code: 2, stderr: refused });
  const ofUser = run(AS_USER, ...words, "user", "--", "true");
  t.match(ofUser, { code: 1, stderr: /\(app_not_installed\)/ });
  if (!isRoot) return;
  chownSync(root.layout.root, 0, 0);
  t.match(run([], ...words, "system", "--", "true"), { code: 1, stderr: /\(app_not_installed\)/ });
});

t.test("an app serve that is not root says that it limits nothing", async (t) => {
  const { root, own } = await ordinary(t);
  await root.install("web", { files: { "server.js": "setInterval(() => {}, 1000)" } });
  await root.grantAsIs({ web: { same_user: true, limits: { tasks: 50 } } });
  own();
  const served = await ServedRoot.start(t, root, isRoot ? UID : "host");
  const started = served.events.find(({ event }) => event === "application.started");
  t.match(started, { unenforced: ["tasks"], unlimited: "`app serve` is not root" });
});
