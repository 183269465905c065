import { basename, normalize, resolve } from "node:path";
import { usageError } from "../../contract/errors.ts";
import type { Descriptor, PermissionRule } from "../../contract/files/descriptor.ts";
import { hostText } from "../../contract/rights.ts";
import type { Use } from "../base/instance.ts";
import { isPermitted } from "../calls/permissions.ts";
import { descriptorOf } from "./plugin-folder.ts";
import { type TrialOptions, type TrialResult, tryPlugin } from "./trial.ts";

/** Uses of a plugin in its trial, and the least that its descriptor must request. */
export interface AuditReport extends TrialResult {
  /** Smallest `permissions`. */
  permissions: Pick<PermissionRule, "resource" | "actions">[];
  /** Smallest `network`. */
  network: string[];
  /** Folders in the plugin's own that it wrote to, besides `data/`: `filesystem.allowed_paths`. */
  writes: string[];
  /** Rules and hosts of the descriptor that the trial never used. */
  unused: string[];
  /** Uses in the trial that the descriptor does not request. */
  missing: string[];
  /** Uses that no descriptor can request: a sandbox refuses them. */
  refused: string[];
}

export interface AuditOptions extends TrialOptions {
  /** Continues although this process runs as root. */
  asRoot: boolean;
}

/**
 * Runs a plugin's trial without refusing anything, and returns what it used.
 * @throws UsageError for a folder without a valid descriptor, and for root without `asRoot`; DeploymentError
 *   `unhealthy` for a plugin that does not load
 */
export async function auditPlugin({ asRoot, ...options }: AuditOptions): Promise<AuditReport> {
  if (process.getuid?.() === 0 && !asRoot)
    throw usageError("usage", "An audit lets the plugin do all that you can, and you are root: see --as-root.");
  const folder = resolve(options.folder);
  const descriptor = await descriptorOf(folder);
  const uses: Use[] = [];
  const report = await tryPlugin({
    ...options,
    auditor: (plugin, use) => {
      if (plugin === descriptor.name) uses.push(use);
    },
  });
  return { ...report, ...summarise(descriptor, uses, basename(folder)) };
}

type Summary = Omit<AuditReport, keyof TrialResult>;

/** Returns the least that a descriptor must request, compared with what it does request. */
export function summarise(descriptor: Descriptor, uses: readonly Use[], folder: string): Summary {
  const actions = new Map<string, Set<string>>();
  const hosts = new Set(uses.flatMap((use) => (use.what === "host" ? [use.host] : [])));
  const writes = new Set<string>();
  const refused = new Set<string>();
  for (const use of uses) {
    if (use.what === "service") actions.set(use.target, (actions.get(use.target) ?? new Set()).add(use.action));
    else if (use.what === "host") continue;
    else if (use.permission === "FileSystemWrite" && normalize(use.resource).includes(`/plugins/${folder}/`)) {
      const [, path = ""] = normalize(use.resource).split(`/plugins/${folder}/`);
      writes.add(path.includes("/") ? `${path.slice(0, path.lastIndexOf("/"))}/` : path);
    }
    // A name that is looked up belongs to a host in the list.
    else if (use.permission !== "Net" || ![...hosts].some((host) => host.startsWith(`${use.resource}:`))) {
      refused.add(use.resource === "" ? use.permission : `${use.permission} ${use.resource}`);
    }
  }
  const permissions = [...actions]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([resource, used]) => ({ resource, actions: [...used].sort() }));
  const network = [...hosts].sort();
  return {
    permissions,
    network,
    writes: [...writes].sort(),
    refused: [...refused].sort(),
    ...compared(descriptor, permissions, network, [...writes]),
  };
}

function compared(
  descriptor: Descriptor,
  used: Summary["permissions"],
  network: string[],
  writes: string[],
): Pick<Summary, "unused" | "missing"> {
  const pairs = used.flatMap(({ resource, actions }) => actions.map((action) => ({ resource, action })));
  const missing = pairs
    .filter(({ resource, action }) => !isPermitted(descriptor.permissions, descriptor.execution_mode, resource, action))
    .map(({ resource, action }) => `${resource}: ${action}`);
  const unused = descriptor.permissions
    .filter(({ effect }) => effect === "allow")
    .flatMap((rule) => rule.actions.map((action) => ({ ...rule, actions: [action] })))
    .filter((rule) => !pairs.some(({ resource, action }) => isPermitted([rule], "sandboxed", resource, action)))
    .map(({ resource, actions }) => `${resource}: ${actions.join()}`);
  const asked = typeof descriptor.network === "object" ? descriptor.network : [];
  const askedTexts = asked.map(hostText);
  const idle = asked
    .filter(({ wildcard }) => !wildcard)
    .map(hostText)
    .filter((host) => !network.includes(host));
  const reaches = (host: string): boolean =>
    descriptor.network === true ||
    askedTexts.includes(host) ||
    asked.some((rule) => rule.wildcard && host.endsWith(`.${rule.host}:${rule.port}`));
  return {
    unused: [...unused, ...idle.map((host) => `network: ${host}`)],
    missing: [
      ...missing,
      ...writes.map((path) => `writes: ${path}`),
      ...network.filter((host) => !reaches(host)).map((host) => `network: ${host}`),
    ],
  };
}
