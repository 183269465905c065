import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { stringify } from "yaml";
import { usageError } from "../contract/errors.ts";
import { APPLICATION_FILE, APPLICATIONS_FOLDER } from "../contract/files/application-names.ts";
import type { InstallPlan, InstallStep } from "../contract/files/install-plan.ts";
import { SCHEMA_COMMENT } from "../contract/files/json-schemas.ts";
import { DESCRIPTOR_FILE, PLAN_FILE } from "../contract/files/manifest.ts";
import type { MarketplaceKind } from "../contract/surfaces/paths.ts";
import { type Target, targetText } from "../contract/target.ts";
import { isApplication, type Item, type Section } from "../releases/layout.ts";
import type { PlanScope } from "./base/plan.ts";

/** Template of a plugin's environment, if it has one. */
const TEMPLATE = ".env.template";

/** Item that a plan is to install. */
export type StarterItem = Item & { hasTemplate?: boolean };

const INSTALL: Record<Section, (id: string) => { action: InstallStep["action"] }> = {
  plugins: (plugin) => ({ action: "install_plugin", plugin }) as const,
  extensions: (extension) => ({ action: "install_extension", extension }) as const,
  apps: (app) => ({ action: "install_app", app }) as const,
};

/**
 * Returns the text of an install plan to start from (docs/contract/install-plan.md), with the comment by which editors
 * find its schema.
 */
export function starterPlan({
  slug,
  items,
  supervised,
}: {
  slug: string;
  items: readonly StarterItem[];
  supervised: boolean;
}): string {
  const steps: object[] = [{ id: "prepare", action: "prepare" }];
  const only = items.length === 1;
  for (const { section, id, hasTemplate = false } of items) {
    const name = (word: string): string => (only ? word : `${word}-${id}`.toLowerCase().slice(0, 64));
    steps.push({
      id: name(section === "apps" && !only ? "install-app" : "install"),
      ...INSTALL[section](id),
      depends_on: ["prepare"],
    });
    if (hasTemplate)
      steps.push({ id: name("env"), action: "write_env", plugin: id, from: TEMPLATE, depends_on: [name("install")] });
  }
  // Applications are restarted and checked without a step.
  if (supervised && !items.every(isApplication)) {
    const [first] = items;
    const one = only && first?.section === "plugins" ? { plugin: first.id } : {};
    steps.push({ id: "restart", action: "restart", ...one, ...(only && { depends_on: ["install"] }) });
    steps.push({ id: "check", action: "healthcheck", ...one, timeout: "30s", retries: 3, depends_on: ["restart"] });
  }
  const plan = { format_version: "1", project_id: slug, steps };
  return `${SCHEMA_COMMENT("install")}\n${stringify(plan)}`;
}

/**
 * Finds what a project's plan has to install: the plugins, extensions and applications of its source tree.
 *
 * @param planFile the plan, at its place in the tree
 * @throws UsageError `usage` when it is not at that place, or when the tree has nothing to install
 */
export function itemsOfSource(planFile: string): StarterItem[] {
  const source = dirname(dirname(resolve(planFile)));
  if (resolve(planFile) !== join(source, PLAN_FILE)) {
    throw usageError("usage", `The plan of a project is ${PLAN_FILE} in its source tree.`, {
      hint: `Give --out SOURCE/${PLAN_FILE}.`,
    });
  }
  const foldersIn = (section: string): string[] =>
    existsSync(join(source, section))
      ? readdirSync(join(source, section))
          .filter((name) => statSync(join(source, section, name), { throwIfNoEntry: false })?.isDirectory() === true)
          .toSorted()
      : [];
  const extensions = foldersIn("extensions").map((id): StarterItem => ({ section: "extensions", id }));
  const plugins = foldersIn("plugins")
    .filter((id) => existsSync(join(source, "plugins", id, DESCRIPTOR_FILE)))
    .map((id): StarterItem => {
      return { section: "plugins", id, hasTemplate: existsSync(join(source, "plugins", id, TEMPLATE)) };
    });
  const apps = foldersIn(APPLICATIONS_FOLDER)
    .filter((id) => existsSync(join(source, APPLICATIONS_FOLDER, id, APPLICATION_FILE)))
    .map((id): StarterItem => ({ section: APPLICATIONS_FOLDER, id }));
  const items = [...extensions, ...plugins, ...apps];
  if (items.length > 0) return items;
  throw usageError("usage", `${source} has no plugin, no extension and no application.`, {
    hint: `A plugin is a folder in plugins/ with a ${DESCRIPTOR_FILE}; \`sealift plugin init\` makes one. An application is a folder in ${APPLICATIONS_FOLDER}/ with an ${APPLICATION_FILE}.`,
  });
}

/** Returns the names that a checked plan may use: the given target, or, without one, whatever it names itself. */
export function scopeOf(plan: InstallPlan, slug: string | undefined, kind: MarketplaceKind): PlanScope {
  if (slug !== undefined) {
    return {
      projectId: slug,
      plugins: new Set(kind === "plugin" ? [slug] : []),
      extensions: new Set(kind === "service" ? [slug] : []),
    };
  }
  const plugins = plan.steps.flatMap((step) => ("plugin" in step && step.plugin !== undefined ? [step.plugin] : []));
  const extensions = plan.steps.flatMap((step) => ("extension" in step ? [step.extension] : []));
  const apps = plan.steps.flatMap((step) => ("app" in step && step.app !== undefined ? [step.app] : []));
  return {
    projectId: plan.project_id,
    plugins: new Set(plugins),
    extensions: new Set(extensions),
    apps: new Set(apps),
  };
}

/** File with the key of a host, as `key create --out` writes it. */
export const HOST_KEYS = "host.env";
/** File with the seed of the key to which settings of a host are sealed. */
export const HOST_KEY = "host.key";
/** File with the card of a host, and the terms that it came with. */
export const HOST_CARD = "host.card";

/**
 * Returns the text of a watch.yaml to start from, to be kept beside {@link HOST_KEYS}, `signer.pub`, `signing.secret`
 * and plans.
 */
export function starterWatch(options: {
  hubUrl: string;
  projectRoot: string;
  targets: readonly Target[];
  /** Further options for all targets. */
  more: Readonly<Record<string, string | readonly string[]>>;
  /** File with key and credential; null where systemd provides them. */
  keys?: string | null;
  signers?: string;
  /** File of the trust root that hosts follow, in place of signers. */
  root?: string;
  /** Whether the key speaks for this host: hub, key and name then stand at the target, where nothing beats them. */
  isJoined?: boolean;
  /** Options of a host's card, its key, and the operators whose settings count. */
  settings?: Readonly<Record<string, string | readonly string[]>>;
}): string {
  const {
    hubUrl,
    projectRoot,
    targets,
    more,
    keys = HOST_KEYS,
    signers = "signer.pub",
    isJoined = false,
    settings = {},
  } = options;
  const trust = options.root === undefined ? { signer_public_key: signers } : { root: options.root };
  const keysOf = (option: string) => (keys === null ? {} : { [option]: keys });
  const own = ({ kind, slug }: Target) =>
    kind === "project"
      ? { ...keysOf("deployment_credential_file"), ...trust, ...settings }
      : { signing_secret_file: "signing.secret", install_plan: `${slug}.yaml` };
  const caller = { hub_url: hubUrl, ...keysOf("api_key_file") };
  const shared = { project_root: projectRoot, interval: "60s" };
  const content = isJoined
    ? {
        ...shared,
        targets: targets.map((target) => ({ target: targetText(target), ...caller, ...more, ...own(target) })),
      }
    : {
        ...caller,
        ...shared,
        ...more,
        targets: targets.map((target) => ({ target: targetText(target), ...own(target) })),
      };
  return `${SCHEMA_COMMENT("watch")}\n${stringify(content)}`;
}
