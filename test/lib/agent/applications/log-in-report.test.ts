// Holds: which lines of a log a report has (lib/agent/supervisors/log-tail.ts)
// In a process of its own: it starts applications.
import { execFileSync } from "node:child_process";
import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { deploy } from "../../../../lib/agent/deployment/deploy.ts";
import { DEPLOY_DEFAULTS } from "../../../../lib/agent/deployment/run.ts";
import { logTail } from "../../../../lib/agent/supervisors/log-tail.ts";
import { MAX_LOG_CHARACTERS, MAX_LOG_LINES } from "../../../../lib/contract/surfaces/reports.ts";
import { NO_SETTINGS, writeFleetSettings } from "../../../../lib/releases/fleet-settings.ts";
import { layoutOf } from "../../../../lib/releases/layout.ts";
import { GIVEN_TARGET, sourceOf } from "../../../support/host/given-source.ts";
import { sickApplication } from "../../../support/host/sick-application.ts";

const SECRET = "correct horse battery staple";

/** Deploys a version whose application writes lines and ends, after one that works. @returns its report */
async function reported(t: Test, server: string, logInReports?: boolean, prepare?: (root: string) => Promise<void>) {
  const h = await sickApplication(t);
  await mkdir(join(h.root, "apps"), { recursive: true });
  await writeFile(join(h.root, "apps/web.env"), `TOKEN='${SECRET}'\nSHORT=no\n`);
  await chmod(join(h.root, "apps/web.env"), 0o644);
  const run = (version: string, files: Record<string, string>) =>
    deploy(
      sourceOf(version, h.steps, { files, reports: h.reports }),
      {
        ...{ ...DEPLOY_DEFAULTS, projectRoot: h.root, hostId: "host", supervisor: { name: "none" as const } },
        ...(logInReports !== undefined && { logInReports }),
      },
      () => undefined,
    );
  t.match(await run("1.0.0", h.files), { outcome: "deployed" });
  await prepare?.(h.root);
  t.match(await run("2.0.0", { ...h.files, "apps/web/server.js": server }), { outcome: "rolled_back" });
  const folder = join(h.root, ".sealift/reports");
  for (const name of (await readdir(folder, { recursive: true })).filter((one) => one.endsWith(".json"))) {
    const file = join(folder, name);
    const { log } = JSON.parse(await readFile(file, "utf8")) as { log?: string[] };
    t.equal((await stat(file)).mode & 0o077, log === undefined ? 0o044 : 0, "no other application reads its lines");
  }
  return h.reports.at(-1)!;
}

t.test("the report of a failed application has its last lines, safe to show and without its settings", async (t) => {
  const report = await reported(
    t,
    `for (let line = 0; line < 50; line++) console.error("line " + line);
     console.error("\\u001b[2Jno database at postgres://shop:pass@db/ with " + process.env.TOKEN + " and no");
     process.exit(3);`,
  );
  t.match(report, { status: "rolled_back", code: "unhealthy" });
  const { log = [] } = report;
  t.ok(log.length > 5 && log.length <= MAX_LOG_LINES, String(log.length));
  const text = log.join("\n");
  t.match(text, /no database at postgres:\/\/…@db\/ with \[redacted\] and no/);
  t.notMatch(text, /\u001b|pass@|battery/);
  t.match(text, "line 49");
  t.notMatch(text, "line 2\n");
});

t.test("long lines leave room for no more than a report may hold", async (t) => {
  const { log = [] } = await reported(
    t,
    `for (let line = 0; line < 20; line++) console.error("x".repeat(3000) + line); process.exit(3);`,
  );
  t.ok(log.length > 0 && log.join("\n").length <= MAX_LOG_CHARACTERS, String(log.join("\n").length));
});

t.test("an operator keeps logs out of reports", async (t) => {
  t.equal((await reported(t, `console.error("the reason"); process.exit(3);`, false)).log, undefined);
});

t.test(
  "no part of a value is in a report: lines of a key, one that was cut, and settings that were taken back",
  async (t) => {
    const body = "MC4CAQAwBQYDK2VwBCIEIA+/=";
    const long = "swordfish-".repeat(200);
    const pem = `-----BEGIN PRIVATE KEY-----\n${body}\n-----END PRIVATE KEY-----`;
    const back = "taken-back-4711";
    const { log = [] } = await reported(
      t,
      `console.error("the key " + process.env.KEY);
     console.error(JSON.stringify({ key: process.env.KEY }));
     console.error("x".repeat(900) + process.env.LONG);
     console.error("was ${back} and ends"); process.exit(3);`,
      undefined,
      async (root) => {
        await writeFile(join(root, "apps/web.env"), `TOKEN='${SECRET}'\nKEY='${pem}'\nLONG='${long}'\n`, {
          mode: 0o600,
        });
        const next = { operator: "op", to: "to", digest: "d", number: 2, apps: { web: { TOKEN: back } } };
        await writeFleetSettings(layoutOf(root), GIVEN_TARGET, { ...NO_SETTINGS, next });
      },
    );
    const text = log.join("\n");
    t.match(text, /the key \[redacted\]/);
    t.match(text, /x{900}\[redacted\]$/m);
    t.match(text, "was [redacted] and ends");
    t.notMatch(text, /MC4CAQ|PRIVATE|swordfish|taken-back/);
  },
);

t.test("where nobody knows what to hide, no line is told, and nobody waits", async (t) => {
  let root = "";
  const { log = [] } = await reported(t, `console.error("the reason"); process.exit(3);`, undefined, async (made) => {
    root = made;
  });
  t.match(log.join(), "the reason");
  const file = join(root, "apps/web.env");
  const layout = layoutOf(root);
  t.not((await logTail(layout, { section: "apps", id: "web" }, {})).length, 0);
  await rm(file);
  execFileSync("mkfifo", [file]);
  t.strictSame(await logTail(layout, { section: "apps", id: "web" }, {}), []);
});
