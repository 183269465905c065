import { agent } from "./agent.ts";
import { granting } from "./apps.ts";
import { connection, network } from "./connection.ts";
import { removal } from "./devkeys.ts";
import { duration, flag, list, path, several, text, whole } from "./kinds.ts";
import { systemd } from "./operating.ts";
import { group, guarded, required } from "./option.ts";
import { token } from "./secrets.ts";
import { operatorKey } from "./settings.ts";
import { watchStart } from "./watch.ts";

/** Options of hosts that join, and of the commands that invite and manage them. */

/** Options of `host remove` and `invite revoke`. */
export const hostRemoval = removal;

/** Options of `host invite`. */
export const hostInvite = {
  ...group("Invite", {
    project: required(text({ metavar: "PROJECT", help: "Project that they join: its id or name" })),
    uses: whole({ help: "Hosts that may join", default: 1, min: 1 }),
    expiresMs: duration({
      name: "invite-expires",
      flag: "--expires",
      needsUnit: true,
      help: "How long they may",
      default: 3_600_000,
    }),
    approve: flag({ name: "invite-approve", flag: "--approve", help: "Let each host in by `sealift host approve`" }),
    fleet: flag({ name: "invite-fleet", flag: "--fleet", help: "Let them read versions, rollouts and numbers" }),
    signers: several({
      name: "signer-public-key",
      metavar: "KEY",
      help: "Key that hosts pin; may be repeated",
      defaultText: "the project's signers",
      orText: true,
    }),
    root: path({ metavar: "FILE", help: "Trust root that hosts pin", defaultText: "the one that the project follows" }),
    operatorKey: { ...operatorKey, help: "Private key of the operator whose settings they take" },
    hosts: list({ name: "host", metavar: "HOST", help: "Name that a host may join with; may be repeated" }, String),
    labels: { ...agent.labels, help: "Label of the hosts, for rollouts; may be repeated" },
  }),
  ...connection,
};

/** Options of `join`. */
export const join = {
  ...group("Joining", {
    token: required(token({ metavar: "TOKEN", help: "Token of `sealift host invite`", fileOnly: true })),
    waitMs: duration({ name: "wait", help: "How long to wait for approval", default: 3_600_000 }),
    systemd: text({ metavar: "NAME", help: "Write and start the unit sealift-watch@NAME" }),
    yes: flag({ help: "Join without asking first, for scripts" }),
  }),
  ...group("Application", {
    allow: text({ metavar: "APP", help: "Application that this host runs, by the options below" }),
    ...granting,
    sameUser: flag({ help: "Run it as the user of `app serve`, who reads its keys" }),
  }),
  root: systemd.root,
  out: watchStart.out,
  projectRoot: watchStart.projectRoot,
  hostId: watchStart.hostId,
  supervisor: watchStart.supervisor,
  supervisorName: watchStart.supervisorName,
  runtimeUrl: watchStart.runtimeUrl,
  timeoutMs: connection.timeoutMs,
  caFile: network.caFile,
};

/** Options of `host key`. */
export const hostKey = {
  ...group("Host", {
    systemd: { ...join.systemd, help: "Key of the watch that is the unit sealift-watch@NAME" },
    out: { ...watchStart.out, help: "Folder with watch.yaml" },
  }),
  root: systemd.root,
};

/** Options of `host operator`. */
export const hostOperator = {
  ...group("Host", {
    watchConfig: guarded(
      path({
        name: "host-config",
        flag: "--config",
        help: "watch.yaml of this host",
        default: "watch.yaml",
      }),
    ),
  }),
};
