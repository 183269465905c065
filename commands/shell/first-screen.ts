import type { CommandClass } from "clipanion";
import { entryLines } from "./help.ts";

/** Commands that people begin with, by what they are about: together no more than a screen of 80×24. */
const FIRST: Readonly<Record<string, readonly string[]>> = {
  Publish: ["app init", "plugin init", "project publish"],
  Deploy: ["host invite", "join", "project deploy", "watch", "status", "doctor", "rollback"],
  Fleet: ["fleet", "rollout start"],
  Hub: ["hub serve", "login"],
};

/** Column of the descriptions. */
const COLUMN = 19;

/**
 * Returns the help of the whole program: the commands that people begin with, and how all are listed.
 *
 * @throws Error when one of them is not a command: that is a defect
 */
export function firstScreen(name: string, commands: readonly CommandClass[], version: string, width: number): string {
  const linesOf = (words: string): string[] => {
    const command = commands.find(({ paths = [] }) => paths[0]?.join(" ") === words);
    if (command?.usage?.description === undefined) throw new Error(`${words} is not a command with a description.`);
    return entryLines(words, command.usage.description, COLUMN, width);
  };
  const sections = Object.entries(FIRST).flatMap(([heading, all]) => [heading, ...all.flatMap(linesOf)]);
  return [
    `Sealift ${version}`,
    "",
    ...sections,
    "",
    `All ${commands.length} commands: \`${name} --help --all\`. One of them: \`${name} COMMAND --help\`.`,
    "",
  ].join("\n");
}
