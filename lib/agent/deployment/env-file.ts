import { chmod, readFile, writeFile } from "node:fs/promises";
import { parseEnv } from "node:util";
import { deploymentError } from "../../contract/errors.ts";
import { settingsText, splitSettings, type Values } from "../../releases/fleet-block.ts";
import { readSettingsFile } from "../../releases/settings-file.ts";
import { quotedAlike } from "../../releases/settings-text.ts";

/** Required names that have no value. */
export interface MissingSettings {
  plugin: string;
  names: readonly string[];
  /** File that should have the values. */
  file: string;
  /** Whether the environment of the command can give them, too. */
  mayBeGiven: boolean;
}

/** Requires that nothing is missing. @throws DeploymentError `env_missing` with every name of all plugins */
export function requireSettings(missing: readonly MissingSettings[]): void {
  if (missing.length === 0) return;
  const faults = missing.map(({ plugin, names }) => `${plugin} needs values for ${names.join(", ")}`);
  const files = missing.map(({ file }) => file).join(", ");
  const given = missing.some(({ mayBeGiven }) => mayBeGiven) ? " or in the environment of this command" : "";
  throw deploymentError("env_missing", `${faults.join("; ")}.`, {
    faults,
    hint: `Set them in ${files}${given}, and deploy again.`,
  });
}

/** Returns the required names that have no value. */
export const emptyAmong = (required: readonly string[], values: NodeJS.Dict<string>): string[] =>
  required.filter((name) => (values[name] ?? "") === "");

const NO_FLEET = { values: {}, written: {} };

export interface EnvFileOptions {
  plugin: string;
  /** Template of the release; undefined for none. */
  template: string | undefined;
  /** Host's own file, which is kept as it is if it exists. */
  existing: string;
  /** Path at which a new file is prepared (mode 0600), for the switch to put in place. */
  prepared: string;
  required: readonly string[];
  /** Other names that the plugin declares. */
  optional: readonly string[];
  /** Names that the operator lets templates use; none for every declared one. */
  allowed: readonly string[];
  environment: NodeJS.ProcessEnv;
  /** Whether the program gets nothing else: then this process's environment counts for a new file only. */
  isOnlySource?: boolean;
  /** Settings of the fleet, and those that were written last; undefined where a fleet gives none. */
  fleet?: { values: Values; written: Values };
}

/**
 * Creates a plugin's `.env` from its template when the host has none; values in the process environment take
 * precedence. Every required name must then have a value, in the host's file or the process environment
 * (docs/contract/install-plan.md#write_env).
 *
 * A template gets only variables that its plugin declares and the operator allows: it cannot obtain the host's
 * `AWS_SECRET_ACCESS_KEY`, and never the agent's own `SEALIFT_API_KEY`.
 *
 * The settings of the fleet stand in a block behind the rest. A file with nothing but such a block counts as none.
 *
 * @throws UsageError `config_invalid` as {@link settingsText}
 * @returns whether a new file was prepared, and the text that replaces the host's file, if it changes; or every
 *   required name without a value, and then neither
 */
export async function prepareEnvFile(
  options: EnvFileOptions,
): Promise<{ isNew: boolean; text?: string; missing?: MissingSettings }> {
  const { plugin, required, fleet = NO_FLEET } = options;
  const declared = new Set([...required, ...options.optional]);
  const allowed = options.allowed.length === 0 ? declared : new Set(options.allowed);
  const given = (name: string): string | undefined =>
    name.startsWith("SEALIFT_") || !declared.has(name) || !allowed.has(name) ? undefined : options.environment[name];
  const existing = (await readSettingsFile(options.existing))?.toString();
  const parts =
    existing === undefined || options.fleet === undefined ? undefined : splitSettings(existing, fleet.written);
  const isBare = parts !== undefined && parts.own.trim() === "" && parts.own !== existing;
  const own = isBare ? undefined : (parts?.own ?? existing);
  const lines = own ?? seeded(await readTemplate(options), required, given);
  const content = settingsText(options.existing, lines, fleet.values);
  const values = parseEnv(content);
  const isGiven = (name: string): boolean => options.isOnlySource !== true && (given(name) ?? "") !== "";
  const names = emptyAmong(required, values).filter((name) => !isGiven(name));
  if (names.length > 0) {
    const mayBeGiven = options.isOnlySource !== true || existing === undefined;
    return { isNew: false, missing: { plugin, names, file: options.existing, mayBeGiven } };
  }
  if (existing !== undefined) return { isNew: false, ...(content !== existing && { text: content }) };
  if (options.template === undefined && content.trim() === "") return { isNew: false };
  await writeFile(options.prepared, content, { flag: "wx", mode: 0o600 });
  await chmod(options.prepared, 0o600);
  return { isNew: true };
}

async function readTemplate({ plugin, template }: EnvFileOptions): Promise<string> {
  if (template === undefined) return "";
  try {
    return await readFile(template, "utf8");
  } catch (cause) {
    throw deploymentError(
      "plan_invalid",
      `The environment template of ${plugin} cannot be read: ${(cause as Error).message}.`,
      {
        cause,
        hint: "Ask the publisher to correct the write_env step.",
      },
    );
  }
}

/** Fills in a template line by line, keeping comments, and appends required names that it lacks. */
function seeded(template: string, required: readonly string[], given: (name: string) => string | undefined): string {
  const seen = new Set<string>();
  const lines = template.split(/\r?\n/).map((line) => {
    const name = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=/.exec(line)?.[1];
    if (name === undefined) return line;
    seen.add(name);
    const value = given(name);
    return value === undefined ? line : `${name}=${quoted(value)}`;
  });
  while (lines.at(-1) === "") lines.pop();
  for (const name of required) {
    const value = seen.has(name) ? undefined : given(name);
    if (value !== undefined) lines.push(`${name}=${quoted(value)}`);
  }
  return `${lines.join("\n")}\n`;
}

/** Quotes a value so that systemd and Node read it alike, or where that cannot be, so that Node takes it literally. */
function quoted(value: string): string {
  if (value === "") return value;
  return quotedAlike(value) ?? (value.includes("`") ? JSON.stringify(value) : `\`${value}\``);
}
