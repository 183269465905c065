import { Command } from "clipanion";
import { mirror as mirrorOptions } from "../../lib/options/mirror.ts";
import { interruptible, withOptions } from "../shell/base.ts";
import { serve } from "../shell/serve.ts";

export class MirrorServe extends withOptions(mirrorOptions) {
  static override service = "sealift-mirror";
  static override paths = [["mirror", "serve"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Run a cache of a hub's artifacts for the agents of one site",
    details: `
      Agents that are given \`--mirror URL\` fetch artifacts, deltas and archives of the marketplace through it, so that
      a thin line carries each of them once, and publishers the indexes that they make deltas from. It has no key, and
      asks the hub for each request whether the caller's download URL holds. Prints one \`ready\` line with its URL on
      stdout, logs on stderr, and serves until SIGTERM or SIGINT.
    `,
    examples: [
      [
        "For a site",
        "$0 mirror serve --hub-url https://hub.example.org --listen 0.0.0.0:8788 --cache-dir /var/cache/sealift --quota 50G",
      ],
    ],
  });

  override async run(): Promise<number> {
    const { leastRate: bytesPerSecond, logLevel, ...options } = this.options;
    const [{ createMirror }, { createLogger }, { systemdNotifier }, { LEAST_RATE }] = await Promise.all([
      import("../../lib/mirror/mirror.ts"),
      import("../../lib/support/logging.ts"),
      import("../../lib/support/systemd/notify.ts"),
      import("../../lib/client/least-rate.ts"),
    ]);
    const logger = createLogger({ name: "mirror", level: logLevel ?? (this.json ? "silent" : "info") });
    this.warn = (message) => logger.warn(message);
    using interruption = interruptible();
    using notifier = systemdNotifier({ warn: (message) => logger.warn(message) });
    const leastRate = { ...LEAST_RATE, bytesPerSecond };
    const mirror = await createMirror({ ...options, leastRate, logger });
    const { metricsUrl } = mirror;
    await serve(mirror, {
      signal: interruption.signal,
      notifier,
      announce: (url) => {
        if (metricsUrl !== undefined) logger.info({ url: metricsUrl }, "serving metrics");
        if (this.json)
          this.print.event({ event: "ready", url, ...(metricsUrl !== undefined && { metrics_url: metricsUrl }) });
        else this.print.line(`ready ${url}`);
      },
      reload: async () => {},
    });
    return this.done({});
  }
}
