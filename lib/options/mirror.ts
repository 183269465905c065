import { LEAST_BYTES_PER_SECOND } from "../contract/deployment-defaults.ts";
import { parseListen } from "./addresses.ts";
import { LOG_LEVELS } from "./common.ts";
import { connection } from "./connection.ts";
import { choice, duration, parsed, path, rate, size } from "./kinds.ts";
import { group } from "./option.ts";

/** Options of a mirror, which needs no key. */
export const mirror = {
  ...group("Mirror", {
    listen: parsed(
      { metavar: "HOST:PORT", help: "Address; port 0 takes any free one", default: "127.0.0.1:8788" },
      parseListen,
    ),
    cacheDir: path({ help: "Folder for what is cached", default: "./sealift-mirror" }),
    rootsDir: path({
      name: "roots",
      help: "Folder with ID/N.root.json of trust roots to serve, too",
      defaultText: "none",
    }),
    quotaBytes: size({ name: "quota", help: "Most bytes to keep", default: 50 * 1024 ** 3 }),
    leastRate: rate({
      name: "least-rate",
      help: "Bytes a second below which a download is given up",
      default: LEAST_BYTES_PER_SECOND,
    }),
    metricsListen: parsed(
      { metavar: "HOST:PORT", help: "Listener for Prometheus; all who reach it read /metrics", defaultText: "none" },
      parseListen,
    ),
    logLevel: choice(LOG_LEVELS, { help: "Least level that is logged", defaultText: "info; with --json silent" }),
  }),
  hubUrl: connection.hubUrl,
  ...group("Hub", {
    timeoutMs: duration({ name: "timeout", help: "Longest silence of the hub", default: 30_000, minMs: 1 }),
  }),
};
