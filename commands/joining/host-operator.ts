import { existsSync } from "node:fs";
import { readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { Command, Option } from "clipanion";
import { usageError } from "../../lib/contract/errors.ts";
import { hostOperator } from "../../lib/options/joining.ts";
import type { KeyFiles } from "../../lib/options/watch-operators.ts";
import { withOptions } from "../shell/base.ts";

export class HostOperator extends withOptions(hostOperator) {
  static override paths = [["host", "operator"]];
  static override usage = Command.Usage({
    category: "Hosts",
    description: "Show or replace the operators whose settings this host takes",
    details: `
      Without more it shows the public keys that \`watch.yaml\` pins. \`set KEY…\` pins these and no others, at most four:
      files of \`signer create\`, hex or base64. \`none\` takes them out: the host keeps the settings that it has, and takes
      no others. Comments in the file stay, and a running watch takes the change over.
    `,
    examples: [
      ["Who is pinned", "$0 host operator --config /etc/sealift/watch/shop.yaml"],
      ["After a lost key", "$0 host operator set new-operator.pub --config /etc/sealift/watch/shop.yaml"],
    ],
  });

  words = Option.Rest({ name: "set KEY… | none" });

  override async run(): Promise<number> {
    const [{ ownFolder }, { readWatchFile }, { projectsIn, withOperators }, { pinnedOperators }] = await Promise.all([
      import("./watched-host.ts"),
      import("../../lib/options/watch-file.ts"),
      import("../../lib/options/watch-operators.ts"),
      import("../deploying/pinned-operators.ts"),
    ]);
    const next = this.#next();
    const file = await realpath(this.options.watchConfig).catch(() => resolve(this.options.watchConfig));
    const read = await readWatchFile(file);
    const projects = projectsIn(read);
    if (projects.length === 0)
      throw usageError("usage", `${file} has no project as a target: settings are of projects.`);
    if (next === undefined) {
      const given = projects.map(({ options }) => options["operator"] ?? read.shared["operator"] ?? []);
      const pinned = await Promise.all(given.map((one) => pinnedOperators([one].flat().map(String))));
      const keys = [...new Set(pinned.flat())];
      if (!this.json) for (const key of keys) this.print.line(key);
      if (keys.length === 0) this.note("No operator is pinned: this host takes no settings of a fleet.");
      return this.done({ operators: keys });
    }
    const operators = await pinnedOperators(next);
    await ownFolder(dirname(file));
    const before = await readFile(file, "utf8");
    const after = withOperators(file, before, operators, keyFilesBeside(file));
    if (after !== before) await this.#replace(file, after);
    this.note(
      operators.length === 0
        ? "No operator is pinned any more: this host takes no settings of a fleet, and keeps those that it has."
        : `Pinned: ${operators.join(", ")}`,
    );
    return this.done({ operators, changed: after !== before });
  }

  /** Reads which operators are to be pinned; undefined to show them. @throws UsageError `usage` */
  #next(): string[] | undefined {
    const [action, ...keys] = this.words;
    if (action === undefined) return undefined;
    if (action === "none" && keys.length === 0) return [];
    if (action === "set" && keys.length > 0) return keys;
    throw usageError("usage", "Give `set KEY…`, `none`, or nothing to see who is pinned.");
  }

  async #replace(file: string, text: string): Promise<void> {
    const { writeFileAtomic } = await import("../../lib/support/files.ts");
    await writeFileAtomic(file, text, { mode: (await stat(file)).mode & 0o777 });
  }
}

/** Returns the options of the key and card that are beside a `watch.yaml`; a service has its key from systemd. */
function keyFilesBeside(file: string): KeyFiles {
  const has = (name: string): boolean => existsSync(join(dirname(file), name));
  const card = [`${basename(file, ".yaml")}.card`, "host.card"].find(has);
  return { ...(has("host.key") && { host_key_file: "host.key" }), ...(card !== undefined && { host_card: card }) };
}
