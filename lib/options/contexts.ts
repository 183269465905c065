import { existsSync, readFileSync, statSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { usageError } from "../contract/errors.ts";
import { writeFileAtomic } from "../support/files.ts";
import { closestTo } from "../support/suggestion.ts";
import type { Layer } from "./layers.ts";

/** Hubs that a person has logged in to, with their keys: a file of mode 0600 in the user's configuration folder. */

export interface Context {
  hub_url: string;
  api_key: string;
}

export interface Contexts {
  v: 1;
  /** The one that commands use; null when there is none. */
  current: string | null;
  contexts: Readonly<Record<string, Context>>;
}

const NONE: Contexts = { v: 1, current: null, contexts: {} };

/** The path of the file: below `XDG_CONFIG_HOME`, else `~/.config`. */
export const contextsFile = (environment: NodeJS.ProcessEnv = process.env): string =>
  join(environment.XDG_CONFIG_HOME || join(homedir(), ".config"), "sealift", "contexts.json");

/**
 * Reads the file; a missing one holds nothing.
 *
 * @throws UsageError `credential_unreadable` when others may read it, or it is not ours
 */
export function readContexts(file = contextsFile()): Contexts {
  if (!existsSync(file)) return NONE;
  const refuse = (why: string, hint: string) => usageError("credential_unreadable", `${file} ${why}.`, { hint });
  if ((statSync(file).mode & 0o077) !== 0)
    throw refuse(
      "holds keys, and other users may read it",
      `Run \`chmod 600 ${file}\`, or remove it and log in again.`,
    );
  try {
    const found = JSON.parse(readFileSync(file, "utf8")) as Contexts;
    const isOurs = found.v === 1 && typeof found.contexts === "object" && found.contexts !== null;
    if (isOurs) return found;
  } catch (error) {
    throw refuse(`cannot be read: ${(error as Error).message}`, "Remove it and log in again.");
  }
  throw refuse("is not what `sealift login` writes", "Remove it and log in again.");
}

/** Replaces the file at once, with mode 0600 in a folder of mode 0700. */
export async function writeContexts(contexts: Contexts, file = contextsFile()): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await writeFileAtomic(file, `${JSON.stringify(contexts, null, 2)}\n`, { mode: 0o600 });
}

/** The context of a name. @throws UsageError `usage` */
export function contextNamed({ contexts }: Contexts, name: string): Context {
  const found = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
  if (found !== undefined) return found;
  const meant = closestTo(name, Object.keys(contexts));
  throw usageError("usage", `There is no context ${JSON.stringify(name)}.`, {
    hint:
      meant === undefined
        ? "`sealift context list` shows them; `sealift login URL` makes one."
        : `Did you mean ${meant}?`,
  });
}

const plain = (url: string): string => url.replace(/\/+$/, "");

/**
 * The options that the contexts give to a command, below everything that it is given otherwise. A key goes to the hub
 * that it was stored for and to no other one.
 *
 * @param given the hub that the command is given otherwise
 * @param name of the context that a person asked for
 * @throws UsageError `usage` for a name that is not known
 */
export function contextLayer(stored: Contexts, given: string | undefined, name: string | undefined): ContextLayer {
  const chosen = name ?? (given === undefined ? stored.current : null) ?? undefined;
  const known = Object.entries(stored.contexts).find(
    ([, { hub_url: url }]) => given !== undefined && plain(url) === plain(given),
  );
  const found = chosen === undefined ? known : ([chosen, contextNamed(stored, chosen)] as const);
  if (found === undefined) return { name: undefined, get: () => undefined, label: (option) => option };
  const [label, { hub_url: url, api_key: key }] = found;
  if (given !== undefined && plain(given) !== plain(url))
    throw usageError("usage", `--context ${label} is the hub ${url}, and --hub-url is ${given}.`, {
      hint: "Give one of them.",
    });
  const values: Readonly<Record<string, string>> = { "hub-url": url, "api-key": key };
  return { name: label, get: (option) => values[option], label: (option) => `${option} of the context ${label}` };
}

export interface ContextLayer extends Layer {
  /** The context whose values these are, if there is one. */
  name: string | undefined;
}
