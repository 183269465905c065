import { type BaseContext, Command, type CommandClass } from "clipanion";
import type { common } from "../../lib/options/common.ts";
import type { connection } from "../../lib/options/connection.ts";
import type { Values } from "../../lib/options/option.ts";
import { type SealiftCommand, withOptions } from "./base.ts";
import { declareArguments } from "./flags.ts";
import type { Surroundings } from "./output/deployment.ts";

/** Options of every command that uses a hub. */
export type Connected = Values<typeof connection>;

/** Running command: its options, the words that called it, and its streams. */
interface Shell<T extends typeof connection> extends Surroundings {
  options: Values<T & typeof common>;
  path: readonly string[];
  context: BaseContext;
}

/** Work of a command on the subject that its arguments name, and its help. */
interface Verb<T extends typeof connection, S, W> {
  /** Heading under which it is listed. Default: that of its noun. */
  category?: string;
  description: string;
  details?: string;
  examples?: [what: string, line: string][];
  /** Other words that call the same command. */
  also?: string[][];
  listed?: typeof SealiftCommand.listed;
  /** Does the work. @param words of the arguments @returns the exit code */
  run: (subject: S, shell: Shell<T>, words: W) => Promise<number>;
}

/** Headings of nouns under which `--help --all` lists their commands; `Hub` where none is given. */
const HEADINGS: Readonly<Record<string, string>> = {
  ...{ host: "Hosts", invite: "Hosts", fleet: "Hosts", key: "Keys", publisher: "Keys", grant: "Keys" },
  ...{ rollout: "Rollouts", signer: "Signers", stage: "Approval" },
};

type Words<Names extends readonly string[]> = { [K in keyof Names]: string };

/**
 * Returns a maker of the commands for one kind of thing on a hub.
 *
 * @param noun the first word that calls them
 * @param names of their arguments, all required
 * @param open returns the subject that the arguments name
 */
export function resource<const Names extends readonly string[], S>(
  noun: string,
  names: Names,
  open: (options: Connected, ...words: Words<Names>) => Promise<S>,
) {
  return <T extends typeof connection>(verb: string, options: T, declared: Verb<T, S, Words<Names>>): CommandClass => {
    const { run, listed, also = [], ...usage } = declared;
    return class extends withOptions(options) {
      static override paths = [[noun, verb], ...also];
      static override usage = Command.Usage({ category: HEADINGS[noun] ?? "Hub", ...usage });
      static override listed = listed;
      readonly #words = declareArguments(this, names);

      override async run(): Promise<number> {
        const words = this.#words();
        const subject = await open(this.options, ...words);
        const { options, path, context } = this;
        return run(subject, { ...this.surroundings(), options, path, context }, words);
      }
    };
  };
}
