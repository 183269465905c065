import { existsSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { Command, Option } from "clipanion";
import { usageError } from "../../lib/contract/errors.ts";
import type { SourceHost } from "../../lib/hub/publications/import/sources.ts";
import type { Logger } from "../../lib/support/logging.ts";
import type { Settings } from "../../lib/support/settings.ts";
import { interruptible, SealiftCommand } from "../shell/base.ts";
import { parseListen } from "../shell/listen-option.ts";
import { serve } from "../shell/serve.ts";

const DEFAULT_DATA_DIR = "./sealift-hub";

/** Where the KEK file is: the option, else a systemd credential named `kek`, else the data dir's own (undefined). */
export function kekFileOf(settings: Settings): string | undefined {
  const given = settings.text("kek-file");
  const credentials = process.env.CREDENTIALS_DIRECTORY;
  if (given !== undefined || !credentials) return given;
  const credential = join(credentials, "kek");
  return existsSync(credential) ? credential : undefined;
}

/** The options that say where a hub's storage is; `hub rotate-kek` takes the same ones. */
export function storageOf(settings: Settings): { dataDir: string; databaseUrl?: string; kekFile?: string } {
  const databaseUrl = settings.text("database-url");
  const kekFile = kekFileOf(settings);
  return {
    dataDir: settings.text("data-dir") ?? DEFAULT_DATA_DIR,
    ...(databaseUrl !== undefined && { databaseUrl }),
    ...(kekFile !== undefined && { kekFile }),
  };
}

function publicUrlOf(settings: Settings): string | undefined {
  const text = settings.text("public-url");
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol) && url.search === "" && url.hash === "") return text;
  throw usageError("usage", `--public-url is an http or https URL, not ${JSON.stringify(text)}.`);
}

/** @throws UsageError `usage` when it is not SHAPE=URL with https */
export function parseSourceHost(text: string): SourceHost {
  const [shape, ...rest] = text.split("=");
  const url = URL.parse(rest.join("="));
  if ((shape === "github" || shape === "gitlab" || shape === "gitea") && url?.protocol === "https:") {
    return { shape, origin: url.origin };
  }
  throw usageError(
    "usage",
    `--import-host is github=, gitlab= or gitea= and an https URL, not ${JSON.stringify(text)}.`,
  );
}

const LEVELS = ["trace", "debug", "info", "warn", "error", "silent"] as const;

export class HubServe extends SealiftCommand {
  static override paths = [["hub-serve"], ["hub", "serve"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Run a hub: marketplace, encrypted deployments, key service",
    details: `
      Prints one \`ready\` line with its URL on stdout (with \`--json\` a ready event), logs on stderr, and serves until SIGTERM or
      SIGINT, which let the requests in flight end. SIGHUP reads the KEK file again, and \`log_level\` of the configuration file. The first
      start creates the data folder with \`admin.key\` (0600), the administrator's API key, and \`kek.json\` (0600), which must be backed
      up: without it no stored artifact can be decrypted.
    `,
    examples: [
      ["Try it", "$0 hub-serve --listen 127.0.0.1:0"],
      ["Behind a proxy", "$0 hub-serve --data-dir /var/lib/sealift-hub --public-url https://hub.example.org"],
      ["On PostgreSQL", "$0 hub-serve --database-url postgres://hub@db/hub"],
    ],
  });

  dataDir = Option.String("--data-dir", {
    description: `Folder for everything that the hub keeps (${DEFAULT_DATA_DIR})`,
  });
  listen = Option.String("--listen", { description: "HOST:PORT; port 0 takes any free one (127.0.0.1:8787)" });
  publicUrl = Option.String("--public-url", {
    description: "How clients reach the hub; download URLs start with it (default: the listening address)",
  });
  databaseUrl = Option.String("--database-url", {
    description: "postgres://… or sqlite:PATH (default: hub.sqlite in the data folder)",
  });
  blobUrl = Option.String("--blob-url", {
    description:
      "Where artifacts are: a folder (default: blobs in the data folder), or s3://bucket/prefix?endpoint=…&region=… with the SDK's credentials",
  });
  kekFile = Option.String("--kek-file", {
    description:
      "File with the key-encryption keys (default: systemd credential kek, else kek.json in the data folder)",
  });
  maxArtifactSize = Option.String("--max-artifact-size", { description: "Largest upload, such as 500M or 4G (64G)" });
  rateLimit = Option.String("--rate-limit", {
    description: "Requests per minute of one key or address; 0 for no limit",
  });
  importHost = Option.Array("--import-host", {
    description:
      "SHAPE=URL, such as gitea=https://git.example.org: where archives may be imported from, instead of the usual hosts",
  });
  reportRetention = Option.String("--report-retention", {
    description: "How long deployment reports are kept, such as 90d (for ever); a host's newest one is never removed",
  });
  logLevel = Option.String("--log-level", {
    description: "trace, debug, info, warn, error or silent (info; with --json silent)",
  });

  override async run(settings: Settings): Promise<number> {
    // A young generation that stays small is collected often, and with it the buffers of uploads and downloads: they would otherwise
    // pile up to a hundred megabytes before anyone looks.
    setFlagsFromString("--semi-space-growth-factor=1");
    const listen = settings.text("listen") ?? "127.0.0.1:8787";
    const publicUrl = publicUrlOf(settings);
    const blobUrl = settings.text("blob-url");
    const sourceHosts = settings.list("import-host").map(parseSourceHost);
    const reportRetention = settings.duration("report-retention", 0);
    const [{ createHub }, { DEFAULTS }, { createLogger }, { systemdNotifier }] = await Promise.all([
      import("../../lib/hub/hub.ts"),
      import("../../lib/hub/options.ts"),
      import("../../lib/support/logging.ts"),
      import("../../lib/support/systemd/notify.ts"),
    ]);
    const logger = createLogger({ name: "hub", level: this.#levelOf(settings) });
    const requests = settings.integer("rate-limit", DEFAULTS.rateLimits.requestsPerMinute);
    using interruption = interruptible();
    using notifier = systemdNotifier({ warn: (message) => logger.warn(message) });
    notifier.status("Opening the storage");
    const hub = await createHub({
      ...storageOf(settings),
      listen: parseListen(listen),
      ...(publicUrl !== undefined && { publicUrl }),
      ...(blobUrl !== undefined && { blobUrl }),
      maxArtifactBytes: settings.size("max-artifact-size", DEFAULTS.maxArtifactBytes),
      rateLimits: requests === 0 ? false : { requestsPerMinute: requests },
      ...(sourceHosts.length > 0 && { sourceHosts }),
      ...(reportRetention > 0 && { keepReportsMs: reportRetention }),
      logger,
    });
    await serve(hub, {
      signal: interruption.signal,
      notifier,
      announce: (url) => {
        if (this.json)
          this.output.event({ event: "ready", url, ...(publicUrl !== undefined && { public_url: publicUrl }) });
        else this.output.line(`ready ${url}`);
      },
      reload: async () => {
        await this.#reloadLevel(logger);
        await hub.reload();
      },
    });
    return this.done({});
  }

  #levelOf(settings: Settings): string {
    return settings.choice("log-level", LEVELS, this.json ? "silent" : "info");
  }

  /** A configuration file that is not valid changes nothing. */
  async #reloadLevel(logger: Logger): Promise<void> {
    try {
      logger.level = this.#levelOf(await this.loadSettings());
    } catch (error) {
      logger.error({ err: error }, "the configuration file could not be read again");
    }
  }
}
