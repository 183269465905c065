import { SCOPES } from "../contract/scopes.ts";
import type { Scope } from "../contract/surfaces/keys.ts";
import { connection } from "./connection.ts";
import { parseDuration } from "./durations.ts";
import * as forms from "./forms.ts";
import { choice, duration, flag, list, parsed, path, text } from "./kinds.ts";
import { limits } from "./limits.ts";
import { group, optional, required } from "./option.ts";
import { secretBytes } from "./secrets.ts";
import { comparedSources } from "./sources.ts";

/** Options of the commands that manage keys and projects on a hub. */

/** Parses a time, or a span from now on or back. @throws Error whose message continues "--expires …" */
const momentOf =
  (direction: 1 | -1) =>
  (text: string): Date => {
    const time = /^\d{4}-/.test(text) ? new Date(text) : new Date(Date.now() + direction * parseDuration(text, true));
    if (direction === 1 && time.getTime() <= Date.now())
      throw new Error(`must lie ahead, such as 90d or 2030-01-31, not ${JSON.stringify(text)}`);
    if (!Number.isNaN(time.getTime())) return time;
    throw new Error(`is a span such as 7d, or an ISO 8601 time, not ${JSON.stringify(text)}`);
  };

function scopeOf(text: string): Scope {
  const scope = SCOPES.find((known) => known === text);
  if (scope === undefined) throw new Error(`is one of ${SCOPES.join(", ")}, not ${JSON.stringify(text)}`);
  return scope;
}

/** Options of `key create`. */
export const keyCreation = {
  ...group("Key", {
    name: required(text({ metavar: "NAME", help: "What the key is for" })),
    project: text({ metavar: "PROJECT", help: "Bind the key to this project: its id or name" }),
    host: text({ metavar: "NAME", help: "Speak for this host only", defaultText: "any", form: forms.hostId }),
    owner: text({ metavar: "OWNER", help: "Whose key it is; administrators only", defaultText: "your own" }),
    actsFor: text({ metavar: "PERSON", help: "Person who gets it, as sign-on names them (administrators)" }),
    scope: list(
      {
        metavar: "SCOPE",
        help: "A right of the key; may be repeated",
        defaultText: "deploy, report and read",
        choices: SCOPES,
        commas: true,
      },
      scopeOf,
    ),
    expires: parsed(
      { metavar: "TIME", help: "A span such as 30d, an ISO 8601 time, or never", defaultText: "90d" },
      (text) => (text === "never" ? ("never" as const) : momentOf(1)(text)),
    ),
    out: path({ metavar: "FOLDER", help: "Write the key to host.env there, for a host" }),
  }),
  ...connection,
};

/** Options of `key rotate`. */
export const keyRotation = {
  ...group("Key", {
    graceMs: duration({
      name: "grace",
      needsUnit: true,
      help: "How long the old key still works",
      default: 86_400_000,
    }),
  }),
  ...connection,
};

/** Options of `key list`. */
export const keyListing = {
  ...group("List", {
    ended: flag({ name: "list-ended", flag: "--ended", help: "Only keys that have ended, of the last 30 days" }),
    all: flag({ name: "list-all", flag: "--all", help: "Live keys, and those that have ended" }),
  }),
  ...connection,
};

const sameName = flag({ help: "Also where another one has the name" });

/** Options of `project create`. */
export const projectCreation = {
  ...group("Project", {
    kind: choice(["project", "plugin", "service"], { help: "What is created", default: "project" }),
    slug: text({ metavar: "SLUG", help: "Slug of a plugin or service", form: forms.slug }),
    sameName,
    ifMissing: flag({ help: "End well where it is there already, and print it" }),
  }),
  ...connection,
};

/** Options of `project rename`. */
export const projectRenaming = { ...group("Project", { sameName }), ...connection };

/** Options of `project transfer`. */
export const projectTransfer = {
  ...group("Transfer", {
    keepKeys: flag({ help: "Keys of the project become the new owner's" }),
    dryRun: flag({ help: "Only tell which keys would be revoked" }),
  }),
  ...connection,
};

const reason = text({ metavar: "TEXT", help: "Why, for people who run it" });

/** Options of `project delete`. */
export const projectDeletion = {
  ...group("Deletion", {
    confirm: text({ metavar: "NAME", help: "The project's name once more: delete it for good" }),
    force: flag({ name: "force-deletion", flag: "--force", help: "Also while hosts still report to it" }),
    reason: text({ metavar: "TEXT", help: "Why, for the audit log" }),
    dryRun: flag({ help: "Only tell what would go" }),
  }),
  ...connection,
};

/** Options of commands that remove something on a hub. */
export const removal = {
  ...group("Removal", { dryRun: flag({ help: "Only tell what would go" }) }),
  ...connection,
};

/** Options of `version yank` and `version release`. */
export const versionChange = { ...group("Version", { reason }), ...connection };

/** Options of `version deprecate`. */
export const versionAdvice = {
  ...group("Version", {
    message: required(text({ metavar: "TEXT", help: "The advice, for people who deploy it" })),
    replacedBy: text({ metavar: "VERSION", help: "The version to take in its place" }),
  }),
  ...connection,
};

/** Options of `version delete`. */
export const versionDeletion = {
  ...group("Version", { reason: required(reason), dryRun: flag({ help: "Only tell what would go" }) }),
  ...connection,
};

/** Options of `version diff`. */
export const versionComparison = {
  ...group("Project", {
    signingKey: optional(
      secretBytes({ metavar: "KEY", help: "The signer's private key: compares the stored indexes", fileOnly: true }),
    ),
  }),
  ...comparedSources,
  ...limits,
  ...connection,
};

/** Options of `marketplace signing-key`. */
export const signingKeyState = group("Signing key", {
  status: flag({ help: "Only tell whether one is registered" }),
  forget: flag({ help: "Remove it from the hub" }),
  dryRun: flag({ help: "With --forget: only tell what would go" }),
});

/** Options of `audit list`. */
export const auditList = {
  ...group("Entries", {
    from: parsed(
      { name: "since", metavar: "TIME", help: "Entries from then on: 7d, or an ISO 8601 time" },
      momentOf(-1),
    ),
    until: parsed({ metavar: "TIME", help: "Entries before then" }, momentOf(-1)),
    action: text({ metavar: "ACTION", help: "Entries of this action, such as key.create" }),
    actor: text({ metavar: "OWNER", help: "Entries of this owner's keys" }),
  }),
  ...connection,
};

/** Options of the commands about a project's signers. */
const named = { metavar: "NAME", help: "What people call the key" };
export const signerAddition = { ...group("Signer", { name: text(named) }), ...connection };

const why = { help: "Why, for the audit log" };
export const signerEnd = {
  ...group("Signer", { reason: text(why), dryRun: flag({ help: "Only tell what would end" }) }),
  ...connection,
};

export const signerRotation = {
  ...group("Signer", {
    out: path({ help: "Begin: folder for the new signer.key and signer.pub" }),
    finish: path({ metavar: "KEY", help: "End: the new public key, as a file or hex", orText: true }),
    dryRun: flag({ help: "With --finish: only tell what would end" }),
  }),
  ...connection,
};
