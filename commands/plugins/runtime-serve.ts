import { Command } from "clipanion";
import { runtime as runtimeOptions } from "../../lib/options/runtime.ts";
import type { RuntimeOptions } from "../../lib/runtime/runtime.ts";
import { interruptible, withOptions } from "../shell/base.ts";
import { serve } from "../shell/serve.ts";

export class RuntimeServe extends withOptions(runtimeOptions) {
  static override service = "sealift-runtime";
  static override paths = [["runtime", "serve"], ["runtime-serve"]];
  static override usage = Command.Usage({
    category: "Runtime",
    description: "Run plugins: their actions, their routes, and the routes that manage them",
    details: `
      Prints one \`ready\` line with its URL on stdout (with \`--json\` a ready event) once every plugin is loaded or
      has failed, logs JSON on stderr, and serves until SIGTERM or SIGINT, which let the calls in flight end and leave
      no process behind. SIGHUP loads what is new in the plugins folder and reloads what is loaded.
    `,
    examples: [
      ["Beside integration.yaml", "$0 runtime serve"],
      ["Anywhere", "$0 runtime serve --config /srv/app/integration.yaml --listen 127.0.0.1:0"],
    ],
  });

  override async run(): Promise<number> {
    const { integration, listen, pluginsDir, logLevel } = this.options;
    const level = logLevel ?? (this.json ? "silent" : undefined);
    const [{ createRuntime }, { createLogger }, { systemdNotifier }, { resolve }] = await Promise.all([
      import("../../lib/runtime/runtime.ts"),
      import("../../lib/support/logging.ts"),
      import("../../lib/support/systemd/notify.ts"),
      import("node:path"),
    ]);
    const options: RuntimeOptions = {
      configFile: integration,
      guardProcess: true,
      ...(listen !== undefined && { listen }),
      ...(pluginsDir !== undefined && { pluginsDir: resolve(pluginsDir) }),
      ...(level !== undefined && { logger: createLogger({ name: "runtime", level }) }),
    };
    this.warn = (message) => (options.logger ?? createLogger({ name: "runtime" })).warn(message);
    // Node would open its debugger on this signal, for anyone of the same user; a listener prevents that.
    process.on("SIGUSR1", () => undefined);
    using interruption = interruptible();
    using notifier = systemdNotifier({ warn: this.warn });
    notifier.status("Loading the plugins");
    const runtime = await createRuntime(options);
    await serve(runtime, {
      signal: interruption.signal,
      notifier,
      announce: (url) => {
        if (this.json) this.print.event({ event: "ready", url });
        else this.print.line(`ready ${url}`);
      },
      reload: () => runtime.refresh(),
    });
    return this.done({});
  }
}
