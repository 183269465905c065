import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { OldHub, Secrets } from "./old-hub.ts";

/** A plugin of the marketplace, with its publisher and its host. */
export interface Market {
  slug: string;
  publisher: Secrets;
  host: Secrets;
}

/** Publishes a plugin with its author's signature, and deploys it to a host that trusts on first use. */
export async function marketOf(hub: OldHub): Promise<Market> {
  const slug = await hub.project("Tides", "--kind", "plugin", "--slug", "tides");
  const source = hub.path("plugin");
  await hub.programs.run("sealift", ["plugin", "init", "tides", "--directory", source], {});
  await hub.programs.run("sealift", ["signer", "create", "--out", hub.path("keys/author")], {});
  const secret = { SEALIFT_SIGNING_SECRET: randomBytes(24).toString("base64url") };
  const publisher = { ...(await hub.newKey("author", "--scope", "publish", "--scope", "read")), ...secret };
  const market = { slug, publisher, host: { ...(await hub.newKey("market host")), ...secret } };
  const publish = async (version: string, ...flags: string[]): Promise<void> => {
    const descriptor = join(source, "plugin.yaml");
    writeFileSync(descriptor, readFileSync(descriptor, "utf8").replace(/^version: .*$/m, `version: ${version}`));
    const args = ["plugin", "publish", source, "--signing-key-file", hub.path("keys/author/signer.key"), ...flags];
    await hub.programs.run("sealift", args, publisher);
  };
  const files = hub.path("hosts/market");
  mkdirSync(files, { recursive: true });
  const plan = join(files, "install.yaml");
  const steps = "steps:\n  - { id: tides, action: install_plugin, plugin: tides }\n";
  writeFileSync(plan, `format_version: "1"\nproject_id: tides\n${steps}`);
  const root = hub.path("roots/market");
  for (const version of ["1.0.0", "1.1.0"]) {
    await publish(version);
    const flags = ["--project-root", root, "--install-plan", plan, "--host-id", "market", "--trust-on-first-use"];
    await hub.programs.run("deploy-marketplace", [slug, ...flags], market.host);
  }
  const pin = ["pin", `plugin:${slug}`, "--version", "1.1.0", "--reason", "until the regatta", "--project-root", root];
  await hub.programs.run("sealift", pin, {});
  await publish("1.2.0");
  await watchMarket(hub, market, files, root);
  await publish("1.3.0", "--stage");
  return market;
}

/** Writes a watch.yaml with every key that suits its target, and has the watch look once. */
async function watchMarket(hub: OldHub, { slug, host }: Market, files: string, root: string): Promise<void> {
  const write = (name: string, text: string): void => writeFileSync(join(files, name), text, { mode: 0o600 });
  write("api.key", `${host["SEALIFT_API_KEY"]}\n`);
  write("signing.secret", `${host["SEALIFT_SIGNING_SECRET"]}\n`);
  write("policy.yaml", "min_age: 0s\n");
  write("notifiers.yaml", `done:\n  command: ["true"]\n  env: { LEVEL: info }\n  timeout: 5\n`);
  write("provisioners.yaml", `tides:\n  command: ["true"]\n  env: { LEVEL: info }\n  timeout: 5\n`);
  write(
    "watch.yaml",
    `hub_url: ${hub.url}
api_key_file: api.key
timeout: 30
project_root: ${root}
host_id: market
label: [site=hull, env=prod]
keep_releases: 3
keep_reports: 100
allow_downgrade: false
accept_rights: false
lock_wait: 10m
deadline: 6h
least_rate: 1K
durability: full
provisioners_config: provisioners.yaml
notifiers_config: notifiers.yaml
supervisor: none
interval: 30
hints: true
max_entries: 1000
max_entry_size: 10M
max_total_size: 20M
max_ratio: 500
max_depth: 64
max_name_length: 1024
targets:
  - target: plugin:${slug}
    policy: policy.yaml
    install_plan: install.yaml
    signing_secret_file: signing.secret
    trust_on_first_use: true
    allow_version_mismatch: false
    symlinks: refuse
`,
  );
  await hub.programs.run("watch", ["--config", join(files, "watch.yaml"), "--once"], {});
}
