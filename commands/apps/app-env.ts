import { Command, Option } from "clipanion";
import { usageError } from "../../lib/contract/errors.ts";
import { appEnv } from "../../lib/options/apps.ts";
import { withOptions } from "../shell/base.ts";

/** Most bytes of a value: the kernel takes 128 KiB for one variable. */
const MAX_VALUE_BYTES = 64 * 1024;

export class AppEnv extends withOptions(appEnv) {
  static override paths = [["app", "env"]];
  static override usage = Command.Usage({
    category: "Applications",
    description: "List, set and unset the settings of an application",
    details: `
      \`list\` shows names and never values; \`set NAME\` reads the value from standard input, or asks for it at a terminal;
      \`unset NAME\` removes it. The file is \`apps/ID.env\` of the project root, mode 0600, and is replaced whole. A value
      that systemd and Node would read differently is refused, and so is one for an application that is neither
      installed nor granted. Names that \`list\` marks with (fleet) come from \`sealift settings apply\`, and are changed
      there. Settings count from the next start:
      \`sealift app restart ID\`.
    `,
    examples: [
      ["What is set, and what is missing", "$0 app env web list"],
      ["From a file", "$0 app env web set DATABASE_URL < url.txt"],
      ["At a terminal, which asks", "$0 app env web set DATABASE_URL"],
    ],
  });

  id = Option.String({ name: "ID" });
  action = Option.String({ name: "list|set|unset" });
  name = Option.String({ name: "NAME", required: false });

  override async run(): Promise<number> {
    const [
      { applicationId, knownApplication },
      { readInstalled },
      { applicationSettings, changeSetting },
      { layoutOf },
      { openProjectRoot },
      { resolve },
    ] = await Promise.all([
      import("./application-id.ts"),
      import("../../lib/releases/applications.ts"),
      import("../../lib/releases/application-settings.ts"),
      import("../../lib/releases/layout.ts"),
      import("../../lib/releases/project-root.ts"),
      import("node:path"),
    ]);
    const change = this.#change();
    const layout = layoutOf(resolve(this.options.projectRoot));
    // Settings of an application that is gone can still be listed and removed.
    const id = change?.verb === "set" ? await knownApplication(layout, this.id) : applicationId(this.id);
    if (change === undefined) {
      const settings = await applicationSettings(layout, id);
      const names = settings.map(({ name }) => name);
      const required = (await readInstalled(layout, id))?.app.environment.required ?? [];
      const missing = required.filter((name) => !names.includes(name));
      if (!this.json)
        for (const { name, origin } of settings) this.print.line(`${name}${origin === "fleet" ? "  (fleet)" : ""}`);
      if (missing.length > 0) this.note(`missing, and required: ${missing.join(", ")}`);
      const origin = Object.fromEntries(settings.map((setting) => [setting.name, setting.origin]));
      return this.done({ id, names, origin, missing });
    }
    const { settingName } = await import("../../lib/releases/settings-text.ts");
    const name = settingName(change.name);
    const value = change.verb === "set" ? await this.#value(name) : undefined;
    await using root = await openProjectRoot(layout, this.options);
    const changed = await changeSetting(root.layout, id, name, value);
    if (!this.json) this.print.line(changed ? `${change.verb} ${name}` : `${name} is not set`);
    if (changed) this.note(`Next: sealift app restart ${id}, from which on it counts.`);
    return this.done({ id, name, changed });
  }

  /** Reads what is to be done; undefined for the list. @throws UsageError `usage` */
  #change(): { verb: "set" | "unset"; name: string } | undefined {
    const { action, name } = this;
    if (action === "list" && name === undefined) return undefined;
    if ((action === "set" || action === "unset") && name !== undefined) return { verb: action, name };
    throw usageError("usage", "Give `list`, `set NAME` or `unset NAME` after the id of the application.", {
      hint: `Such as sealift app env ${this.id} list. A value is read from standard input, never from the command line.`,
    });
  }

  /** Reads a value from standard input, without the line break at its end. @throws UsageError `usage` */
  async #value(name: string): Promise<string> {
    const { stdin, stderr } = this.context as unknown as { stdin: NodeJS.ReadStream; stderr: NodeJS.WriteStream };
    if (stdin.isTTY) {
      const { askSilently } = await import("../shell/silent-prompt.ts");
      return askSilently({ stdin, stderr }, `Value of ${name}: `);
    }
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of stdin as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > MAX_VALUE_BYTES)
        throw usageError("usage", `The value of ${name} has more than ${MAX_VALUE_BYTES / 1024} KiB.`, {
          hint: "Put it into a file, and the path of that file into the settings.",
        });
      chunks.push(chunk);
    }
    return Buffer.concat(chunks)
      .toString("utf8")
      .replace(/\r?\n$/, "");
  }
}
