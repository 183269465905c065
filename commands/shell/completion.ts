import { Command, Option } from "clipanion";
import { usageError } from "../../lib/contract/errors.ts";
import { withOptions } from "./base.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;

export class Completion extends withOptions({}) {
  static override paths = [["completion"]];
  static override usage = Command.Usage({
    category: "Operating",
    description: "Print the completion of a shell, for all programs",
    details: `
      Commands, options and the words that options take are completed after Tab, and so are targets, contexts, hosts,
      versions and plugins that this host or your hub knows, as far as they are found within 0.2 seconds; everything
      else is a file. Load it where your shell starts, or keep it as a file where your shell looks for such ones.
    `,
    examples: [
      ["In ~/.bashrc", "source <($0 completion bash)"],
      ["In ~/.zshrc, after compinit", "source <($0 completion zsh)"],
      ["In ~/.config/fish/config.fish", "$0 completion fish | source"],
    ],
  });

  shell = Option.String({ name: "SHELL", required: true });

  override async run(): Promise<number> {
    const shell = SHELLS.find((name) => name === this.shell);
    if (shell === undefined)
      throw usageError("usage", `SHELL is ${SHELLS.join(", ")}, not ${JSON.stringify(this.shell)}.`);
    const [{ allCommandFacts }, { placesOf }, { completionScript }] = await Promise.all([
      import("./facts.ts"),
      import("./completion/tree.ts"),
      import("./completion/scripts.ts"),
    ]);
    const script = completionScript[shell](placesOf(allCommandFacts(this.commands)));
    if (!this.json) this.context.stdout.write(script);
    return this.done({ shell, ...(this.json && { script }) });
  }
}
