import { Command } from "clipanion";
import { hub as hubOptions, hubFeatures } from "../../lib/options/hub.ts";
import type { Logger } from "../../lib/support/logging.ts";
import { interruptible, withOptions } from "../shell/base.ts";
import { serve } from "../shell/serve.ts";
import { storageOf } from "./storage.ts";

export class HubServe extends withOptions(hubOptions) {
  static override service = "sealift-hub";
  static override paths = [["hub", "serve"], ["hub-serve"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Run a hub: marketplace, encrypted deployments, key service",
    details: `
      Prints one \`ready\` line with its URL on stdout (with \`--json\` a ready event), logs on stderr, and serves until
      SIGTERM or SIGINT, which let the requests in flight end. SIGHUP reads the key-encryption keys again, the TLS
      certificate, and \`log_level\` of the configuration file. The first start creates the data folder with
      \`admin.key\` (0600), the administrator's API key. Unless the key-encryption keys come from a command, a
      credential or a file of your own, it also creates \`kek.json\` (0600). Back these keys up: without them no stored
      artifact can be decrypted.
    `,
    examples: [
      ["Try it", "$0 hub serve --listen 127.0.0.1:0"],
      ["Behind a proxy", "$0 hub serve --data-dir /var/lib/sealift-hub --public-url https://hub.example.org"],
      ["With TLS", "$0 hub serve --listen 0.0.0.0:443 --tls-cert chain.pem --tls-key key.pem"],
      ["On PostgreSQL", "$0 hub serve --database-url postgres://hub@db/hub"],
    ],
  });

  override async run(): Promise<number> {
    const { listen, publicUrl, blobUrl, maxArtifactBytes } = this.options;
    const { requestsPerMinute, failuresPerMinute, trustedProxy, keepAuditMs = 0 } = this.options;
    const { tlsCert: certFile, tlsKey: keyFile } = this.options;
    const { databasePoolSize, statementTimeoutMs, metricsListen, names } = this.options;
    const [{ createHub }, { pages }, { createLogger }, { systemdNotifier }] = await Promise.all([
      import("../../lib/hub/hub.ts"),
      this.options.web ? import("../../lib/web/pages.ts") : { pages: undefined },
      import("../../lib/support/logging.ts"),
      import("../../lib/support/systemd/notify.ts"),
    ]);
    const logger = createLogger({ name: "hub", level: this.#level });
    this.warn = (message) => logger.warn(message);
    using interruption = interruptible();
    using notifier = systemdNotifier({ warn: (message) => logger.warn(message) });
    notifier.status("Opening the storage");
    const hub = await createHub({
      ...(await storageOf(this.options)),
      listen,
      ...(publicUrl !== undefined && { publicUrl }),
      ...(certFile !== undefined && keyFile !== undefined && { tls: { certFile, keyFile } }),
      ...(blobUrl !== undefined && { blobUrl }),
      maxArtifactBytes,
      names,
      rateLimits: { requestsPerMinute, failuresPerMinute },
      ...(trustedProxy.length > 0 && { trustedProxies: [...trustedProxy] }),
      databasePoolSize,
      statementTimeoutMs,
      ...(metricsListen !== undefined && { metricsListen }),
      web: pages,
      ...hubFeatures(this.options),
      reportLimits: this.options,
      ...(keepAuditMs > 0 && { keepAuditMs }),
      logger,
    });
    await serve(hub, {
      signal: interruption.signal,
      notifier,
      announce: (url) => {
        if (this.json)
          this.print.event({
            event: "ready",
            url,
            ...(publicUrl !== undefined && { public_url: publicUrl }),
            ...(hub.metricsUrl !== undefined && { metrics_url: hub.metricsUrl }),
          });
        else this.print.line(`ready ${url}`);
        if (hub.metricsUrl !== undefined) logger.info({ url: hub.metricsUrl }, "serving metrics");
      },
      reload: async () => {
        await this.#reloadLevel(logger);
        await hub.reload();
      },
    });
    return this.done({});
  }

  get #level(): string {
    return this.options.logLevel ?? (this.json ? "silent" : "info");
  }

  /** Applies the log level of the configuration; an invalid file changes nothing. */
  async #reloadLevel(logger: Logger): Promise<void> {
    try {
      await this.resolve();
      logger.level = this.#level;
    } catch (error) {
      logger.error({ err: error }, "the configuration file could not be read again");
    }
  }
}
