import { COMMANDS } from "../../../commands/shell/registry.ts";
import { type Option, type OptionTable, variableOf } from "../../../lib/options/option.ts";

/**
 * Returns what is wrong with a container's arguments for `sealift` and its variables: flags that the command does not
 * have, values that it does not take, and `SEALIFT_…` that name no option of its.
 */
export function faultsOfCommand(args: readonly string[], variables: readonly string[]): string[] {
  const words = args.slice(0, args.findIndex((arg) => arg.startsWith("--")) >>> 0);
  const command = COMMANDS.find(({ paths }) => paths?.some((path) => path.join(" ") === words.join(" ")));
  if (command === undefined) return [`${words.join(" ")} is not a command`];
  const options = Object.values((command as unknown as { table: OptionTable }).table);
  const faults = args.slice(words.length).flatMap((arg) => faultOfFlag(arg, options));
  const known = new Set(options.flatMap(({ name }) => [variableOf(name), variableOf(`${name}-file`)]));
  return [...faults, ...variables.filter((name) => name.startsWith("SEALIFT_") && !known.has(name))];
}

function faultOfFlag(arg: string, options: readonly Option[]): string[] {
  const [, flag, value] = /^(--[a-z-]+)(?:=(.*))?$/.exec(arg) ?? [];
  const option = options.find(({ flag: own, name }) => own === flag || `--no-${name}` === flag);
  if (option === undefined) return [`${arg} is not a flag`];
  try {
    if (value !== undefined) option.parse(value);
    return [];
  } catch (error) {
    return [`${arg} ${(error as Error).message}`];
  }
}
