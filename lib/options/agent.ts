import { hostname } from "node:os";
import { DEPLOYMENT_DEFAULTS, DURABILITY_CHOICES, LEAST_BYTES_PER_SECOND } from "../contract/deployment-defaults.ts";
import { labelOf } from "../contract/labels.ts";
import { connection, hubIfKnown, mirrors, network } from "./connection.ts";
import * as forms from "./forms.ts";
import { choice, duration, flag, list, path, rate, text, url, whole } from "./kinds.ts";
import { limits } from "./limits.ts";
import { group, guarded, optional, requiredWhen } from "./option.ts";
import { secret, token } from "./secrets.ts";

/** Parses a label. @throws Error whose message continues "--label …" */
function labelFrom(text: string): [name: string, value: string] {
  const label = labelOf(text);
  if (label !== undefined) return label;
  throw new Error(`is a name and a value such as env=prod, not ${JSON.stringify(text)}`);
}

/** Least bound of a download's rate, in bytes a second: below it a hub could take the host for gone. */
const LEAST_MAX_RATE = 1024;

const root = group("Deployment", {
  projectRoot: path({ help: "Folder to deploy into", default: "." }),
});

const foreign = group("Deployment", {
  allowForeignRoot: flag({ help: "As root, write in another user's folder" }),
});

const deployment = group("Deployment", {
  ...root,
  hostId: text({
    metavar: "NAME",
    help: "This host's name in reports",
    default: hostname().normalize("NFC"),
    defaultText: "its hostname",
    form: forms.hostId,
  }),
  labels: list(
    { name: "label", metavar: "NAME=VALUE", help: "Label of this host, for rollouts; may be repeated", commas: true },
    labelFrom,
  ),
  keepReleases: whole({
    help: "Releases to keep, the running one included",
    default: DEPLOYMENT_DEFAULTS.keepReleases,
    min: 1,
  }),
  keepReports: whole({
    help: "Reports to keep as files; older ones are archived",
    default: DEPLOYMENT_DEFAULTS.keepReports,
    min: 1,
  }),
  logInReports: flag({ help: "Keep the log of a failed application out of reports", default: true }),
  allowDowngrade: flag({ help: "Follow `latest` to a lower version" }),
  policy: guarded(path({ metavar: "FILE", help: "policy.yaml: what a version must meet on this host" })),
  acceptRights: flag({ help: "Accept an upgrade that asks for more rights" }),
  lockWaitMs: duration({
    name: "lock-wait",
    help: "How long to wait for another deployment in this folder",
    default: DEPLOYMENT_DEFAULTS.lockWaitMs,
  }),
  deadlineMs: duration({
    name: "deadline",
    help: "How long a whole deployment may take",
    default: DEPLOYMENT_DEFAULTS.deadlineMs,
  }),
  maxRate: optional(
    rate({ name: "max-rate", help: "Most bytes a second of downloads", defaultText: "no limit", min: LEAST_MAX_RATE }),
  ),
  leastRate: rate({
    name: "least-rate",
    help: "Bytes a second below which a download is given up",
    default: LEAST_BYTES_PER_SECOND,
  }),
  mirror: mirrors,
  ...foreign,
  durability: choice(DURABILITY_CHOICES, {
    help: "What is on the disk before a switch counts",
    default: DEPLOYMENT_DEFAULTS.durability,
  }),
  provisionersConfig: guarded(path({ help: "provisioners.yaml: what `provision` steps run" })),
  notifiersConfig: guarded(path({ help: "notifiers.yaml: what `notify` steps run" })),
  templateEnv: list(
    {
      metavar: "NAME",
      help: "Variables that templates may take; may be repeated",
      defaultText: "those that the plugin declares",
    },
    String,
  ),
  pluginSecretKey: secret({ metavar: "KEY", help: "Sign trusted plugins with this key (plugin.sig)" }),
});

/** Time for which a unit must run on to count as healthy, in milliseconds. */
export const STAYS_UP_MS = 5_000;

/** Parses `[PLUGIN=]URL`. @throws Error whose message continues "--health-url …" */
function healthUrlFrom(text: string): readonly [plugin: string | null, url: URL] {
  const [, plugin, address = ""] = /^(?:([a-z0-9][a-z0-9_.-]*)=)?(.*)$/s.exec(text) ?? [];
  const url = URL.parse(address);
  if (
    url?.protocol === "http:" &&
    /^(?:127\.0\.0\.1|\[::1\])$/.test(url.hostname) &&
    url.username + url.password === ""
  )
    return [plugin ?? null, url];
  throw new Error(`is a URL of this host such as tides=http://127.0.0.1:3000/healthz, not ${JSON.stringify(text)}`);
}

/** Supervisor of the plugins. */
export const supervision = group("Supervisor", {
  supervisor: choice(["none", "runtime", "systemd", "docker"], {
    help: "What runs the plugins",
    default: "none",
  }),
  supervisorName: text({
    metavar: "TEMPLATE",
    help: "Name of units or containers; <id> is the plugin",
    defaultText: "sealift-plugin-<id>",
  }),
  systemdScope: choice(["system", "user"], { help: "Which systemd runs the units", default: "system" }),
  staysUpMs: duration({
    name: "stays-up",
    help: "How long a unit of systemd or docker must run on",
    default: STAYS_UP_MS,
  }),
  healthUrl: list(
    { metavar: "[PLUGIN=]URL", help: "URL that answers when a unit works; may be repeated", commas: true },
    healthUrlFrom,
  ),
  runtimeUrl: guarded(url({ help: "Root of the runtime", default: "http://127.0.0.1:8000" })),
  pluginKey: requiredWhen(
    token({ metavar: "KEY", help: "The runtime's plugin key" }),
    ({ supervisor }) => supervisor === "runtime",
  ),
});

/** Options of every deployment, whatever is deployed. */
export const agent = { ...connection, ...deployment, ...supervision, ...limits };

/** Options of commands that show what is deployed on this host. */
export const host = root;

/** Options of commands that change what is kept on this host. */
export const hostChange = { ...root, ...foreign };

/** Options of `doctor`. */
export const examination = {
  ...network,
  ...root,
  ...supervision,
  ...connection,
  hubUrl: hubIfKnown,
  apiKey: requiredWhen(connection.apiKey, ({ hubUrl }) => hubUrl !== undefined),
  ...group("Deployment", {
    projectId: text({ metavar: "PROJECT", help: "Whether the key may deploy this project" }),
    verify: flag({ help: "Read every byte of what runs, and compare" }),
    hostId: agent.hostId,
  }),
};
