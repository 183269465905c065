import { join } from "node:path";
import type { KeyService } from "../../lib/client/key-service.ts";
import { deploymentError, SealiftError, usageError } from "../../lib/contract/errors.ts";
import type { ApiKeyRecord, CreatedKey } from "../../lib/contract/surfaces/keys.ts";
import { keyCreation, keyListing, keyRotation, removal } from "../../lib/options/devkeys.ts";
import { showList, timeText } from "../shell/output/listing.ts";
import { resource } from "../shell/resource.ts";
import { managed } from "./managed.ts";

const ofHub = resource("key", [], managed);
const ofKey = resource("key", ["ID"], async (options, text) => {
  const { client, keyIdOf } = await managed(options);
  return { client, id: await keyIdOf(text) };
});

export const KeysCreate = ofHub("create", keyCreation, {
  description: "Create an API key",
  details: `
    The key and, for a key of one project, its deployment credential are shown once, or written to a file (0600) with
    \`--out\`. Every \`--…-file\` option takes that file. Without \`--scope\` a key may deploy, report and read, which
    is what a host needs. It ends after 90 days unless \`--expires\` says otherwise; \`key list\` shows when, and
    \`key rotate\` replaces it. \`--acts-for\` is the name of a session's key in \`key list\`: who has staged a version
    by either does not approve it by the other.
  `,
  examples: [
    ["A key for the hosts of a project", "$0 key create --name hosts --project Harbour --out ./host"],
    [
      "A key for one host, which nobody can report as another one with",
      "$0 key create --name pier-7 --project Harbour --host pier-7 --out ./pier-7",
    ],
    [
      "A key for CI that may publish, for a month",
      "$0 key create --name ci --project Harbour --scope publish --expires 30d",
    ],
    ["A key that never ends", "$0 key create --name operator --scope admin --expires never"],
  ],
  async run({ client, idOf }, { options, json, print, note, done }) {
    const { name, project, owner, actsFor, host, scope: scopes, expires, out } = options;
    const asked = {
      name,
      ...(owner !== undefined && { owner }),
      ...(actsFor !== undefined && { acts_for: actsFor }),
      ...(project !== undefined && { project_id: await idOf(project) }),
      ...(host !== undefined && { host }),
      ...(scopes.length > 0 && { scopes: [...scopes] }),
      ...(expires !== undefined && { expires_at: expires === "never" ? null : expires.toISOString() }),
    };
    // Opened first: a key that cannot be written down would be lost.
    await using file = out === undefined ? undefined : await openSecretFile(out, "host.env");
    const key = await client.createKey({ body: asked });
    const lines = secretsOf(key);
    const created = `Created the key ${key.name} (${key.id}) with the scopes ${key.scopes.join(", ")}.${endText(key)}`;
    if (file !== undefined) {
      await file.keep(lines);
      note(`${created}\nNext: sealift watch init ${watchedBy(key)} --out ${out}`);
      if (json) return done({ key: { ...key, key: undefined, deployment_credential: undefined }, file: file.path });
      print.line(file.path);
      return 0;
    }
    if (json) return done({ key });
    note(`${created} It is shown this once:`);
    for (const line of lines) print.line(line);
    return 0;
  },
});

/** Says when a new key expires, and how to renew it. */
const endText = ({ name, expires_at: end }: CreatedKey): string =>
  end === null ? "" : ` It ends on ${timeText(end)}; \`sealift key rotate ${name}\` replaces it.`;

/** Returns the secrets of a new key as variables. */
const secretsOf = ({ key, deployment_credential: credential }: CreatedKey): string[] => [
  `SEALIFT_API_KEY=${key}`,
  ...(credential === undefined ? [] : [`SEALIFT_DEPLOYMENT_CREDENTIAL=${credential}`]),
];

export const KeyRotate = ofKey("rotate", keyRotation, {
  description: "Replace an API key by one with the same rights",
  details: `
    The new key, and its deployment credential, are shown once. The old ones work for the time of \`--grace\`, in which
    you put the new ones in their place; \`key list\` shows when a key was last used. The new key lives as long as the
    old one was made for.
  `,
  examples: [["Replace the key of CI within two days", "$0 key rotate ci --grace 2d"]],
  async run({ client, id }, { options, json, print, note, done }) {
    const graceSeconds = Math.ceil(options.graceMs / 1000);
    const key = await client.rotateKey({ params: { id }, body: { grace_seconds: graceSeconds } });
    if (json) return done({ key, replaced: id });
    note(`Created the key ${key.name} (${key.id}) in the place of ${id}.${endText(key)} It is shown this once:`);
    for (const line of secretsOf(key)) print.line(line);
    return 0;
  },
});

/** Returns the target of a key, and the host that it speaks for, as arguments of `watch init`. */
const watchedBy = ({ project_id: project, host }: CreatedKey): string =>
  `${project?.startsWith("prj_") === true ? `project:${project}` : "TARGET"}${host ? ` --host-id ${host}` : ""}`;

/** Creates a new file for a secret, which is removed unless it is kept. */
async function openSecretFile(folder: string, name: string) {
  const [{ open, rm }, { makePrivateFolder }] = await Promise.all([
    import("node:fs/promises"),
    import("../../lib/support/files.ts"),
  ]);
  const path = join(folder, name);
  await makePrivateFolder(folder);
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

export const KeysList = ofHub("list", keyListing, {
  description: "List your API keys, without their secrets",
  details: `
    Lists live keys. \`--ended\` lists those that were revoked or have expired, \`--all\` both. A key leaves the lists
    30 days after its end.
  `,
  examples: [["Which keys have ended lately", "$0 key list --ended"]],
  listed: async () => Object.keys((await import("../../lib/contract/surfaces/keys.ts")).apiKeyRecord.shape),
  run: ({ client }, shell) =>
    showList(shell, {
      event: "key",
      rows: client.listKeys({
        query: { state: shell.options.all ? undefined : shell.options.ended ? "ended" : "live" },
      }),
      columns: async (keys) => {
        const names = await projectNames(client, keys);
        return {
          NAME: ({ name }) => name,
          KEY: ({ prefix }) => `${prefix}…`,
          STATE: stateOf,
          OWNER: ({ owner }) => owner,
          PROJECT: ({ project_id: id }) => (id === null ? "all" : (names.get(id) ?? id)),
          HOST: ({ host }) => host ?? "any",
          "LAST USE": ({ last_used_at: at }) => (at ? timeText(at) : "never"),
          SCOPES: ({ scopes }) => scopes.join(","),
          ID: ({ id }) => id,
        };
      },
    }),
});

function stateOf({ revoked_at, expires_at }: ApiKeyRecord): string {
  if (revoked_at !== null) return "revoked";
  if (expires_at === null) return "no end";
  return `${expires_at <= new Date().toISOString() ? "ended" : "until"} ${timeText(expires_at)}`;
}

/** Returns the names of the projects that keys are bound to, as far as the caller may list them. */
async function projectNames(client: KeyService, keys: readonly ApiKeyRecord[]): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  if (keys.every(({ project_id: id }) => id === null)) return names;
  try {
    for await (const { id, name } of client.listProjects()) names.set(id, name);
  } catch (error) {
    // A key may list keys but no projects: then their ids must suffice.
    if (!(error instanceof SealiftError) || error.status !== 403) throw error;
  }
  return names;
}

export const KeysRevoke = ofKey("revoke", removal, {
  description: "Revoke an API key and its deployment credential at once",
  examples: [["Revoke a key, by its id or its name", "$0 key revoke ci"]],
  async run({ client, id }, { options, note, done }) {
    if (!options.dryRun) {
      await client.revokeKey({ params: { id } });
      note(`Revoked ${id}.`);
      return done({ id, dry_run: false });
    }
    for await (const key of client.listKeys({ query: { state: "live" } })) {
      if (key.id !== id) continue;
      const { name, owner, last_used_at: lastUse } = key;
      note(`would revoke ${id} (${name}) of ${owner}, last used ${lastUse ?? "never"}`);
      return done({ id, key, dry_run: true });
    }
    throw deploymentError("not_found", `There is no live key ${id}.`);
  },
});
