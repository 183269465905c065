import { NAME_RULES } from "../contract/look-alikes.ts";
import { networkOf, parseListen } from "./addresses.ts";
import { LOG_LEVELS } from "./common.ts";
import { importing, importingOf } from "./import.ts";
import { choice, duration, flag, list, parsed, path, size, text, whole } from "./kinds.ts";
import { group, guarded, required, requiredWhen, type Values } from "./option.ts";
import { publisherServing, publisherServingOf } from "./publishers.ts";
import { secret } from "./secrets.ts";
import { signOn, signOnOf } from "./sign-on.ts";
import { stagingServing, stagingServingOf } from "./staging.ts";
import { webhookServing, webhookServingOf } from "./webhooks.ts";

/** Options of the hub as a service. */

function publicUrlOf(text: string): string {
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol) && url.search === "" && url.hash === "") return text;
  throw new Error(`is an http or https URL, not ${JSON.stringify(text)}`);
}

/** Storage of a hub. */
export const hubStorage = group("Storage", {
  dataDir: path({ help: "Folder for everything that the hub keeps", default: "./sealift-hub" }),
  databaseUrl: guarded(
    secret({ metavar: "URL", help: "postgres://… or sqlite:PATH", defaultText: "hub.sqlite in the data folder" }),
  ),
  kekFile: guarded(
    path({
      help: "File with the key-encryption keys",
      defaultText: "systemd credential kek, else kek.json in the data folder",
    }),
  ),
  kekCommand: guarded(text({ metavar: "COMMAND", help: "Shell command that prints the key-encryption keys" })),
});

/** Storage of a hub's artifacts. */
const blobStorage = group("Storage", {
  blobUrl: guarded(
    text({
      metavar: "URL",
      help: "A folder, or s3://bucket/prefix?endpoint=…&region=…",
      defaultText: "blobs in the data folder",
    }),
  ),
});

const { dataDir, databaseUrl } = hubStorage;

const skipDamaged = flag({ help: "Leave out what is damaged, list it, and go on" });

/** Key that a backup must be signed with. */
const backupTrust = {
  publicKey: requiredWhen(
    guarded(path({ metavar: "KEY", help: "The key that signed the backup: a file, hex or base64", orText: true })),
    ({ unsigned, backup }) => backup !== undefined && unsigned !== true,
    "Give the signer.pub of the backup's key, or --unsigned if nobody but you could write to the backup.",
  ),
  unsigned: guarded(flag({ help: "Take the backup without a check of its signature" })),
};

/** Options of `hub backup`. */
export const hubBackup = {
  ...group("Backup", {
    to: required(path({ help: "Folder that takes the backup" })),
    key: requiredWhen(
      guarded(path({ metavar: "FILE", help: "Private key that signs the backup (`signer create`)" })),
      ({ unsigned }) => unsigned !== true,
      "Make a key pair with `sealift signer create --out keys`, or give --unsigned.",
    ),
    unsigned: flag({ help: "Make a backup without a signature" }),
    skipDamaged,
  }),
  ...{ dataDir, databaseUrl, ...blobStorage },
};

/** Options of `hub restore`. */
export const hubRestore = {
  ...group("Backup", {
    backup: required(path({ help: "Folder of the backup" })),
    ...backupTrust,
    skipDamaged,
  }),
  ...{ dataDir, databaseUrl, ...blobStorage },
};

/** Options of `hub move`. */
export const hubMove = {
  ...group("Target", {
    toDataDir: required(path({ help: "Data folder of the hub's new place" })),
    toDatabaseUrl: guarded(
      text({ metavar: "URL", help: "New database", defaultText: "hub.sqlite in the new data folder" }),
    ),
    toBlobUrl: guarded(
      text({ metavar: "URL", help: "New place of artifacts", defaultText: "blobs in the new data folder" }),
    ),
    skipDamaged,
  }),
  ...{ dataDir, databaseUrl, ...blobStorage },
};

/** Options of `hub verify`. */
export const hubVerify = {
  ...group("Check", {
    quick: flag({ help: "Compare sizes only, without reading the artifacts" }),
    backup: path({ help: "Check the backup in this folder instead of a hub" }),
    ...backupTrust,
  }),
  ...{ dataDir, databaseUrl, ...blobStorage },
};

/** Deployment reports that a hub keeps. */
export const reportLimits = {
  reportsPerHost: whole({ help: "Reports kept of each host, and as many of failures", default: 200, min: 1 }),
  keepReportsMs: duration({
    name: "report-retention",
    help: "How long reports are kept; a host's newest one always",
    default: 180 * 24 * 3_600_000,
  }),
  keepFailuresMs: duration({
    name: "failure-retention",
    help: "How long reports of failures are kept",
    default: 365 * 24 * 3_600_000,
  }),
};

/** Options of `hub retain`. */
export const hubRetain = {
  ...group("Retention", {
    keep: required(whole({ help: "Newest versions to keep of each project", min: 1 })),
    ...reportLimits,
    minAgeMs: duration({
      name: "min-age",
      needsUnit: true,
      help: "Younger versions stay",
      default: 7 * 24 * 3_600_000,
    }),
    project: text({ metavar: "PROJECT", help: "Only this project, plugin or service", defaultText: "all" }),
    dryRun: flag({ help: "Only tell what would go" }),
  }),
  ...{ dataDir, databaseUrl, ...blobStorage },
};

/** Options of `hub rotate-kek`. */
export const hubRotateKek = {
  ...group("Rotation", { dryRun: flag({ help: "Only tell what would change" }) }),
  ...hubStorage,
};

export const hub = {
  ...group("Server", {
    listen: parsed(
      { metavar: "HOST:PORT", help: "Address; port 0 takes any free one", default: "127.0.0.1:8787" },
      parseListen,
    ),
    publicUrl: parsed(
      {
        metavar: "URL",
        help: "How clients reach the hub; download URLs start with it",
        defaultText: "the listening address",
      },
      publicUrlOf,
    ),
    tlsCert: requiredWhen(
      guarded(path({ help: "Serve https with this certificate and its chain (PEM)" })),
      ({ tlsKey }) => tlsKey !== undefined,
    ),
    tlsKey: requiredWhen(
      guarded(path({ help: "The certificate's private key (PEM)" })),
      ({ tlsCert }) => tlsCert !== undefined,
    ),
    maxArtifactBytes: size({ name: "max-artifact-size", help: "Largest upload", default: 2 ** 36 }),
    requestsPerMinute: whole({
      name: "rate-limit",
      help: "Requests per minute of one key or address; 0: no limit",
      default: 60_000,
    }),
    failuresPerMinute: whole({
      name: "failure-limit",
      help: "Rejected keys per minute of one address and key prefix",
      default: 60,
      min: 1,
    }),
    trustedProxy: list(
      { metavar: "ADDRESS", help: "Proxy or network (CIDR) whose X-Forwarded-For is believed" },
      networkOf,
    ),
    ...importing,
    web: flag({ help: "Show the hub in a browser, on /", default: true }),
    ...webhookServing,
    ...publisherServing,
    ...stagingServing,
    names: choice(NAME_RULES, { help: "New slugs like another owner's: told, or refused", default: "warn" }),
    metricsListen: parsed(
      { metavar: "HOST:PORT", help: "Listener for Prometheus; all who reach it read /metrics", defaultText: "none" },
      parseListen,
    ),
    ...reportLimits,
    keepAuditMs: duration({ name: "audit-retention", help: "How long the audit log is kept", defaultText: "for ever" }),
    logLevel: choice(LOG_LEVELS, { help: "Least level that is logged", defaultText: "info; with --json silent" }),
  }),
  ...signOn,
  ...hubStorage,
  ...blobStorage,
  ...group("Storage", {
    databasePoolSize: whole({ help: "Most connections to PostgreSQL", default: 10, min: 2 }),
    statementTimeoutMs: duration({
      name: "statement-timeout",
      help: "PostgreSQL cancels what takes longer",
      default: 10_000,
    }),
  }),
};

/** Returns the options that a hub's features read. */
export const hubFeatures = (values: Values<typeof hub>) => ({
  ...importingOf(values),
  ...webhookServingOf(values),
  ...publisherServingOf(values),
  ...stagingServingOf(values),
  ...signOnOf(values),
});
