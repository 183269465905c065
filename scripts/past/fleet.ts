import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { OldHub } from "./old-hub.ts";

/** A project whose hosts have joined, with a rollout under way. */
export interface Fleet {
  id: string;
  /** Id of the rollout of 1.1.0, which waits for approval of its second wave. */
  rollout: string;
  /** Token that lets one more host in. */
  token: string;
}

/** Lets two hosts join, and begins a rollout: its first wave runs the new version, and the second one waits. */
export async function fleetOfHosts(hub: OldHub): Promise<Fleet> {
  const id = await hub.project("Ferry");
  const source = hub.path("ferry");
  mkdirSync(join(source, "deployment"), { recursive: true });
  await hub.programs.run("sealift", ["plugin", "init", "greeter", "--directory", join(source, "plugins/greeter")], {});
  const publisher = await hub.newKey("ferry", "--project", id, "--scope", "publish", "--scope", "read");
  const publish = async (version: string): Promise<void> => {
    const step = "  - { id: greeter, action: install_plugin, plugin: greeter }";
    const plan = `format_version: "1"\nproject_id: ${id}\nversion: ${version}\nsteps:\n${step}\n`;
    writeFileSync(join(source, "deployment/install.yaml"), plan);
    const args = [source, "--project-id", id, "--version", version, "--signing-key-file", hub.path("keys/signer.key")];
    await hub.programs.run("deploy-publish", args, publisher);
  };
  const watch = (host: string): Promise<unknown> =>
    hub.programs.run("watch", ["--config", join(hub.path("hosts", host), "watch.yaml"), "--once"], {});
  const invite = async (name: string, env: string, uses: number): Promise<string> => {
    const flags = ["--project", id, "--label", `env=${env}`, "--uses", String(uses), "--expires", "24h"];
    const made = await hub.sealift<{ token: string }>("host", "invite", ...flags);
    const file = hub.path(name);
    writeFileSync(file, made.token, { mode: 0o600 });
    const where = ["--out", hub.path("hosts", name), "--project-root", hub.path("roots", name), "--host-id", name];
    await hub.programs.run("sealift", ["join", hub.url, "--token-file", file, "--yes", ...where], {});
    return made.token;
  };
  await publish("1.0.0");
  await invite("ferry-1", "canary", 1);
  const token = await invite("ferry-2", "prod", 2);
  for (const host of ["ferry-1", "ferry-2"]) await watch(host);
  const waves = ["--waves", "env=canary,100%", "--soak", "0s", "--approve"];
  const { rollout } = await hub.sealift<{ rollout: { id: string } }>(
    "rollout",
    "start",
    `project:${id}`,
    "1.1.0",
    ...waves,
  );
  await publish("1.1.0");
  for (const host of ["ferry-1", "ferry-2"]) await watch(host);
  return { id, rollout: rollout.id, token };
}
