// Only in test:all: systemd boots, and runs applications, jobs and single commands by their units.
// Holds: a job begins at its times, once, whatever is killed (lib/agent/watch/target-jobs.ts)
// Holds: a command runs by the lines of a unit (lib/support/systemd/run-unit.ts)
// Holds: one that is of another application ends before it and starts after it (lib/support/systemd/app-units.ts)
import { existsSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import t from "tap";
import { readJob, releasesOfJobs } from "../../lib/releases/jobs.ts";
import { layoutOf } from "../../lib/releases/layout.ts";
import { writeRelease } from "../../lib/releases/release.ts";
import { needs } from "../support/programs/optional.ts";
import { SystemdMachine } from "../support/programs/systemd-machine.ts";
import { until } from "../support/until.ts";

const ROOT = "/srv/sealift";
const TARGET = "project-prj_0123456789";
/** A hub that does not answer: jobs are no matter of it. */
const WATCH = `hub_url: http://127.0.0.1:9
targets:
  - target: project:prj_0123456789
    project_root: ${ROOT}
    api_key_file: /etc/key
    deployment_credential_file: /etc/key
    signer_public_key: 0ac5972f8e2f3b6d6b57a9a2a1f6b2c0f2c2f0a6c1d1f3a5b7c9d1e3f5071929
`;
/** Says in its data when it begins and ends, and as whom. */
const PROGRAM = `
const fs = require("node:fs");
const name = process.argv[2];
const note = (what) => fs.appendFileSync("storage/said", [name, what, process.getuid(), process.env.GREETING].join(" ") + "\\n");
note("begins");
process.on("SIGTERM", () => { note("ends"); process.exit(0); });
if (name === "web") require("node:http").createServer((q, r) => { r.statusCode = fs.existsSync("storage/ill") ? 500 : 200; r.end(); }).listen(3000);
else setInterval(() => {}, 1000);
`;

/** Says as whom it asks, and does what a file says. */
const CHECK = `echo $(id -u) $GREETING >> storage/checked; what=$(cat storage/what 2>/dev/null); case $what in
bad) exit 3;; hangs) trap : TERM; while :; do sleep 0.1; done;; forks) setsid sleep 777 & sleep 0.2;; esac`;

const skip = needs("systemd-nspawn", "tar") || (process.getuid?.() !== 0 && "needs root");
t.test("systemd runs every kind of application", { skip, timeout: 900_000 }, async (t) => {
  const machine = await SystemdMachine.withPackage(t);
  const run = async (...words: string[]): Promise<string> => {
    const { code, stdout, stderr } = await machine.run(...words);
    if (code !== 0) throw new Error(`${words.join(" ")}: ${stderr}${stdout}`);
    return stdout.trim();
  };
  const sealift = machine.sealift.bind(machine);
  const write = machine.write.bind(machine);
  /** Puts a release there, as an agent leaves it. */
  const release = (name: string, applications: Record<string, Record<string, string>>): void => {
    const folder = `${ROOT}/.sealift/releases/project-prj_0123456789/${name}`;
    for (const [id, files] of Object.entries(applications)) {
      for (const [path, text] of Object.entries(files)) write(`${folder}/apps/${id}/${path}`, text);
      mkdirSync(machine.path(`${ROOT}/apps`), { recursive: true });
      rmSync(machine.path(`${ROOT}/apps/${id}`), { force: true });
      symlinkSync(`../.sealift/releases/project-prj_0123456789/${name}/apps/${id}`, machine.path(`${ROOT}/apps/${id}`));
    }
    symlinkSync("../../../../../data/apps/web", machine.path(`${folder}/apps/web/storage`));
  };
  const launcher = (words: string, of?: string): string =>
    `#!/bin/sh\n${of === undefined ? "" : `cd -P '../${of}' || exit 126\n`}exec /usr/lib/sealift-node ${words}\n`;
  const web = {
    "app.yaml": "command: [node, server.js]\nports: [http]\ndata: storage\nhealth: { http: /, within: 2s }\n",
    "server.js": PROGRAM,
    ".sealift/start": launcher("server.js web"),
  };
  const install = async (...words: string[]): Promise<void> => {
    const told = await sealift("systemd", "install", "app", ...words, "--project-root", ROOT, "--json");
    const { next } = JSON.parse(told.split("\n").at(-1)!) as { next: string[] };
    for (const step of next) await run("sh", "-c", step);
  };
  const said = async (): Promise<string> => (await machine.run("cat", "/var/lib/sealift-app/web/said")).stdout.trim();
  const last = async (name: string): Promise<string | undefined> =>
    (await said())
      .split("\n")
      .findLast((line) => line.startsWith(`${name} `))
      ?.split(" ")[1];
  const active = async (unit: string) => (await machine.show(unit, "ActiveState")).ActiveState;

  release("r1", {
    web,
    worker: {
      "app.yaml":
        "of: web\ncommand: [node, server.js]\nhealth: { command: [sh, check.sh], within: 2s, stays_up: 1s }\nenvironment: { values: { LEVEL: low } }\n",
      ".sealift/start": launcher("server.js worker", "web"),
      ".sealift/check": `#!/bin/sh\ncd -P '../web' || exit 126\nexec timeout -s TERM -k 1 2 /bin/sh -c '${CHECK}'\n`,
    },
  });
  write(`${ROOT}/apps/web.env`, "GREETING=hello\n", 0o600);
  await sealift("systemd", "install", "watch", "--project-root", ROOT);
  await install("web", "--port", "http=3000");
  await install("worker", "--of", "web");

  await t.test("one that is of another begins when that one answers, as its user, and ends before it", async (t) => {
    await run("systemctl", "start", "sealift-app@web.service");
    await until(async () => (await said()).includes("web begins"));
    write("/var/lib/sealift-app/web/ill", "");
    const failed = await machine.run("systemctl", "start", "sealift-app@worker.service");
    t.not(failed.code, 0, "it waits for an answer");
    t.match(await machine.log("sealift-app@worker"), /web does not work: GET .* answered 500/);
    rmSync(machine.path("/var/lib/sealift-app/web/ill"));
    await until(async () => (await said()).includes("worker begins"));
    const uid = await run("id", "-u", "app-web");
    t.match(await said(), `worker begins ${uid} hello`);

    await run("systemctl", "restart", "sealift-app@web.service");
    await until(async () => (await said()).split("worker begins").length === 3);
    const order = (await said())
      .split("\n")
      .slice(-4)
      .map((line) => line.split(" ").slice(0, 2).join(" "));
    t.strictSame(order, ["worker ends", "web ends", "web begins", "worker begins"]);
    const { pid } = JSON.parse(
      (await sealift("app", "status", "worker", "--project-root", ROOT, "--json")).split("\n")[0]!,
    ) as { pid: number };
    t.match(await run("cat", `/proc/${pid}/cgroup`), /sealift-app@worker\.service/, "in a group of its own");

    await sealift("app", "stop", "web", "--project-root", ROOT);
    await until(async () => (await active("sealift-app@worker.service")) === "inactive");
    t.match(await sealift("app", "start", "web", "--project-root", ROOT), /web is healthy\nworker is healthy/);
    t.equal(await active("sealift-app@worker.service"), "active", "it ended with the other one, and starts after it");
    await run("systemctl", "stop", "sealift-app@web.service");
    await until(async () => (await active("sealift-app@worker.service")) === "inactive");
    await run("systemctl", "start", "sealift-app@worker.service");
    t.equal(await active("sealift-app@web.service"), "active", "it brings the other one along");
    t.equal(await last("web"), "begins");
    write(
      `${ROOT}/applications.yaml`,
      (await run("cat", `${ROOT}/applications.yaml`)).replace("of: web", "user: app-web"),
    );
    await machine.run("systemctl", "restart", "sealift-app@worker.service");
    t.equal(await active("sealift-app@worker.service"), "inactive", "a grant that says otherwise");
    await install("worker", "--of", "web");
    await run("systemctl", "start", "sealift-app@worker.service");
  });

  await t.test("a health command is a unit of its own, which ends with all that it has started", async (t) => {
    const words = ["/usr/lib/sealift-node", "/usr/lib/sealift/dist/bin/sealift.js", "app", "restart", "worker"];
    const restart = () => machine.run(...words, "--project-root", ROOT);
    const checked = async (): Promise<string[]> =>
      (await machine.run("cat", "/var/lib/sealift-app/web/checked")).stdout.trim().split("\n");
    const does = (what: string): void => write("/var/lib/sealift-app/web/what", what);
    // `app status` has asked before.
    await machine.run("rm", "-f", "/var/lib/sealift-app/web/checked");
    const good = await restart();
    t.match(good, { code: 0, stdout: /worker is healthy/ }, good.stderr);
    const uid = await run("id", "-u", "app-web");
    t.strictSame([...new Set(await checked())], [`${uid} hello`]);
    t.equal((await checked()).length, 2, "for the first answer, and at the end of `stays_up`");
    for (let n = 0; n < 3; n++) await sealift("app", "status", "worker", "--project-root", ROOT);
    t.equal((await checked()).length, 2, "a good answer counts for a minute");
    does("bad");
    t.match(await restart(), { code: 1, stderr: /`health\.command` failed: it ended with exit code 3/ });
    t.match(
      await machine.run(...words.with(3, "status"), "--project-root", ROOT),
      { code: 1, stdout: /exit code 3/ },
      "the last answer",
    );
    does("hangs");
    t.match(await restart(), { code: 1, stderr: /it did not end within 2 s/ });
    does("forks");
    t.match(await restart(), { code: 0 });
    t.not((await machine.run("pgrep", "-f", "sleep 777")).code, 0, "it may not fork away");
    t.match(await machine.show("sealift-check@worker.service", "ActiveState"), { ActiveState: "inactive" });
    does("good");
  });

  await t.test(
    "a command runs in the place of one, by the lines of its unit, and ends with whoever runs it",
    async (t) => {
      const program = ["/usr/lib/sealift-node", "/usr/lib/sealift/dist/bin/sealift.js"];
      const typed = (...words: string[]) =>
        machine.run(...program, "app", "run", "web", "--project-root", ROOT, "--", ...words);
      write("/etc/systemd/system/sealift-app@web.service.d/own.conf", "[Service]\nLimitNOFILE=1234\n");
      await run("systemctl", "daemon-reload");
      const uid = await run("id", "-u", "app-web");
      const facts = await typed(
        "sh",
        "-c",
        'id -u; pwd; echo "$GREETING $PORT $1"; ulimit -n; umask; touch storage/typed; cat /proc/self/status; exit 7',
        "sh",
        "$HOME 100%",
      );
      t.equal(facts.code, 7, facts.stderr);
      t.strictSame(facts.stdout.split("\n").slice(0, 5), [
        ...[
          uid,
          `${ROOT}/.sealift/releases/project-prj_0123456789/r1/apps/web`,
          "hello 3000 $HOME 100%",
          "1234",
          "0077",
        ],
      ]);
      t.match(facts.stdout, /^NoNewPrivs:\t1$/m);
      t.equal(await run("stat", "--format=%u", "/var/lib/sealift-app/web/typed"), uid);
      for (const [words, code] of [
        [["sh", "-c", "kill -KILL $$"], 137],
        [["sh", "-c", "kill -INT $$"], 130],
        [["no-such-program"], 127],
      ] as const)
        t.match(await typed(...words), { code }, words.join(" "));
      const many = await typed(
        "sh",
        "-c",
        'echo $# "$10000"',
        "sh",
        ...Array.from({ length: 10_000 }, (_, at) => `word ${at}`),
      );
      t.match(many, { code: 0, stdout: /^10000 / }, many.stderr);

      const left = async (word: string): Promise<boolean> => (await machine.run("pgrep", "-f", word)).code === 0;
      for (const signal of ["TERM", "KILL"]) {
        const mark = `marked-${signal}`;
        const script =
          "trap 'touch storage/passed; exit 0' TERM; setsid sleep 600 & touch storage/ready; while :; do sleep 0.1; done";
        const line = [...program, "app", "run", "web", "--project-root", ROOT, "--", "sh", "-c", script, mark];
        const quoted = line.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
        const pid = await run("sh", "-c", `${quoted} > /dev/null 2>&1 & echo $!`);
        await until(async () => (await machine.run("test", "-e", "/var/lib/sealift-app/web/ready")).code === 0);
        rmSync(machine.path("/var/lib/sealift-app/web/ready"));
        await run("kill", `-${signal}`, pid);
        await until(async () => !(await left(mark)));
        t.match(
          (await machine.run("systemctl", "list-units", "--all", "--plain", "sealift-run-*")).stdout,
          /0 (?:loaded )?units|^$/,
        );
      }
      t.equal((await machine.run("test", "-e", "/var/lib/sealift-app/web/passed")).code, 0, "the signal was passed on");
      const log = await sealift("app", "logs", "web", "--project-root", ROOT, "--lines", "200");
      t.match(log, /sealift: a run begins as sealift-run-web-[0-9a-f]+/);
      t.match(log, /sealift: the run sealift-run-web-[0-9a-f]+ ended with exit code 7/);
      t.notMatch(
        (await machine.run("journalctl", "--no-pager", "--output=cat")).stdout,
        /storage\/typed|word 77/,
        "without its words",
      );
      const alone = await typed("true");
      t.equal(alone.code, 0);
      const ofWorker = [...program, "app", "run", "worker", "--project-root", ROOT, "--", "printenv", "LEVEL"];
      t.match(await machine.run(...ofWorker), { code: 0, stdout: "low\n" }, "with the version's defaults");
    },
  );

  await t.test("the watch begins a job at its times, whatever happens to it and to the release", async (t) => {
    const layout = layoutOf(machine.path(ROOT));
    const night = (script: string) => ({
      "app.yaml": 'of: web\ncommand: [sh, -c, x]\nschedule: "* * * * *"\nwithin: 50s\n',
      ".sealift/run": `#!/bin/sh\ncd -P '../web' || exit 126\nexec timeout -s TERM -k 1 50 /bin/sh -c '${script}'\n`,
    });
    const deployed = async (name: string, script: string): Promise<void> => {
      release(name, { web, night: night(script) });
      const items = ["web", "night"].map((id) => ({ section: "apps" as const, id }));
      const record = {
        version: name,
        identity: null,
        items,
        content_sha256: null,
        created_at: "2026-01-01T00:00:00.000Z",
      };
      await writeRelease(layout, TARGET, name, record);
      mkdirSync(machine.path(`${ROOT}/.sealift/current`), { recursive: true });
      rmSync(machine.path(`${ROOT}/.sealift/current/${TARGET}`), { force: true });
      symlinkSync(`../releases/${TARGET}/${name}`, machine.path(`${ROOT}/.sealift/current/${TARGET}`));
    };
    const last = async () => (await readJob(layout, "night"))?.run;
    const begins = async (): Promise<number> => (await said()).split("night begins").length - 1;
    await machine.run("systemctl", "stop", "sealift-app@worker.service");
    rmSync(machine.path(`${ROOT}/apps/worker`));
    await deployed(
      "r2",
      "echo night begins $GREETING >> storage/said; (setsid sleep 600 &); sleep 15; echo night ends >> storage/said",
    );
    await install("night", "--of", "web");
    write("/etc/watch.yaml", WATCH, 0o600);
    write("/etc/key", "none\n", 0o600);
    // This machine has no polkit, so the watch is root here, and the root is its own.
    await run("chown", "-R", "root:root", ROOT);
    const watch = [
      "/usr/lib/sealift-node",
      "/usr/lib/sealift/dist/bin/watch.js",
      "--config",
      "/etc/watch.yaml",
      "--no-tui",
    ];
    const start = () =>
      run(
        "systemd-run",
        "--quiet",
        "--unit=watching",
        "--property=Restart=always",
        "--property=RestartSec=1",
        "--setenv=HOME=/root",
        ...watch,
      );
    await start();
    await until(async () => (await readJob(layout, "night")) !== undefined, 90_000).catch(async (error: Error) => {
      throw new Error(`${error.message}\n${await machine.log("watching")}`);
    });
    t.match(await machine.show("sealift-job@night.service", "MainPID", "ActiveState"), {
      MainPID: "0",
      ActiveState: "inactive",
    });

    await until(async () => (await begins()) === 1, 90_000);
    await run("systemctl", "kill", "--signal=KILL", "watching.service");
    await deployed("r3", "exit 3");
    await run("systemctl", "restart", "sealift-app@web.service");
    t.match(await last(), { release: "r2", ended: null }, await machine.log("watching"));
    t.strictSame([...(await releasesOfJobs(layout, TARGET))], ["r2"], "its release is not collected");
    await until(async () => (await last())?.ended, 60_000);
    t.match(await said(), /night begins hello\n(?:.*\n)*night ends/, "nothing of that ended it");
    t.match(await last(), { release: "r2", fault: null });
    t.equal(await begins(), 1, "and it was begun once");
    t.not((await machine.run("pgrep", "-f", "sleep 600")).code, 0, "what it has started ended with it");

    await until(async () => (await last())?.fault, 90_000);
    t.match(await last(), { release: "r3", fault: "it ended with exit code 3" });
    t.match(await machine.log("watching"), /The job night failed: it ended with exit code 3/);
    const status = await sealift("app", "status", "night", "--project-root", ROOT, "--json").catch(
      (error: Error) => error.message,
    );
    t.match(status, /"fault":"its run of .* failed: it ended with exit code 3"/);
    t.match(status, /"next":"20/);

    await run("systemctl", "stop", "watching.service");
    write(
      `${ROOT}/applications.yaml`,
      "supervisor: systemd\napplications: { web: { user: app-web, listen: { http: 3000 } } }\n",
    );
    await run("systemctl", "start", "sealift-job@night.service").catch(() => undefined);
    t.match(
      await machine.show("sealift-job@night.service", "Result"),
      { Result: "exec-condition" },
      "without a grant nothing begins",
    );

    t.comment("a removal is refused while somebody types, and ends the run of a job");
    const granted =
      "supervisor: systemd\napplications: { web: { user: app-web, listen: { http: 3000 } }, night: { of: web } }\n";
    write(`${ROOT}/applications.yaml`, granted);
    await deployed("r4", "sleep 555");
    await run("systemctl", "start", "--no-block", "sealift-job@night.service");
    await until(async () => (await machine.run("pgrep", "-f", "sleep 555")).code === 0);
    const program = ["/usr/lib/sealift-node", "/usr/lib/sealift/dist/bin/sealift.js"];
    const remove = () => machine.run(...program, "remove", "project:prj_0123456789", "--project-root", ROOT);
    const typing = machine.run(...program, "app", "run", "web", "--project-root", ROOT, "--", "sleep", "444");
    await until(async () => (await machine.run("pgrep", "-xf", "sleep 444")).code === 0);
    const refused = await remove();
    t.match(refused, { stderr: /\(root_busy\).*Somebody runs a command in r4/ });
    t.not(refused.code, 0);
    t.equal((await machine.run("pgrep", "-f", "sleep 555")).code, 0, "nothing was ended");
    t.equal(await active("sealift-app@web.service"), "active");
    await run("pkill", "-xf", "sleep 444");
    t.equal((await typing).code, 143);
    const removed = await remove();
    t.equal(removed.code, 0, removed.stderr);
    t.not((await machine.run("pgrep", "-f", "sleep 555")).code, 0);
    t.match(await active("sealift-job@night.service"), /^(?:inactive|failed)$/);
    t.equal(await active("sealift-app@web.service"), "inactive");
    t.notOk(existsSync(machine.path(`${ROOT}/.sealift/releases/${TARGET}`)));
  });
});
