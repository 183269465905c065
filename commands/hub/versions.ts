import { originText } from "../../lib/client/version-origins.ts";
import type { ManagedVersion } from "../../lib/contract/surfaces/keys.ts";
import { saidOf, versionStateText } from "../../lib/contract/version-states.ts";
import { connection } from "../../lib/options/connection.ts";
import { versionAdvice, versionChange, versionDeletion } from "../../lib/options/devkeys.ts";
import { counted } from "../../lib/support/counted.ts";
import { showList, timeText } from "../shell/output/listing.ts";
import { resource } from "../shell/resource.ts";
import { managedTarget } from "./managed.ts";

const ofTarget = resource("version", ["TARGET"], managedTarget);
const ofVersion = resource("version", ["TARGET", "VERSION"], managedTarget);

export const VersionList = ofTarget("list", connection, {
  description: "List the versions of a project, plugin or service on a hub",
  details:
    "TARGET is an id, a slug or a name. The newest version comes first; `latest` is the greatest one that every " +
    "host may have. What is rolled out or held says so, with its rollout.",
  examples: [["Which versions there are", "$0 version list Harbour"]],
  also: [["project", "versions"]],
  listed: async () => Object.keys((await import("../../lib/contract/surfaces/keys.ts")).managedVersion.shape),
  async run({ client, id }, shell) {
    const { sizeText } = await import("../../lib/support/size-text.ts");
    return showList(shell, {
      event: "version",
      rows: client.listVersions({ params: { id } }),
      columns: {
        VERSION: ({ version }) => version,
        PUBLISHED: ({ created_at: at }) => timeText(at),
        SIZE: ({ size_bytes: bytes }) => sizeText(bytes),
        SHA256: ({ sha256 }) => sha256.slice(0, 16),
        SIGNER: ({ signer_public_key: key }) =>
          key === null ? "–" : Buffer.from(key, "base64").toString("hex").slice(0, 16),
        BY: originText,
        STATE: stateOf,
      },
      none: "No version has been published.",
    });
  },
});

const withReason = (text: string, why: string | null): string => (why === null ? text : `${text}: ${why}`);

function stateOf(version: ManagedVersion): string {
  const said = saidOf(version).map(({ word, why }) => withReason(word, why));
  return [version.is_yanked ? "" : whoGets(version), ...said].filter((part) => part !== "").join("; ");
}

function whoGets({ is_latest, state, state_reason: why = null }: ManagedVersion): string {
  if (state === undefined) return is_latest ? "latest" : "";
  return withReason(versionStateText(state), why);
}

export const VersionYank = ofVersion("yank", versionChange, {
  description: "Take a version out of `latest`",
  details: `
    Hosts that follow the latest version go back to the best one that is left, if they have run it; a host that asks for
    the version by its label still gets it. \`version unyank\` takes it back.
  `,
  examples: [["Yank a version", "$0 version yank Harbour 1.4.0 --reason 'loses data'"]],
  async run({ client, id }, { options, note, done }, [target, version]) {
    await client.yankVersion({ params: { id, version }, body: { reason: options.reason } });
    note(`${target} ${version} is yanked.`);
    return done({ target, version, is_yanked: true });
  },
});

export const VersionDeprecate = ofVersion("deprecate", versionAdvice, {
  description: "Advise against a version",
  details: `
    The version stays what it is, also the latest one; hosts that deploy it warn with the text, and lists and the
    page show it. To take a version out of \`latest\`, yank it. \`version undeprecate\` takes the advice back.
  `,
  examples: [
    ["Advise against a version", "$0 version deprecate Harbour 1.4.0 --message 'loses data' --replaced-by 1.4.1"],
  ],
  async run({ client, id }, { options, note, done }, [target, version]) {
    const deprecated = { message: options.message, replaced_by: options.replacedBy ?? null };
    await client.deprecateVersion({ params: { id, version }, body: deprecated });
    note(`${target} ${version} is advised against.`);
    return done({ target, version, deprecated });
  },
});

export const VersionUndeprecate = ofVersion("undeprecate", connection, {
  description: "Take the advice against a version back",
  examples: [["Take it back", "$0 version undeprecate Harbour 1.4.0"]],
  async run({ client, id }, { note, done }, [target, version]) {
    await client.undeprecateVersion({ params: { id, version } });
    note(`${target} ${version} is no longer advised against.`);
    return done({ target, version, deprecated: null });
  },
});

export const VersionRelease = ofVersion("release", versionChange, {
  description: "Open a held version to every host",
  details: `
    A version is held when its rollout was halted, aborted or replaced, and when it was published beside the rollout
    of another one. Only a person ends that: by this command, or by a rollout. It needs a key with the scope
    \`projects\`.
  `,
  examples: [["Give it to all", "$0 version release Harbour 1.4.1 --reason 'the fix for 1.4.0'"]],
  async run({ client, id }, { options, note, done }, [target, version]) {
    const { released } = await client.releaseVersion({ params: { id, version }, body: { reason: options.reason } });
    note(
      released
        ? `${target} ${version} is open to every host, unless it is yanked.`
        : `${target} ${version} was not held; nothing has changed.`,
    );
    return done({ target, version, released });
  },
});

export const VersionUnyank = ofVersion("unyank", connection, {
  description: "Let a yanked version be latest again",
  examples: [["Take a yank back", "$0 version unyank Harbour 1.4.0"]],
  async run({ client, id }, { note, done }, [target, version]) {
    await client.unyankVersion({ params: { id, version } });
    note(`${target} ${version} is no longer yanked.`);
    return done({ target, version, is_yanked: false });
  },
});

export const VersionDelete = ofVersion("delete", versionDeletion, {
  description: "Delete a version and its bytes from a hub",
  details: `
    No host can fetch it any more, and its label is never used again. Hosts that run it keep running it. The reason
    is kept in the audit log. Yanking is the mild form: it can be taken back. \`--dry-run\` tells what would go.
  `,
  examples: [["Delete a version", "$0 version delete Harbour 1.4.0 --reason 'holds a password'"]],
  async run({ client, id }, { options, note, done }, [target, version]) {
    const { reason, dryRun } = options;
    if (!dryRun) {
      await client.deleteVersion({ params: { id, version }, query: { reason } });
      note(`Deleted ${target} ${version}.`);
      return done({ target, version, dry_run: false });
    }
    for await (const { version: label, size_bytes, is_latest } of client.listVersions({ params: { id } })) {
      if (label !== version) continue;
      note(
        `would delete ${target} ${version}, ${counted(size_bytes, "byte")}${is_latest ? "; it is the latest version" : ""}`,
      );
      return done({ target, version, size_bytes, is_latest, dry_run: true });
    }
    const { deploymentError } = await import("../../lib/contract/errors.ts");
    throw deploymentError("not_found", `${target} has no version ${version}.`);
  },
});
