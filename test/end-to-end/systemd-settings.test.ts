// Only in test:all: systemd boots, and runs hub, watch and application by their units.
// Holds: settings under systemd: the key is a credential, and bad ones go back (lib/agent/joining/unit.ts)
import { copyFileSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { hostLineIn } from "../../lib/contract/settings/host-line.ts";
import { ODD_VALUES, SHOP_APP, SHOP_SERVER } from "../support/host/settings-shop.ts";
import type { Ended } from "../support/programs/command-line.ts";
import { needs } from "../support/programs/optional.ts";
import { SystemdMachine } from "../support/programs/systemd-machine.ts";
import { until } from "../support/until.ts";

const HUB = "http://127.0.0.1:8787";
const ROOT = "/srv/shop";
const WATCH = "sealift-watch@shop";
const KEY_FILE = "/etc/sealift/watch/shop.key";
const KILL_AT = "/var/lib/kill-at";
const PRELOAD = "/usr/lib/kill-at.ts";
const SECRET = "planted-c0ffee";
const ADMIN = ["--hub-url", HUB, "--api-key-file", "/var/lib/sealift-hub/admin.key"];
const OPERATOR = ["--operator-key", "/root/operator/signer.key"];
const PROGRAM = ["/usr/lib/sealift-node", "/usr/lib/sealift/dist/bin/sealift.js"];

/** A machine with a hub, a project, its operator, and a version that nobody runs yet. */
async function machineWithHub(t: Test) {
  const machine = await SystemdMachine.withPackage(t);
  symlinkSync("/usr/lib/sealift-node", machine.path("/usr/local/bin/sealift-node"));
  const run = async (...words: string[]): Promise<string> => {
    const { code, stdout, stderr } = await machine.run(...words);
    if (code !== 0) throw new Error(`${words.join(" ")}: ${stderr}${stdout}`);
    return stdout.trim();
  };
  await machine.sealift("systemd", "install", "hub");
  for (const step of ["systemd-sysusers", "systemd-tmpfiles --create", "systemctl daemon-reload"])
    await machine.run(...step.split(" "));
  await run("systemctl", "start", "sealift-hub");
  const project = await machine.sealift("project", "create", "Shop", ...ADMIN);
  for (const name of ["keys", "operator"]) await machine.sealift("signer", "create", "--out", `/root/${name}`);
  machine.write("/root/shop/apps/web/app.yaml", SHOP_APP.replace("node", "sealift-node"));
  machine.write("/root/shop/apps/web/server.js", SHOP_SERVER);
  machine.write(
    "/root/shop/deployment/install.yaml",
    `format_version: "1"\nproject_id: ${project}\nsteps: [{ id: web, action: install_app, app: web }]\n`,
  );
  const signing = ["--signing-key-file", "/root/keys/signer.key"];
  const publish = (version: string): Promise<string> => {
    const words = ["project", "publish", "/root/shop", "--project-id", project, "--version", version];
    return machine.sealift(...words, ...signing, ...ADMIN);
  };
  await publish("1.0.0");
  const invite = ["host", "invite", "--project", "Shop", "--host", "pier-7", "--label", "env=prod", ...OPERATOR];
  machine.write("/root/line", `${await machine.sealift(...invite, ...ADMIN)}\n`, 0o600);
  const apply = (values: object): Promise<Ended> => {
    const settings = [{ match: { env: "prod" }, apps: { web: { SECRET, ...values } } }];
    machine.write("/root/fleet/fleet.yaml", JSON.stringify({ project: "Shop", settings }));
    const command = ["settings", "apply", "/root/fleet/fleet.yaml", ...OPERATOR, "--wait", "60s", ...ADMIN];
    return machine.run(...PROGRAM, ...command);
  };
  const asked = async (path = "/"): Promise<string> =>
    (await machine.run("curl", "-s", "--max-time", "5", `http://127.0.0.1:3000${path}`)).stdout;
  const rolled = (): Promise<string> => machine.sealift("rollout", "list", project, "--json", ...ADMIN);
  return { machine, run, project, publish, rolled, apply, asked };
}

const skip = needs("systemd-nspawn", "tar", "curl") || (process.getuid?.() !== 0 && "needs root");
t.test(
  "one command a host: settings reach it under systemd, and bad ones go back",
  { skip, timeout: 480_000 },
  async (t) => {
    const { machine, run, project, publish, rolled, apply, asked } = await machineWithHub(t);
    const answers = async () => JSON.parse(await asked()) as unknown;
    await machine.sealift(
      ...["join", HUB, "--token-file", "/root/line", "--host-id", "pier-7", "--systemd", "shop"],
      ...["--project-root", ROOT, "--yes", "--allow", "web", "--listen", "http=3000"],
    );

    await t.test("the key is a credential, and no other user reads it", async (t) => {
      t.match(await machine.show(WATCH, "ActiveState"), { ActiveState: "active" });
      t.match(await run("systemctl", "cat", WATCH), `LoadCredential=host-key:${KEY_FILE}`);
      t.equal(await run("stat", "--format=%a %U", KEY_FILE), "600 root");
      for (const user of ["sealift-watch", "app-web"])
        t.not((await machine.run("setpriv", "--reuid", user, "--clear-groups", "cat", KEY_FILE)).code, 0, user);
      const pinned = "/etc/sealift/watch/shop.yaml";
      t.not((await machine.run("setpriv", "--reuid", "sealift-watch", "--clear-groups", "test", "-w", pinned)).code, 0);
      t.match(readFileSync(machine.path(pinned), "utf8"), /operator:/);
    });

    await t.test("a version waits for its settings, and runs with them", async (t) => {
      await machine.untilLogged(WATCH, "web needs values for SECRET");
      const first = await apply({ LOG_LEVEL: "info" });
      t.match(first, { code: 0, stderr: /✓ pier-7: applied number 1/ }, first.stderr);
      await until(async () => (await asked()) !== "");
      t.strictSame(await answers(), { secret: SECRET, level: "info" }, await machine.log(WATCH));
    });

    await t.test("odd values are as they were written", async (t) => {
      const odd = await apply(ODD_VALUES);
      t.match(odd, { code: 0 }, odd.stderr);
      t.strictSame(await answers(), { secret: SECRET, more: ODD_VALUES });
      t.match(await apply({ LOG_LEVEL: "info" }), { code: 0 });
    });

    await t.test("a value that breaks the application goes back by itself, and halts no rollout", async (t) => {
      const rules = ["--waves", "100%", "--soak", "1h", "--max-failing", "0", "--min-done", "100%"];
      await machine.sealift("rollout", "start", project, "1.1.0", ...rules, ...ADMIN);
      await publish("1.1.0");
      await machine.untilLogged(WATCH, "Switched to 1.1.0");
      await until(async () => (await rolled()).includes('"waiting_for":"soak"'));
      const pid = await asked("/pid");
      const broken = await apply({ LOG_LEVEL: "bad" });
      t.match(broken, { code: 1, stderr: /settings_failed[^]*is as it was before/ }, broken.stderr);
      t.strictSame(await answers(), { secret: SECRET, level: "info" });
      t.not(await asked("/pid"), pid, "its unit was restarted");
      t.match(await machine.sealift("status", "--project-root", ROOT, "--json"), /"running_version":"1\.1\.0"/);
      const shown = await machine.sealift("fleet", `project:${project}`, "--json", ...ADMIN);
      t.match(shown, /"status":"success".*"running_version":"1\.1\.0".*"host_id":"pier-7"/);
      t.match(shown, '"failing":0,"unhealthy":0', "no version is blamed, and no rollout halts");
      t.match(await rolled(), /"state":"running".*"waiting_for":"soak"/, "the rollout goes on");
      const mended = await apply({ LOG_LEVEL: "debug" });
      t.match(mended, { code: 0 }, mended.stderr);
      t.strictSame(await answers(), { secret: SECRET, level: "debug" });
    });

    await t.test("the host says whose it is, and lets nobody change by hand what the fleet gives", async (t) => {
      const line = /^shk1\.\S+/m.exec(await machine.sealift("host", "key", "--systemd", "shop"))?.[0];
      const { x25519, ed25519 } = hostLineIn(line ?? "")!;
      const lock = JSON.parse(readFileSync(machine.path("/root/fleet/fleet.lock"), "utf8")) as { hosts: object };
      t.match(Object.values(lock.hosts), [{ name: "pier-7", x25519, ed25519 }], "its key is the one in the roll");
      const { operator } = lock as unknown as { operator: string };
      t.match(await machine.sealift("host", "operator", "--config", "/etc/sealift/watch/shop.yaml"), operator);
      const env = ["app", "env", "web"];
      t.match(await machine.sealift(...env, "list", "--project-root", ROOT), /LOG_LEVEL.*fleet/);
      const asWatch = ["setpriv", "--reuid", "sealift-watch", "--regid", "sealift-watch", "--clear-groups"];
      const unset = [...env, "unset", "LOG_LEVEL", "--project-root", ROOT];
      const refused = await machine.run(...asWatch, ...PROGRAM, ...unset);
      t.match(refused, { code: 2, stderr: /settings_of_fleet/ }, refused.stderr);
      t.match(await machine.sealift("doctor", "--project-root", ROOT, "--json"), operator);
    });

    await t.test("a watch that is killed in the middle is started again, and ends what it began", async (t) => {
      copyFileSync(join(import.meta.dirname, "../support/programs/kill-at.ts"), machine.path(PRELOAD));
      const moments = () => readFileSync(machine.path(KILL_AT), "utf8");
      const [, start = ""] = /^ExecStart=(.*)$/m.exec(await run("systemctl", "cat", WATCH)) ?? [];
      machine.write(
        `/etc/systemd/system/${WATCH}.service.d/test.conf`,
        `[Unit]\nStartLimitIntervalSec=0\n[Service]\nRestart=always\nRestartSec=200ms\nReadWritePaths=/var/lib\n` +
          `Environment=NODE_OPTIONS=--import=${PRELOAD} SEALIFT_TEST_KILL_AT=${KILL_AT}\nExecStart=\nExecStart=${start} --json\n`,
      );
      writeFileSync(machine.path(KILL_AT), "[]");
      await run("chmod", "777", "/var/lib");
      await run("chmod", "666", KILL_AT);
      await run("systemctl", "daemon-reload");
      await run("systemctl", "restart", WATCH);
      let level = 0;
      for (const text of ["settings.taken", "lock.acquired", "step.started", "step.done", "settings.done"]) {
        writeFileSync(machine.path(KILL_AT), JSON.stringify([{ text: `"event":"${text}"`, signal: "SIGKILL" }]));
        const ended = await apply({ LOG_LEVEL: `level-${++level}` });
        t.match(ended, { code: 0 }, `${text}: ${ended.stderr}`);
        t.equal(moments(), "[]", `${text}: it was killed`);
        t.strictSame(await answers(), { secret: SECRET, level: `level-${level}` }, text);
      }
      const left = await run("find", ROOT, "-name", "*.tmp", "-o", "-name", "former-*", "-o", "-name", "journal.json");
      t.equal(left, "", "nothing is left");
      const logged = await run("journalctl", "--no-pager", "--output=export");
      t.notOk(logged.includes(SECRET), "no log has the secret");
      t.notOk((await run("systemctl", "show", "*")).includes(SECRET), "and no unit shows it");
    });
  },
);
