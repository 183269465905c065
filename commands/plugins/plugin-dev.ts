import { Command, Option } from "clipanion";
import { development } from "../../lib/options/runtime.ts";
import type { DevEvent, DevSession } from "../../lib/runtime/authoring/dev.ts";
import { interruptible, withOptions } from "../shell/base.ts";
import { aborted } from "../shell/serve.ts";
import { trialNotes } from "./plugin-pack.ts";

export class PluginDev extends withOptions(development) {
  static override paths = [["plugin", "dev"]];
  static override usage = Command.Usage({
    category: "Plugins",
    description: "Run a plugin while you write it, and reload it on save",
    details: `
      Runs the plugin from its folder in a runtime of its own, reloads it whenever a file is saved, and shows each call
      as it happens. A line on standard input makes a call: \`greet {"name":"Ada"}\`; \`help\` lists the actions.
      With \`--inspect\` a debugger can attach, also to a sandboxed plugin; its time-outs are off then.
    `,
    examples: [
      ["The plugin in this folder", "$0 plugin dev"],
      [
        "With a debugger, and the project's databases",
        "$0 plugin dev ./greeter --inspect 127.0.0.1:9229 --integration integration.yaml",
      ],
    ],
  });

  folder = Option.String({ required: false, name: "FOLDER" });

  override async run(): Promise<number> {
    const { listen, inspect, integration, logLevel } = this.options;
    const [{ developPlugin }, { createLogger }] = await Promise.all([
      import("../../lib/runtime/authoring/dev.ts"),
      import("../../lib/support/logging.ts"),
    ]);
    using interrupt = interruptible();
    await using session = await developPlugin({
      folder: this.folder ?? ".",
      listen,
      logger: createLogger({ name: "plugin-dev", level: this.json ? "silent" : logLevel }),
      onEvent: (event) => this.#show(event),
      ...(inspect !== undefined && { inspect }),
      ...(integration !== undefined && { configFile: integration }),
    });
    const { createInterface } = await import("node:readline");
    const prompt = createInterface({ input: this.context.stdin });
    prompt.on("line", (line) => void this.#call(session, line.trim()));
    await aborted(interrupt.signal);
    prompt.close();
    return this.done({});
  }

  async #call(session: DevSession, line: string): Promise<void> {
    if (line === "") return;
    if (line === "?" || (line === "help" && !this.#actions.includes("help"))) return this.#help();
    const [, action = "", text = ""] = /^(\S+)\s*(.*)$/s.exec(line) ?? [];
    let payload: unknown;
    try {
      payload = text === "" ? {} : JSON.parse(text);
    } catch (error) {
      return this.note(`The payload is not JSON: ${(error as Error).message}`);
    }
    try {
      const { body } = await session.call(action, payload);
      if (this.json) this.print.event({ event: "answer", action, answer: body });
      else this.print.text(JSON.stringify((body as { result?: unknown }).result ?? body, null, 2));
    } catch (error) {
      this.note(`The call failed: ${(error as Error).message}`);
    }
  }

  #actions: readonly string[] = [];

  /** Explains what a line on standard input may be. */
  #help(): void {
    this.note(
      `  ACTION {"a": "payload"}   make a call\n  actions                  ${this.#actions.join(", ") || "none"}`,
    );
    this.note("  Ctrl-C                   end");
  }

  #show(event: DevEvent): void {
    if (event.event === "ready" || event.event === "reloaded") this.#actions = event.actions;
    if (this.json) {
      if (event.event !== "call") return this.print.event(event);
      const { fault, ...call } = event.call;
      return this.print.event({ event: "call", ...call, code: fault?.code ?? "ok" });
    }
    switch (event.event) {
      case "ready":
        this.print.line(`ready ${event.url}`);
        this.note(`  key      ${event.key}\n  actions  ${event.actions.join(", ") || "none"}`);
        return this.note(`  call     ACTION {"a": "payload"}\n  help     lists the actions`);
      case "reloaded":
        return this.note(`reloaded in ${Math.round(event.durationMs)} ms: ${event.actions.join(", ")}`);
      case "not_packed":
        for (const line of trialNotes({ leftOut: [event] })) this.note(`archive: ${line}`);
        return;
      case "failed":
        return this.note(`failed: ${event.message}`);
      case "call": {
        const { action, durationMs, fault } = event.call;
        const outcome = fault === undefined ? "ok" : `${fault.code}: ${fault.message}`;
        return this.note(`${action} ${outcome} (${Math.round(durationMs * 10) / 10} ms)`);
      }
    }
  }
}
