import { Command, Option } from "clipanion";
import type { ManagedVersion } from "../../lib/contract/surfaces/keys.ts";
import { saidOf, versionStateText } from "../../lib/contract/version-states.ts";
import { connection } from "../../lib/options/connection.ts";
import { versionAdvice, versionChange, versionDeletion } from "../../lib/options/devkeys.ts";
import { withOptions } from "../shell/base.ts";
import { showList, timeText } from "../shell/output/listing.ts";
import { type Managed, managed } from "./managed.ts";

const TARGET = { required: true, name: "TARGET" } as const;
const VERSION = { required: true, name: "VERSION" } as const;

export class VersionList extends withOptions(connection) {
  static override paths = [
    ["version", "list"],
    ["project", "versions"],
  ];
  static override listed = async () =>
    Object.keys((await import("../../lib/contract/surfaces/keys.ts")).managedVersion.shape);
  static override usage = Command.Usage({
    category: "Hub",
    description: "List the versions of a project, plugin or service on a hub",
    details:
      "TARGET is an id, a slug or a name. The newest version comes first; `latest` is the greatest one that every " +
      "host may have. What is rolled out or held says so, with its rollout.",
    examples: [["Which versions there are", "$0 version list Harbour"]],
  });

  target = Option.String(TARGET);

  override async run(): Promise<number> {
    const { client, idOf } = await managed(this.options);
    const { sizeText } = await import("../../lib/agent/ground/sentences.ts");
    return showList(this.surroundings(), {
      event: "version",
      rows: client.listVersions(await idOf(this.target)),
      columns: {
        VERSION: ({ version }) => version,
        PUBLISHED: ({ created_at: at }) => timeText(at),
        SIZE: ({ size_bytes: bytes }) => sizeText(bytes),
        SHA256: ({ sha256 }) => sha256.slice(0, 16),
        STATE: stateOf,
      },
      none: "No version has been published.",
    });
  }
}

const withReason = (text: string, why: string | null): string => (why === null ? text : `${text}: ${why}`);

function stateOf(version: ManagedVersion): string {
  const said = saidOf(version).map(({ word, why }) => withReason(word, why));
  return [version.is_yanked ? "" : standingOf(version), ...said].filter((part) => part !== "").join("; ");
}

function standingOf({ is_latest, state, state_reason: why = null }: ManagedVersion): string {
  if (state === undefined) return is_latest ? "latest" : "";
  return withReason(versionStateText(state), why);
}

export class VersionYank extends withOptions(versionChange) {
  static override paths = [["version", "yank"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Take a version out of `latest`",
    details: `
      Hosts that follow the latest version go back to the best one that is left, if they have run it; a
      host that asks for the version by its label still gets it.
      \`version unyank\` takes it back.
    `,
    examples: [["Yank a version", "$0 version yank Harbour 1.4.0 --reason 'loses data'"]],
  });

  target = Option.String(TARGET);
  version = Option.String(VERSION);

  override async run(): Promise<number> {
    const { client, idOf } = await managed(this.options);
    const { reason } = this.options;
    await client.yankVersion(await idOf(this.target), this.version, reason);
    this.note(`${this.target} ${this.version} is yanked.`);
    return this.done({ target: this.target, version: this.version, is_yanked: true });
  }
}

export class VersionDeprecate extends withOptions(versionAdvice) {
  static override paths = [["version", "deprecate"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Advise against a version",
    details: `
      The version stays what it is, also the latest one; hosts that deploy it warn with the text, and lists and the
      page show it. To take a version out of \`latest\`, yank it. \`version undeprecate\` takes the advice back.
    `,
    examples: [
      ["Advise against a version", "$0 version deprecate Harbour 1.4.0 --message 'loses data' --replaced-by 1.4.1"],
    ],
  });

  target = Option.String(TARGET);
  version = Option.String(VERSION);

  override async run(): Promise<number> {
    const { client, idOf } = await managed(this.options);
    const deprecated = { message: this.options.message, replaced_by: this.options.replacedBy ?? null };
    await client.deprecateVersion(await idOf(this.target), this.version, deprecated);
    this.note(`${this.target} ${this.version} is advised against.`);
    return this.done({ target: this.target, version: this.version, deprecated });
  }
}

export class VersionUndeprecate extends withOptions(connection) {
  static override paths = [["version", "undeprecate"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Take the advice against a version back",
    examples: [["Take it back", "$0 version undeprecate Harbour 1.4.0"]],
  });

  target = Option.String(TARGET);
  version = Option.String(VERSION);

  override async run(): Promise<number> {
    const { client, idOf } = await managed(this.options);
    await client.deprecateVersion(await idOf(this.target), this.version, null);
    this.note(`${this.target} ${this.version} is no longer advised against.`);
    return this.done({ target: this.target, version: this.version, deprecated: null });
  }
}

export class VersionRelease extends withOptions(versionChange) {
  static override paths = [["version", "release"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Open a held version to every host",
    details: `
      A version is held when its rollout was halted, aborted or replaced, and when it was published beside the rollout
      of another one. Only a person ends that: by this command, or by a rollout. It needs a key with the scope
      \`projects\`.
    `,
    examples: [["Give it to all", "$0 version release Harbour 1.4.1 --reason 'the fix for 1.4.0'"]],
  });

  target = Option.String(TARGET);
  version = Option.String(VERSION);

  override async run(): Promise<number> {
    const { client, idOf } = await managed(this.options);
    const { reason } = this.options;
    const released = await client.releaseVersion(await idOf(this.target), this.version, reason);
    this.note(`${this.target} ${this.version} is open to every host${released ? "" : ", and was before"}.`);
    return this.done({ target: this.target, version: this.version, released });
  }
}

export class VersionUnyank extends withOptions(connection) {
  static override paths = [["version", "unyank"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Let a yanked version be latest again",
    examples: [["Take a yank back", "$0 version unyank Harbour 1.4.0"]],
  });

  target = Option.String(TARGET);
  version = Option.String(VERSION);

  override async run(): Promise<number> {
    const { client, idOf } = await managed(this.options);
    await client.unyankVersion(await idOf(this.target), this.version);
    this.note(`${this.target} ${this.version} is no longer yanked.`);
    return this.done({ target: this.target, version: this.version, is_yanked: false });
  }
}

export class VersionDelete extends withOptions(versionDeletion) {
  static override paths = [["version", "delete"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Delete a version and its bytes from a hub",
    details: `
      No host can fetch it any more, and its label is never used again. Hosts that run it keep running it. The reason
      is kept in the audit log. Yanking is the mild form: it can be taken back. \`--dry-run\` tells what would go.
    `,
    examples: [["Delete a version", "$0 version delete Harbour 1.4.0 --reason 'holds a password'"]],
  });

  target = Option.String(TARGET);
  version = Option.String(VERSION);

  override async run(): Promise<number> {
    const { reason, dryRun } = this.options;
    const { client, idOf } = await managed(this.options);
    const id = await idOf(this.target);
    if (dryRun) return this.#preview(client, id);
    await client.deleteVersion(id, this.version, reason);
    this.note(`Deleted ${this.target} ${this.version}.`);
    return this.done({ target: this.target, version: this.version, dry_run: false });
  }

  async #preview(client: Managed["client"], id: string): Promise<number> {
    for await (const { version, size_bytes: bytes, is_latest: isLatest } of client.listVersions(id)) {
      if (version !== this.version) continue;
      this.note(
        `would delete ${this.target} ${version}, ${bytes} bytes${isLatest ? "; it is the latest version" : ""}`,
      );
      return this.done({ target: this.target, version, size_bytes: bytes, is_latest: isLatest, dry_run: true });
    }
    const { deploymentError } = await import("../../lib/contract/errors.ts");
    throw deploymentError("not_found", `${this.target} has no version ${this.version}.`);
  }
}
