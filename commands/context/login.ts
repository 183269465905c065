import { Command, Option } from "clipanion";
import { usageError } from "../../lib/contract/errors.ts";
import { login } from "../../lib/options/login.ts";
import { withOptions } from "../shell/base.ts";
import { DEPLOY_TIMEOUT_MS } from "../shell/connection.ts";
import { hubUrlOf } from "./hub-url.ts";

export class Login extends withOptions(login) {
  static override paths = [["login"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Remember a hub and your API key for it",
    details: `
      Asks the hub whether it knows the key, keeps both in a file that only you can read (0600, in
      \`~/.config/sealift\`), and makes this context the one that commands use. A key is sent to the hub that it was
      stored for and to no other one. Without \`--api-key-file\` the key is asked for on the terminal.
    `,
    examples: [
      ["Log in", "$0 login https://hub.example.org"],
      ["From a script", "$0 login https://hub.example.org --api-key-file admin.key --name production"],
    ],
  });

  url = Option.String({ name: "URL", required: true });

  protected override get hubArgument(): string {
    return this.url;
  }

  override async run(): Promise<number> {
    const hubUrl = hubUrlOf(this.url, "URL");
    const [{ contextsFile, readContexts, writeContexts }, { searchTargets }, { prepareNetwork }] = await Promise.all([
      import("../../lib/options/contexts.ts"),
      import("../../lib/client/marketplace-client.ts"),
      import("../shell/network.ts"),
    ]);
    const stored = readContexts();
    await prepareNetwork({ caFile: this.options.caFile, usesTls: hubUrl.startsWith("https:") });
    const apiKey = this.options.apiKey ?? (await this.#askForKey(hubUrl));
    // Any answer but a refusal will do.
    const timeoutMs = this.options.timeoutMs ?? DEPLOY_TIMEOUT_MS;
    await searchTargets("plugin", "", { hubUrl, apiKey, timeoutMs }).next();
    const name = this.options.name ?? new URL(hubUrl).host;
    const contexts = { ...stored.contexts, [name]: { hub_url: hubUrl, api_key: apiKey } };
    await writeContexts({ v: 1, current: name, contexts });
    this.note(`Logged in to ${hubUrl} as the context ${name}, kept in ${contextsFile()}.`);
    return this.done({ context: name, hub_url: hubUrl });
  }

  async #askForKey(hubUrl: string): Promise<string> {
    const { stdin, stderr } = this.context as unknown as { stdin: NodeJS.ReadStream; stderr: NodeJS.WriteStream };
    if (!stdin.isTTY)
      throw usageError("usage", "--api-key is missing.", {
        hint: "Give it as --api-key-file PATH (- is standard input), or as SEALIFT_API_KEY.",
      });
    const { askSilently } = await import("../shell/silent-prompt.ts");
    const key = await askSilently({ stdin, stderr }, `API key for ${hubUrl}: `);
    if (key === "") throw usageError("usage", "No key was typed.");
    return key;
  }
}
