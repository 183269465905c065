import { randomBytes } from "node:crypto";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createProject, deploy, type Edition, type Project, publish, type Secrets, startHub } from "./project.ts";

interface Setting {
  /** Serves. */
  hub: Edition;
  /** Edition of the people, publishers and hosts. */
  others: Edition;
  folder: string;
}

type Jobs = Record<string, () => Promise<string>>;

/** Returns the main jobs of a hub of one edition with all others of another, in the order in which they are done. */
export function jobsOf({ hub, others, folder }: Setting): Jobs {
  const data = join(folder, "hub");
  const path = (...parts: string[]): string => join(folder, ...parts);
  let admin: Secrets = {};
  let project!: Project;
  const sealift = <T>(edition: Edition, secrets: Secrets, ...args: string[]): Promise<T> =>
    edition.programs.run<T>("sealift", args, secrets);
  const target = (): string => `project:${project.id}`;

  /** Asserts which version a host of a target runs, as the hub knows it. */
  async function seen(of: string, host: string, version: string): Promise<void> {
    let found: unknown;
    await others.programs.run("sealift", ["fleet", of], admin, (event) => {
      if (event.event === "host" && event["host_id"] === host) found = event["version"];
    });
    if (found !== version) throw new Error(`the fleet shows ${String(found)} on ${host}, and not ${version}`);
  }

  function watched(host: string, version: string): void {
    const file = path("roots", host, ".sealift/current", `project-${project.id}`, "release.json");
    const { version: runs } = JSON.parse(readFileSync(file, "utf8")) as { version: string };
    if (runs !== version) throw new Error(`${host} runs ${runs}, and not ${version}`);
  }

  const watch = (host: string): Promise<unknown> =>
    others.programs.run("watch", ["--config", path("hosts", host, "watch.yaml"), "--once"], {});

  async function enrol(host: string, env: string): Promise<void> {
    const invite = ["host", "invite", "--project", project.id, "--label", `env=${env}`];
    const { token } = await sealift<{ token: string }>(others, admin, ...invite);
    const where = ["--out", path("hosts", host), "--project-root", path("roots", host), "--host-id", host];
    const secrets = { SEALIFT_TOKEN: token };
    await sealift(others, secrets, "join", admin["SEALIFT_HUB_URL"]!, "--yes", ...where);
  }

  return {
    "publish and deploy": async () => {
      mkdirSync(folder, { recursive: true });
      admin = await startHub(hub, data);
      project = await createProject(others, admin, path("project"));
      await publish(others, project, "1.0.0");
      await deploy(others, project, "pier-1", "1.0.0");
      await publish(others, project, "1.1.0");
      if (!(await deploy(others, project, "pier-1", "1.1.0"))) throw new Error("1.1.0 came without a delta");
      return "1.0.0, then 1.1.0 by a delta, seen in the fleet";
    },
    "join and watch": async () => {
      for (const [host, env] of [
        ["ferry-1", "canary"],
        ["ferry-2", "prod"],
      ] as const) {
        await enrol(host, env);
        await watch(host);
        watched(host, "1.1.0");
        await seen(target(), host, "1.1.0");
      }
      return "two hosts joined by invites, and watch";
    },
    rollout: async () => {
      const waves = ["--waves", "env=canary,100%", "--soak", "0s", "--approve"];
      await sealift(others, admin, "rollout", "start", target(), "1.2.0", ...waves);
      await publish(others, project, "1.2.0");
      for (const host of ["ferry-1", "ferry-2"]) await watch(host);
      watched("ferry-1", "1.2.0");
      watched("ferry-2", "1.1.0");
      await sealift(others, admin, "rollout", "approve", target());
      await watch("ferry-2");
      watched("ferry-2", "1.2.0");
      return "a wave, an approval, and the other one";
    },
    rollback: async () => {
      const root = ["--project-root", join(project.files, "pier-1"), "--host-id", "pier-1"];
      const secrets = { ...project.host, SEALIFT_HUB_URL: admin["SEALIFT_HUB_URL"]! };
      // Each program activates what the other one has installed.
      await sealift(hub, secrets, "rollback", target(), "--to", "1.0.0", ...root);
      await seen(target(), "pier-1", "1.0.0");
      await sealift(others, secrets, "rollback", target(), "--to", "1.1.0", ...root);
      await seen(target(), "pier-1", "1.1.0");
      await sealift(hub, secrets, "status", "--project-root", join(project.files, "pier-1"));
      return `back by ${hub.name}, and forth by ${others.name}`;
    },
    marketplace: async () => {
      const secrets = { ...admin, SEALIFT_SIGNING_SECRET: randomBytes(24).toString("base64url") };
      const source = path("plugin");
      await sealift(others, admin, "project", "create", "Tides", "--kind", "plugin", "--slug", "tides");
      await sealift(others, {}, "plugin", "init", "tides", "--directory", source);
      const key = join(project.files, "keys/signer");
      await sealift(others, secrets, "plugin", "publish", source, "--signing-key-file", `${key}.key`);
      const plan = path("install.yaml");
      const steps = "steps:\n  - { id: tides, action: install_plugin, plugin: tides }\n";
      writeFileSync(plan, `format_version: "1"\nproject_id: tides\n${steps}`);
      const where = ["--project-root", path("roots/market"), "--host-id", "market", "--install-plan", plan];
      const args = ["tides", "--signer-public-key", `${key}.pub`, ...where];
      const { version } = await others.programs.run<{ version: string }>("deploy-marketplace", args, secrets);
      await seen("plugin:tides", "market", version);
      return "published, deployed with its author's key, and reported";
    },
    backup: async () => {
      const backup = path("backup");
      await sealift(hub, {}, "hub", "backup", "--data-dir", data, "--to", backup, "--unsigned");
      const place = path("restored");
      const restoring = sealift(others, {}, "hub", "restore", "--backup", backup, "--data-dir", place, "--unsigned");
      if (hub.name === "today") {
        const refusal = await restoring.then(
          () => undefined,
          (error: Error) => error.message,
        );
        if (refusal?.includes("newer version") !== true) throw new Error(`its backup was not refused: ${refusal}`);
        return "the older version refuses it";
      }
      await restoring;
      for (const file of ["kek.json", "admin.key"]) cpSync(join(data, file), join(place, file));
      await hub.programs.stop();
      admin = await startHub(others, place);
      await deploy(others, project, "restored", "1.2.0");
      return "restored by the newer version, and deployed from there";
    },
  };
}
