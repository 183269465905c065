/** A host that runs a healthy plugin or service from surface A, and the hub that begins to lie to it. */
import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Test } from "tap";
import type { AgentEvent } from "../../../lib/agent/base/events.ts";
import { deploy } from "../../../lib/agent/deployment/deploy.ts";
import { DEPLOY_DEFAULTS, type DeployOptions, type DeployResult } from "../../../lib/agent/deployment/run.ts";
import { marketplaceSource, type MarketplaceSourceOptions } from "../../../lib/agent/sources/marketplace.ts";
import { quoted } from "../../../lib/artifact/tree/safe-path.ts";
import type { Code } from "../../../lib/contract/codes.ts";
import type { ErrorKind } from "../../../lib/contract/errors.ts";
import type { MarketplaceKind } from "../../../lib/contract/surfaces/paths.ts";
import type { LocalReport } from "../../../lib/contract/surfaces/reports.ts";
import { descriptorEntry, type ForgedEntry, type ForgedZip, forgedZip } from "../forged/zip.ts";
import { DEVELOPER_SECRET, MARKETPLACE_KEY, type MarketplaceHub, startMarketplaceHub } from "../hub/marketplace-hub.ts";
import { mayChange, snapshot } from "./attacked-host.ts";

export const SLUG = "tide-table";

export interface Refused {
  code: Code;
  kind?: ErrorKind;
  exitCode?: number;
  /** A part that the message must hold. */
  says?: string;
}

export interface Variant {
  options?: Partial<DeployOptions>;
  source?: Partial<MarketplaceSourceOptions>;
}

export interface MarketplaceHost {
  hub: MarketplaceHub;
  kind: MarketplaceKind;
  /** The folder around the project root, where nothing may appear. */
  outside: string;
  root: string;
  /** The folder in which the current release stands. */
  installed: string;
  events: AgentEvent[];
  deploy(version?: string, variant?: Variant): Promise<DeployResult>;
  /** The hub offers these bytes as its next version. */
  offer(bytes: Buffer, headers?: Record<string, string | null>): string;
  /** Deploys what the hub offers, which must be refused and change nothing but reports. */
  refuses(t: Test, refused: Refused, variant?: Variant): Promise<DeployResult>;
  /** Offers an archive, which must be refused. The message names `entry`. */
  refusesZip(t: Test, bytes: Buffer, code: Code, entry?: string, variant?: Variant): Promise<void>;
  /** The same for a plugin's archive with these entries behind its descriptor. */
  refusesEntries(
    t: Test,
    entries: readonly ForgedEntry[],
    code: Code,
    entry?: string,
    variant?: Variant,
  ): Promise<void>;
  /** Offers an archive, which must be installed. @returns the installed files with their types and digests */
  accepts(t: Test, bytes: Buffer, variant?: Variant): Promise<Record<string, string>>;
}

/** A plugin's archive: its descriptor, and then these entries. */
export const pluginZip = (entries: readonly ForgedEntry[], facts: Omit<ForgedZip, "entries"> = {}): Buffer =>
  forgedZip({ ...facts, entries: [descriptorEntry(SLUG), ...entries] });

/** Runs 1.0.0 already. Not in `t.testdir()`, so that many can stand side by side in one test. */
export async function marketplaceHost(t: Test, kind: MarketplaceKind = "plugin"): Promise<MarketplaceHost> {
  const outside = await mkdtemp(join(tmpdir(), "sealift-marketplace-"));
  t.teardown(() => rm(outside, { recursive: true, force: true }));
  const root = join(outside, "host");
  const plan = join(outside, "install.yaml");
  const [action, field] = kind === "plugin" ? ["install_plugin", "plugin"] : ["install_extension", "extension"];
  await mkdir(root);
  await writeFile(join(root, "operator.txt"), "mine");
  await writeFile(
    plan,
    `format_version: "1"\nproject_id: ${SLUG}\nversion: 1.0.0\nsteps:\n  - {id: install, action: ${action}, ${field}: ${SLUG}}\n`,
  );
  const healthy = forgedZip([descriptorEntry(SLUG), { name: "src/main.js", content: "export default 1;\n" }]);
  const hub = await startMarketplaceHub(t, { version: "1.0.0", bytes: healthy });
  let patch = 0;
  const host: MarketplaceHost = {
    hub,
    kind,
    outside,
    root,
    installed: join(root, kind === "plugin" ? "plugins" : "extensions", SLUG),
    events: [],
    deploy(version = hub.release.version, { options, source } = {}) {
      const from = marketplaceSource({
        hubUrl: hub.url,
        apiKey: MARKETPLACE_KEY,
        timeoutMs: 10_000,
        kind,
        slug: SLUG,
        version,
        signingSecret: DEVELOPER_SECRET,
        installPlan: plan,
        symlinks: "refuse",
        // Archives of these tests are what they are, under any version.
        allowVersionMismatch: true,
        ...source,
      });
      host.events.length = 0;
      const supervisor: DeployOptions["supervisor"] = { name: "none" };
      return deploy(
        from,
        { ...DEPLOY_DEFAULTS, projectRoot: root, hostId: "host-1", supervisor, durability: "none", ...options },
        (event) => host.events.push(event),
      );
    },
    offer(bytes, headers = {}) {
      const version = `1.1.${patch++}`;
      hub.release = { version, bytes, headers };
      return version;
    },
    async refuses(t, { code, kind: errorKind = "ArtifactError", exitCode = 4, says = "" }, variant) {
      const before = snapshot(outside, mayChange);
      const result = await host.deploy(undefined, variant);
      const { error } = result;
      const found = { outcome: result.outcome, status: result.status, kind: error?.kind, code: error?.code };
      t.match(found, { outcome: "failed", status: "failed", kind: errorKind, code }, `refused: ${error?.message}`);
      t.equal(result.error?.exitCode ?? 0, exitCode, "exit code");
      t.ok(error?.message.includes(says), `the message names ${says}: ${error?.message}`);
      t.strictSame(snapshot(outside, mayChange), before, "the old release is current and whole, no staging is left");
      const text = readFileSync(result.report!, "utf8");
      t.match(JSON.parse(text) as LocalReport, { status: "failed", code, error_message: error?.message });
      for (const secret of [MARKETPLACE_KEY, DEVELOPER_SECRET])
        t.notOk((text + String(error?.message)).includes(secret), "no secret is told");
      return result;
    },
    async refusesZip(t, bytes, code, entry = "", variant) {
      host.offer(bytes);
      await host.refuses(t, { code, says: entry }, variant);
    },
    refusesEntries: (t, entries, code, entry, variant) =>
      host.refusesZip(t, pluginZip(entries), code, entry ?? quoted(String(entries.at(-1)!.name)), variant),
    async accepts(t, bytes, variant) {
      const version = host.offer(bytes);
      const result = await host.deploy(version, variant);
      t.match(result, { outcome: "deployed", version }, result.error?.message ?? "installed");
      t.notOk(existsSync(join(root, "planted")));
      return snapshot(host.installed, (path) => path === "data");
    },
  };
  const first = await host.deploy();
  if (first.outcome !== "deployed") throw new Error(`the healthy release failed: ${first.error?.message}`);
  hub.repent();
  return host;
}
