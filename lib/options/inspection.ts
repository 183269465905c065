import { agent, host, hostChange, supervision } from "./agent.ts";
import { reporting } from "./connection.ts";
import { flag, text, whole } from "./kinds.ts";
import { group, guarded } from "./option.ts";
import { acceptedSigners } from "./sources.ts";

/** Options of the commands that show and change what is deployed on this host. */

/** Options of `history`. */
export const history = {
  ...group("History", { limit: whole({ help: "Deployments to show, the newest first", default: 20, min: 1 }) }),
  ...host,
};

const { hostId, keepReports, logInReports, lockWaitMs, deadlineMs, timeoutMs, notifiersConfig, policy, acceptRights } =
  agent;
const { runtimeUrl: _url, pluginKey: _key, staysUpMs: _staysUp, healthUrl: _health, ...units } = supervision;

/**
 * Options of `rollback`, which reports to the hub given or the one that the target was deployed from. It asks that hub
 * only what a policy wants to know.
 */
export const rollback = {
  ...group("Rollback", {
    to: text({ metavar: "RELEASE", help: "A kept release or its version", defaultText: "an earlier version" }),
    dryRun: flag({ help: "Tell what would change, and change nothing" }),
    allowUntrustedSigner: guarded(flag({ help: "Go back although its signer no longer counts" })),
    allowUnmetPolicy: guarded(flag({ help: "Go back without asking the host's policy" })),
  }),
  ...hostChange,
  ...{ hostId, keepReports, logInReports, lockWaitMs, deadlineMs, timeoutMs, notifiersConfig, policy, acceptRights },
  ...acceptedSigners,
  ...supervision,
  ...reporting,
};

/** Options of `pin`. */
export const pinning = {
  ...group("Pin", {
    version: text({ metavar: "VERSION", help: "The version to keep", defaultText: "the running one" }),
    reason: text({ metavar: "TEXT", help: "Why, for people who look at the host" }),
  }),
  ...hostChange,
};

/** Options of `watch consent`. */
export const consent = {
  ...group("Consent", {
    version: text({ metavar: "VERSION", help: "Only if this version is held", defaultText: "whichever is held" }),
  }),
  ...hostChange,
};

/** Options of `remove`. */
export const removal = {
  ...group("Removal", {
    purge: flag({ help: "Remove data, environment files and reports, too" }),
    dryRun: flag({ help: "Only tell what would go" }),
  }),
  ...hostChange,
  ...{ hostId, lockWaitMs, deadlineMs, timeoutMs },
  ...supervision,
};

/** Options of `logs`. */
export const logs = {
  ...group("Logs", {
    follow: flag({ help: "Go on with what is written from now on" }),
    lines: whole({ help: "Lines of each unit to begin with", default: 100 }),
  }),
  ...host,
  ...units,
};
