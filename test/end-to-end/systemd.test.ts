// Only in test:all: systemd boots, and restarts what its watchdog has ended.
import { randomBytes } from "node:crypto";
import t from "tap";
import { needs } from "../support/programs/optional.ts";
import { SystemdMachine } from "../support/programs/systemd-machine.ts";

const HUB = "http://127.0.0.1:8787";
const ROOT = "/srv/sealift";
const PLAN = `format_version: "1"
steps: [{ id: greeter, action: install_plugin, plugin: greeter }]
`;
/** The runtime demands a wall, as in production. */
const INTEGRATION = `app: { name: test, env: production, secret_key: "\${PLUGIN_KEY}" }
plugins: { secret_key: "\${SIGNING_KEY}" }
`;
/** Asks the runtime for its plugins. */
const STATUS = `fetch("http://127.0.0.1:8000/plugin/ipc/status", { headers: { "x-plugin-key": process.argv[1] } })
  .then((answer) => answer.text()).then(console.log)`;
const KEY = randomBytes(32).toString("hex");

const skip = needs("systemd-nspawn", "bwrap", "tar") || (process.getuid?.() !== 0 && "needs root");
t.test(
  "systemd runs hub, watch and runtime by the units that the package writes",
  { skip, timeout: 240_000 },
  async (t) => {
    const machine = await SystemdMachine.withPackage(t);
    const sealift = machine.sealift.bind(machine);
    const systemctl = async (...words: string[]): Promise<void> => {
      const { code, stderr } = await machine.run("systemctl", ...words);
      if (code !== 0) throw new Error(`systemctl ${words.join(" ")}: ${stderr}${await machine.log(words.at(-1)!)}`);
    };
    const write = machine.write.bind(machine);

    await sealift("systemd", "install");
    for (const program of ["systemd-sysusers", "systemd-tmpfiles --create"]) await machine.run(...program.split(" "));
    // A minute is the shipped limit of the hub.
    write("/etc/systemd/system/sealift-hub.service.d/soon.conf", "[Service]\nWatchdogSec=8\nRestartSec=1\n");
    await systemctl("daemon-reload");

    await t.test("a start returns when the hub is ready, and tells its state", async (t) => {
      await systemctl("start", "sealift-hub");
      t.match(await sealift("health", `${HUB}/readyz`), "");
      t.match(await machine.show("sealift-hub", "ActiveState", "StatusText"), {
        ActiveState: "active",
        StatusText: /\w/,
      });
    });

    await t.test("a watch gets its secrets as credentials, and deploys what was published", async (t) => {
      const admin = ["--hub-url", HUB, "--api-key-file", "/var/lib/sealift-hub/admin.key"];
      const project = await sealift("project", "create", "Units", ...admin);
      await sealift("signer", "create", "--out", "/root/keys");
      await machine.run("install", "-D", "/root/keys/signer.pub", "/etc/sealift/watch/signer.pub");
      await sealift("plugin", "init", "greeter", "--directory", "/root/source/plugins/greeter");
      write("/root/source/deployment/install.yaml", PLAN.replace("\n", `\nproject_id: ${project}\nversion: 1.0.0\n`));
      const signer = ["--signing-key-file", "/root/keys/signer.key"];
      const publish = ["project", "publish", "/root/source", "--project-id", project, "--version", "1.0.0"];
      await sealift(...publish, ...signer, ...admin);
      await sealift("key", "create", "--name", "blue", "--project", project, "--out", "/root/blue", ...admin);
      const { stdout } = await machine.run("cat", "/root/blue/host.env");
      for (const [name, variable] of [
        ["api-key", "SEALIFT_API_KEY"],
        ["deployment-credential", "SEALIFT_DEPLOYMENT_CREDENTIAL"],
      ] as const) {
        const [, secret = ""] = new RegExp(`${variable}=["']?([^"'\n]+)`).exec(stdout) ?? [];
        write(`/etc/credstore/sealift-watch.blue.${name}`, secret, 0o600);
      }
      const target = `- { target: "project:${project}", project_root: ${ROOT}, signer_public_key: signer.pub }`;
      write("/etc/sealift/watch/blue.yaml", `hub_url: ${HUB}\ntargets:\n  ${target}\n`);
      await systemctl("start", "sealift-watch@blue");
      await machine.untilLogged("sealift-watch@blue", "deployed 1.0.0");
      t.match(await sealift("status", "--project-root", ROOT, "--json"), '"running_version":"1.0.0"');
      t.match(await machine.show("sealift-watch@blue", "User"), { User: "sealift-watch" });
    });

    await t.test("the runtime puts a plugin behind the wall that production asks for", async (t) => {
      write("/etc/credstore/sealift-runtime.PLUGIN_KEY", KEY, 0o600);
      write("/etc/credstore/sealift-runtime.SIGNING_KEY", randomBytes(32).toString("hex"), 0o600);
      write(`${ROOT}/integration.yaml`, INTEGRATION);
      await systemctl("start", "sealift-runtime");
      const { stdout } = await machine.run("/usr/lib/sealift-node", "-e", STATUS, KEY);
      t.match(stdout, /"greeter".*"state":"loaded".*bubblewrap/s, await machine.log("sealift-runtime"));
      await systemctl("reload", "sealift-runtime");
      await machine.until("sealift-runtime", "ActiveState", (state) => state === "active");
    });

    await t.test("a hub that hangs is ended by the watchdog, and one that was killed comes back", async (t) => {
      for (const [restarts, signal] of [
        ["1", "STOP"],
        ["2", "KILL"],
      ] as const) {
        await systemctl("kill", "--kill-whom=main", `--signal=${signal}`, "sealift-hub");
        await machine.until("sealift-hub", "NRestarts", (count) => count === restarts);
        await machine.until("sealift-hub", "ActiveState", (state) => state === "active");
      }
      t.match(await machine.log("sealift-hub"), /Watchdog timeout/);
      t.match(await machine.show("sealift-watch@blue", "ActiveState", "NRestarts"), {
        ActiveState: "active",
        NRestarts: "0",
      });
    });

    await t.test("each stops in time, and a configuration that is wrong is not tried again", async (t) => {
      const units = ["sealift-watch@blue", "sealift-runtime", "sealift-hub"];
      await systemctl("stop", ...units);
      for (const unit of units)
        t.match(
          await machine.show(unit, "ActiveState", "Result"),
          { ActiveState: "inactive", Result: "success" },
          unit,
        );
      write("/etc/sealift/hub/sealift.yaml", "lisden: 127.0.0.1:8787\n");
      t.not((await machine.run("systemctl", "start", "sealift-hub")).code, 0);
      const shown = await machine.show("sealift-hub", "ActiveState", "ExecMainStatus", "NRestarts");
      t.match(shown, { ActiveState: "failed", ExecMainStatus: "2", NRestarts: "0" });
    });
  },
);
