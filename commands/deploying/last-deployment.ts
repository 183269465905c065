import { accessSync, constants, statSync } from "node:fs";
import { resolve } from "node:path";
import { STAYS_UP_MS } from "../../lib/options/agent.ts";
import { fileLayer, isSameHub, type Layer } from "../../lib/options/layers.ts";
import { type Given, yamlKeyOf } from "../../lib/options/option.ts";
import type { Settings } from "../../lib/releases/deployed.ts";
import { layoutOf } from "../../lib/releases/layout.ts";
import { targetsAt } from "../targets/targets.ts";

/** Options of a deployment that say how its target is run here, kept with it for a rollback. */
interface RunValues {
  hostId: string;
  supervisor: string;
  supervisorName?: string | undefined;
  systemdScope: string;
  staysUpMs?: number;
  healthUrl?: readonly (readonly [plugin: string | null, url: URL])[];
  runtimeUrl: string;
  notifiersConfig?: string | undefined;
  logInReports?: boolean;
  hubUrl?: string | undefined;
  signerPublicKey?: readonly string[] | undefined;
  root?: string | undefined;
  trustOnFirstUse?: boolean;
  policy?: string | undefined;
}

const HOW_UNITS_RUN = [
  "supervisor",
  "supervisor-name",
  "systemd-scope",
  "stays-up",
  "health-url",
  "runtime-url",
  "plugin-key",
  "plugin-key-file",
];

const WHO_SIGNS = ["signer-public-key", "root", "trust-on-first-use"];

/** Separates keys in a setting: settings are texts, and neither a key nor a sensible path has it. */
const BETWEEN_KEYS = "\n";

/**
 * Returns the settings that a target keeps of a deployment. For a secret that is the file it was read from, if that
 * file stays.
 *
 * @param layers where the options were given
 */
export function settingsOf(options: RunValues, layers: readonly Layer[]): Settings {
  const { hostId, supervisor, supervisorName, systemdScope, runtimeUrl } = options;
  const { notifiersConfig, logInReports, hubUrl, policy } = options;
  const own: Record<string, Record<string, string | undefined>> = {
    runtime: { runtime_url: runtimeUrl, plugin_key_file: secretFile("plugin-key", layers) },
    systemd: { systemd_scope: systemdScope, ...healthOf(options) },
    docker: healthOf(options),
  };
  const settings = {
    host_id: hostId,
    supervisor,
    supervisor_name: supervisorName,
    ...own[supervisor],
    notifiers_config: notifiersConfig && resolve(notifiersConfig),
    policy: policy && resolve(policy),
    ...signersOf(options),
    log_in_reports: logInReports === false ? "false" : undefined,
    // A URL may hold a password.
    ...(hubUrl !== undefined &&
      new URL(hubUrl).password === "" && { hub_url: hubUrl, api_key_file: secretFile("api-key", layers) }),
  };
  return Object.fromEntries(Object.entries(settings).filter((entry) => entry[1] !== undefined)) as Settings;
}

/** Returns whose signatures were accepted: files by their paths, which are read anew, and keys as they were typed. */
function signersOf({ signerPublicKey, root, trustOnFirstUse }: RunValues): Record<string, string | undefined> {
  const isFile = (given: string): boolean => statSync(given, { throwIfNoEntry: false })?.isFile() === true;
  const keys = signerPublicKey?.map((given) => (isFile(given) ? resolve(given) : given));
  return {
    signer_public_key: keys?.join(BETWEEN_KEYS),
    root: root === undefined || root === "follow" ? root : resolve(root),
    trust_on_first_use: trustOnFirstUse === true ? "true" : undefined,
  };
}

/** Returns how the health of units is asked, where that was said. */
function healthOf({ staysUpMs = STAYS_UP_MS, healthUrl = [] }: RunValues): Record<string, string | undefined> {
  const urls = healthUrl.map(([plugin, { href }]) => (plugin === null ? href : `${plugin}=${href}`));
  return {
    stays_up: staysUpMs === STAYS_UP_MS ? undefined : `${staysUpMs}ms`,
    health_url: urls.length === 0 ? undefined : urls.join(","),
  };
}

/** Returns the path of the file that a secret is read from, unless the file is gone when this program ends. */
function secretFile(name: string, layers: readonly Layer[]): string | undefined {
  const layer = layers.find((layer) => layer.get(name) !== undefined || layer.get(`${name}-file`) !== undefined);
  if (layer === undefined || layer.get(name) !== undefined) return undefined;
  const path = resolve(String(layer.get(`${name}-file`)));
  const folder = process.env.CREDENTIALS_DIRECTORY;
  const stays = statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  return stays && !(folder && path.startsWith(`${resolve(folder)}/`)) ? path : undefined;
}

/** Supervisor of 0.1.0 that is gone: its targets go back as without one, and the operator restarts what they run. */
const FORMER_SUPERVISOR = "kubernetes";

/**
 * Returns the settings of a target's last deployment, as the layer below all others; only flags beat its API key. If
 * another supervisor is chosen, settings that describe the kept one do not count, and so it is with signers.
 *
 * @param text the target as it was typed
 * @param layers where options are given
 */
export async function lastDeployment(text: string, layers: readonly Layer[]): Promise<Layer[]> {
  const { deployedFile, readDeployed } = await import("../../lib/releases/deployed.ts");
  const given = (name: string): string | undefined =>
    layers.map((layer) => layer.get(name)).find((value) => value !== undefined) as string | undefined;
  const layout = layoutOf(resolve(given("project-root") ?? "."));
  // The command itself says what is wrong with a name.
  const [target] = await targetsAt(layout, [text]).catch(() => []);
  if (target === undefined) return [];
  const settings = (await readDeployed(layout, target))?.settings;
  if (settings === undefined) return [];
  const layer = fileLayer(settings, deployedFile(layout, target));
  const chosen = given("supervisor");
  const kept = settings[yamlKeyOf("supervisor")];
  const isOther = kept === FORMER_SUPERVISOR || (chosen !== undefined && chosen !== kept);
  const hub = given("hub-url") ?? settings["hub_url"];
  const isOtherHub = hub !== undefined && !isSameHub(hub, settings["hub_url"] ?? "");
  const isOtherSigner = WHO_SIGNS.some((name) => given(name) !== undefined);
  const get = (name: string): Given | undefined => {
    if (isOther && HOW_UNITS_RUN.includes(name)) return undefined;
    if (isOtherSigner && WHO_SIGNS.includes(name)) return undefined;
    const value = layer.get(name);
    if (name === "signer-public-key" && typeof value === "string") return value.split(BETWEEN_KEYS);
    // Going back needs no hub, and so no key to it.
    return name === "api-key-file" && (isOtherHub || !isReadable(String(value))) ? undefined : value;
  };
  // The hub hears of a host by that host's own key, whatever key the shell has for other work.
  const key: Layer = {
    ...layer,
    get: (name) => (name === "api-key-file" ? get(name) : undefined),
    beatsEnvironment: true,
  };
  return [key, { ...layer, get }];
}

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}
