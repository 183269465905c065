import { join } from "node:path";
import { Command, Option } from "clipanion";
import type { DevkeysClient } from "../../lib/client/devkeys-client.ts";
import { deploymentError, SealiftError, usageError } from "../../lib/contract/errors.ts";
import type { ApiKeyRecord, CreatedKey } from "../../lib/contract/surfaces/keys.ts";
import { connection } from "../../lib/options/connection.ts";
import { keyCreation, keyRotation, removal } from "../../lib/options/devkeys.ts";
import { withOptions } from "../shell/base.ts";
import { showList, timeText } from "../shell/output/listing.ts";
import { managed } from "./managed.ts";

export class KeysCreate extends withOptions(keyCreation) {
  static override paths = [
    ["key", "create"],
    ["keys", "create"],
  ];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Create an API key",
    details: `
      The key and, for a key of one project, its deployment credential are shown once, or written to a file (0600) with
      \`--out\`. Every \`--…-file\` option takes that file. Without \`--scope\` a key may deploy, report and read, which is
      what a host needs.
    `,
    examples: [
      ["A key for the hosts of a project", "$0 key create --name hosts --project Harbour --out ./host"],
      [
        "A key for CI that may only publish, for 90 days",
        "$0 key create --name ci --project prj_… --scope publish --expires 90d",
      ],
    ],
  });

  override async run(): Promise<number> {
    const { client, idOf } = await managed(this.options);
    const { name, project, owner, scope: scopes, expires, out } = this.options;
    const asked = {
      name,
      ...(owner !== undefined && { owner }),
      ...(project !== undefined && { project_id: await idOf(project) }),
      ...(scopes.length > 0 && { scopes: [...scopes] }),
      ...(expires !== undefined && { expires_at: expires.toISOString() }),
    };
    // Before a key is made that would be lost.
    await using file = out === undefined ? undefined : await openSecretFile(out, "host.env");
    const key = await client.createKey(asked);
    const lines = secretsOf(key);
    const created = `Created the key ${key.name} (${key.id}) with the scopes ${key.scopes.join(", ")}.`;
    if (file !== undefined) {
      await file.keep(lines);
      this.note(`${created}\nNext: sealift watch init ${watchedBy(key.project_id)} --out ${out}`);
      if (this.json)
        return this.done({ key: { ...key, key: undefined, deployment_credential: undefined }, file: file.path });
      this.print.line(file.path);
      return 0;
    }
    if (this.json) return this.done({ key });
    this.note(`${created} It is shown this once:`);
    for (const line of lines) this.print.line(line);
    return 0;
  }
}

/** The secrets of a new key as variables. */
const secretsOf = ({ key, deployment_credential: credential }: CreatedKey): string[] => [
  `SEALIFT_API_KEY=${key}`,
  ...(credential === undefined ? [] : [`SEALIFT_DEPLOYMENT_CREDENTIAL=${credential}`]),
];

export class KeyRotate extends withOptions(keyRotation) {
  static override paths = [["key", "rotate"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Replace an API key by one with the same rights",
    details: `
      The new key, and its deployment credential, are shown once. The old ones work for the time of \`--grace\`, in which
      you put the new ones in their place; \`key list\` shows when a key was last used.
    `,
    examples: [["Replace the key of CI within two days", "$0 key rotate ci --grace 2d"]],
  });

  id = Option.String({ required: true, name: "ID" });

  override async run(): Promise<number> {
    const { client, keyIdOf } = await managed(this.options);
    const id = await keyIdOf(this.id);
    const key = await client.rotateKey(id, Math.ceil(this.options.graceMs / 1000));
    if (this.json) return this.done({ key, replaced: id });
    this.note(`Created the key ${key.name} (${key.id}) in the place of ${id}. It is shown this once:`);
    for (const line of secretsOf(key)) this.print.line(line);
    return 0;
  }
}

const watchedBy = (projectId: string | null): string =>
  projectId?.startsWith("prj_") === true ? `project:${projectId}` : "TARGET";

/** A new file for a secret, which goes again unless it is kept. */
async function openSecretFile(folder: string, name: string) {
  const [{ open, rm }, { makeFolder }] = await Promise.all([
    import("node:fs/promises"),
    import("../../lib/support/files.ts"),
  ]);
  const path = join(folder, name);
  await makeFolder(folder, 0o700);
  const file = await open(path, "wx", 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
    throw usageError("usage", `${path} exists already.`, { hint: "Remove it first, or name another folder." });
  });
  let isKept = false;
  return {
    path,
    async keep(lines: readonly string[]) {
      await file.writeFile(`${lines.join("\n")}\n`);
      await file.sync();
      isKept = true;
    },
    async [Symbol.asyncDispose]() {
      await file.close();
      if (!isKept) await rm(path, { force: true });
    },
  };
}

export class KeysList extends withOptions(connection) {
  static override paths = [
    ["key", "list"],
    ["keys", "list"],
  ];
  static override listed = async () =>
    Object.keys((await import("../../lib/contract/surfaces/keys.ts")).apiKeyRecord.shape);
  static override usage = Command.Usage({ category: "Hub", description: "List your API keys, without their secrets" });

  override async run(): Promise<number> {
    const { client } = await managed(this.options);
    return showList(this.surroundings(), {
      event: "key",
      rows: client.listKeys(),
      columns: async (keys) => {
        const names = await projectNames(client, keys);
        return {
          NAME: ({ name }) => name,
          KEY: ({ prefix }) => `${prefix}…`,
          STATE: stateOf,
          OWNER: ({ owner }) => owner,
          PROJECT: ({ project_id: id }) => (id === null ? "all" : (names.get(id) ?? id)),
          "LAST USE": ({ last_used_at: at }) => (at ? timeText(at) : "never"),
          SCOPES: ({ scopes }) => scopes.join(","),
          ID: ({ id }) => id,
        };
      },
    });
  }
}

function stateOf({ revoked_at, expires_at }: ApiKeyRecord): string {
  if (revoked_at !== null) return "revoked";
  if (expires_at === null) return "no end";
  return `${expires_at <= new Date().toISOString() ? "ended" : "until"} ${expires_at.slice(0, 10)}`;
}

/** The names of the projects that keys are bound to, as far as the caller may list them. */
async function projectNames(client: DevkeysClient, keys: readonly ApiKeyRecord[]): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  if (keys.every(({ project_id: id }) => id === null)) return names;
  try {
    for await (const { id, name } of client.listProjects()) names.set(id, name);
  } catch (error) {
    // A key may list keys and no projects: their ids say enough.
    if (!(error instanceof SealiftError) || error.status !== 403) throw error;
  }
  return names;
}

export class KeysRevoke extends withOptions(removal) {
  static override paths = [
    ["key", "revoke"],
    ["keys", "revoke"],
  ];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Revoke an API key and its deployment credential at once",
    examples: [["Revoke a key, by its id or its name", "$0 key revoke ci"]],
  });

  id = Option.String({ required: true, name: "ID" });

  override async run(): Promise<number> {
    const { client, keyIdOf } = await managed(this.options);
    const id = await keyIdOf(this.id);
    if (this.options.dryRun) return this.#preview(client, id);
    await client.revokeKey(id);
    this.note(`Revoked ${id}.`);
    return this.done({ id, dry_run: false });
  }

  async #preview(client: DevkeysClient, id: string): Promise<number> {
    for await (const key of client.listKeys()) {
      if (key.id !== id || key.revoked_at !== null) continue;
      const { name, owner, last_used_at: lastUse } = key;
      this.note(`would revoke ${id} (${name}) of ${owner}, last used ${lastUse ?? "never"}`);
      return this.done({ id, key, dry_run: true });
    }
    throw deploymentError("not_found", `There is no live key ${id}.`);
  }
}
