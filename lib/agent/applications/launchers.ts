import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { deploymentError } from "../../contract/errors.ts";
import { addressVariables, type WordPart, wordParts } from "../../contract/files/address-variables.ts";
import { addressNames, type Application } from "../../contract/files/application.ts";
import { APPLICATIONS_FOLDER, HOST_FOLDER, MIGRATE, START } from "../../contract/files/application-names.ts";
import type { Applications } from "./descriptors.ts";
import { programAt } from "./programs.ts";

/**
 * Writes the programs that start and migrate applications into their folders: `.sealift/start`, and `.sealift/migrate`
 * where they migrate (docs/contract/application.md#the-launcher).
 *
 * @param release folder of the release
 * @param folders in which programs are looked for; default those of hosts
 * @throws DeploymentError `needs_unmet` for a program that has gone meanwhile
 */
export async function writeLaunchers(release: string, apps: Applications, folders?: string): Promise<void> {
  for (const [id, app] of apps) {
    const { command, migrate } = app;
    const folder = join(release, APPLICATIONS_FOLDER, id, HOST_FOLDER);
    await mkdir(folder);
    for (const [name, words] of Object.entries({ [START]: command, [MIGRATE]: migrate }))
      if (words !== undefined)
        await writeFile(join(folder, name), await launcherOf(words, app, folders), { flag: "wx", mode: 0o755 });
  }
}

/**
 * Returns the text of a program that starts a command of an application: its folder is the working directory. Variables
 * of its addresses in words get their values, and its own defaults count where the host sets nothing.
 */
export async function launcherOf(
  [name, ...words]: readonly [string, ...string[]],
  app: Pick<Application, "listen" | "ports" | "environment">,
  folders?: string,
): Promise<string> {
  const program = name.includes("/") ? `./${name.replace(/^(?:\.\/+)*/, "")}` : await programAt(name, folders);
  if (program === undefined) throw deploymentError("needs_unmet", `The program ${name} is gone.`);
  const defaults = Object.entries(app.environment.values).map(
    ([variable, value]) => `[ -n "\${${variable}+x}" ] || ${variable}=${quoted(value)}; export ${variable}\n`,
  );
  const variables = addressVariables(addressNames(app));
  const written = words.map((word) => wordParts(word, variables).map(partText).join(""));
  return `#!/bin/sh\n${defaults.join("")}exec ${[quoted(program), ...written].join(" ")}\n`;
}

/** Writes a part of a word. The shell puts a value there as it is, and reads no word of the version. */
const partText = (part: WordPart): string => ("text" in part ? quoted(part.text) : `"\${${part.variable}}"`);

/** Quotes a word so that a shell takes it literally. */
const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;
