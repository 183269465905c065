import { Command, Option } from "clipanion";
import type { RuntimeOptions } from "../../lib/runtime/runtime.ts";
import type { Settings } from "../../lib/support/settings.ts";
import { interruptible, SealiftCommand } from "../shell/base.ts";
import { parseListen } from "../shell/listen-option.ts";
import { serve } from "../shell/serve.ts";

export class RuntimeServe extends SealiftCommand {
  static override paths = [["runtime-serve"], ["runtime", "serve"]];
  static override usage = Command.Usage({
    category: "Runtime",
    description: "Run plugins: their actions, their routes, and the routes that manage them",
    details: `
      Prints one \`ready\` line with its URL on stdout (with \`--json\` a ready event) once every plugin is loaded or has failed, logs
      JSON on stderr, and serves until SIGTERM or SIGINT, which let the calls in flight end and leave no process behind. SIGHUP loads
      what is new in the plugins folder and reloads what is loaded.
    `,
    examples: [
      ["Beside integration.yaml", "$0 runtime-serve"],
      ["Anywhere", "$0 runtime-serve --config /srv/app/integration.yaml --listen 127.0.0.1:0"],
    ],
  });

  // Not sealift.yaml, which holds options: the project's own configuration.
  override config = Option.String("--config", { description: "The project's configuration (integration.yaml)" });
  listen = Option.String("--listen", {
    description: "HOST:PORT; port 0 takes any free one (app.server, 127.0.0.1:8000)",
  });
  pluginsDir = Option.String("--plugins-dir", {
    description: "Folder with the plugins (plugins.directory, beside the configuration)",
  });
  logLevel = Option.String("--log-level", {
    description: "trace, debug, info, warn, error or silent (observability.logging.level; with --json silent)",
  });

  override async execute(): Promise<number> {
    const integration = this.config;
    // The base command would read `--config` as a file of options.
    Object.defineProperty(this, "config", { value: undefined, writable: true });
    this.#integration = integration;
    return super.execute();
  }

  #integration: string | undefined;

  override async run(settings: Settings): Promise<number> {
    const at = settings.text("listen");
    const pluginsDir = settings.text("plugins-dir");
    const levels = ["trace", "debug", "info", "warn", "error", "silent"] as const;
    const level =
      settings.text("log-level") === undefined && !this.json
        ? undefined
        : settings.choice("log-level", levels, "silent");
    const [{ createRuntime }, { createLogger }, { systemdNotifier }, { resolve }] = await Promise.all([
      import("../../lib/runtime/runtime.ts"),
      import("../../lib/support/logging.ts"),
      import("../../lib/support/systemd/notify.ts"),
      import("node:path"),
    ]);
    const options: RuntimeOptions = {
      configFile: this.#integration ?? "integration.yaml",
      guardProcess: true,
      ...(at !== undefined && { listen: parseListen(at) }),
      ...(pluginsDir !== undefined && { pluginsDir: resolve(pluginsDir) }),
      ...(level !== undefined && { logger: createLogger({ name: "runtime", level }) }),
    };
    // Node would open its debugger on this signal, for anyone of the same user; a listener takes its place.
    process.on("SIGUSR1", () => undefined);
    using interruption = interruptible();
    using notifier = systemdNotifier({
      warn: (message) => (options.logger ?? createLogger({ name: "runtime" })).warn(message),
    });
    notifier.status("Loading the plugins");
    const runtime = await createRuntime(options);
    await serve(runtime, {
      signal: interruption.signal,
      notifier,
      announce: (url) => {
        if (this.json) this.output.event({ event: "ready", url });
        else this.output.line(`ready ${url}`);
      },
      reload: () => runtime.refresh(),
    });
    return this.done({});
  }
}
