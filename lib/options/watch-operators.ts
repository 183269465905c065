import { isMap, isSeq, parseDocument } from "yaml";
import { usageError } from "../contract/errors.ts";
import type { WatchFile } from "./watch-file.ts";

/** Options of a project's target that name its host's key and card. */
export type KeyFiles = Readonly<Partial<Record<"host_key_file" | "host_card", string>>>;

/**
 * Returns the text of a `watch.yaml` whose project targets pin these operators and no others. Comments, order and all
 * other options stay.
 *
 * @param file path in messages
 * @param text of a file that {@link WatchFile} was read from
 * @param operators public keys; none takes the option out
 * @param keyFiles options that targets without them get
 * @throws UsageError `config_invalid` where a target is no map of its own, such as an alias
 */
export function withOperators(file: string, text: string, operators: readonly string[], keyFiles: KeyFiles): string {
  const document = parseDocument(text);
  const targets = document.get("targets");
  if (!isSeq(targets)) throw notOwn(file);
  for (const [index, target] of targets.items.entries()) {
    if (!isMap(target)) throw notOwn(file);
    if (!String(target.get("target")).startsWith("project:")) continue;
    target.delete("operator");
    if (operators.length === 0) continue;
    for (const [key, value] of Object.entries(keyFiles))
      if (!target.has(key) && !document.has(key)) document.setIn(["targets", index, key], value);
    document.setIn(["targets", index, "operator"], document.createNode([...operators]));
  }
  // One that all targets share would count again without those of the targets.
  document.delete("operator");
  return document.toString({ lineWidth: 0 });
}

/** Returns the targets of a file that take settings: projects. */
export const projectsIn = ({ targets }: WatchFile) => targets.filter(({ target }) => target.startsWith("project:"));

const notOwn = (file: string) =>
  usageError("config_invalid", `A target in ${file} is not written as a map of its own.`, {
    hint: "Write `operator:` at it with an editor: a list of public keys.",
  });
