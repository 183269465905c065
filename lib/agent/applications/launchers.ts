import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { deploymentError } from "../../contract/errors.ts";
import { addressNames, addressVariables, type WordPart, wordParts } from "../../contract/files/address-variables.ts";
import type { Application } from "../../contract/files/application.ts";
import { isJob, RUN_SECONDS } from "../../contract/files/application-kinds.ts";
import {
  APPLICATIONS_FOLDER,
  CHECK,
  HOST_FOLDER,
  MIGRATE,
  RUN,
  START,
} from "../../contract/files/application-names.ts";
import { checkSeconds } from "../../contract/files/health-command.ts";
import { shellDefaults, shellWord } from "../../support/shell-words.ts";
import type { Applications } from "./descriptors.ts";
import { LIMITER, programAt } from "./programs.ts";

type Words = readonly [string, ...string[]];

/**
 * Writes the programs that start and migrate applications into their folders: `.sealift/start`, or `.sealift/run` of a
 * job, `.sealift/migrate` where they migrate, and `.sealift/check` where a command tells their health
 * (docs/contract/application.md#the-launcher).
 *
 * @param release folder of the release
 * @param folders in which programs are looked for; default those of hosts
 * @throws DeploymentError `needs_unmet` for a program that has gone meanwhile
 */
export async function writeLaunchers(release: string, apps: Applications, folders?: string): Promise<void> {
  for (const [id, app] of apps) {
    const { command, migrate, of, health } = app;
    const folder = join(release, APPLICATIONS_FOLDER, id, HOST_FOLDER);
    await mkdir(folder);
    const write = async (name: string, words: Words | undefined, limit: readonly string[] = []): Promise<void> => {
      if (words === undefined) return;
      const text = await launcherOf(words, app, { folders, of, limit });
      await writeFile(join(folder, name), text, { flag: "wx", mode: 0o755 });
    };
    await (isJob(app) ? write(RUN, command, limitOf(app)) : write(START, command));
    await write(MIGRATE, migrate);
    await write(CHECK, health.command, [LIMITER, "-s", "TERM", "-k", "1", String(checkSeconds(app))]);
  }
}

/** Returns the words before the command of a job that end it: by its signal, and a while later by force. */
const limitOf = ({ within = RUN_SECONDS, stop }: Application): string[] => [
  ...[LIMITER, "-s", stop.signal.replace("SIG", ""), "-k", String(stop.within), String(within)],
];

interface LauncherFacts {
  /** Folders in which programs are looked for; default those of hosts. */
  folders?: string | undefined;
  /** Application of the same release in whose folder the command runs instead. */
  of?: string | undefined;
  /** Words before it, of another program; none if empty. */
  limit?: readonly string[];
}

/**
 * Returns the text of a program that starts a command of an application: its folder is the working directory. Variables
 * of its addresses in words get their values, and its own defaults count where the host sets nothing.
 */
export async function launcherOf(
  [name, ...words]: Words,
  app: Pick<Application, "listen" | "ports" | "environment">,
  { folders, of, limit: [limiter, ...limits] = [] }: LauncherFacts = {},
): Promise<string> {
  const found = async (program: string): Promise<string> => {
    if (program.includes("/")) return `./${program.replace(/^(?:\.\/+)*/, "")}`;
    const path = await programAt(program, folders);
    if (path === undefined) throw deploymentError("needs_unmet", `The program ${program} is gone.`);
    return path;
  };
  const before = limiter === undefined ? [] : [await found(limiter), ...limits];
  // Through the folder itself: a link to it may lead to another release by now.
  const enter = of === undefined ? "" : `cd -P ${shellWord(`../${of}`)} || exit 126\n`;
  const variables = addressVariables(addressNames(app));
  const written = words.map((word) => wordParts(word, variables).map(partText).join(""));
  const program = [...before, await found(name)].map(shellWord);
  return `#!/bin/sh\n${enter}${shellDefaults(app.environment.values)}exec ${[...program, ...written].join(" ")}\n`;
}

/** Writes a part of a word. The shell puts a value there as it is, and reads no word of the version. */
const partText = (part: WordPart): string => ("text" in part ? shellWord(part.text) : `"\${${part.variable}}"`);
