import { Command, Option } from "clipanion";
import type { KeyService } from "../../lib/client/key-service.ts";
import { deploymentError, SealiftError, usageError } from "../../lib/contract/errors.ts";
import type { SignerRecord } from "../../lib/contract/surfaces/signers.ts";
import type { Target } from "../../lib/contract/target.ts";
import { connection } from "../../lib/options/connection.ts";
import { signerAddition, signerEnd, signerRotation } from "../../lib/options/devkeys.ts";
import { counted } from "../../lib/support/counted.ts";
import { withOptions } from "../shell/base.ts";
import { DEPLOY_TIMEOUT_MS, hubConnection } from "../shell/connection.ts";
import { showList, timeText } from "../shell/output/listing.ts";
import { resource } from "../shell/resource.ts";
import { managed, managedTarget } from "./managed.ts";
import { keyFrom, namedSigner, signersOfVersions } from "./named-signer.ts";

const signersOf = (client: KeyService, id: string): Promise<SignerRecord[]> =>
  Array.fromAsync(client.listSigners({ params: { id } }));

const ofTarget = resource("signer", ["TARGET"], managedTarget);
const ofSigner = resource("signer", ["TARGET", "KEY"], async (options, target, key) => ({
  ...(await managedTarget(options, target)),
  key: await keyFrom(key),
}));

/** Signer that is to end, by whatever a person calls it, with the register as it is. */
const ofEnding = resource("signer", ["TARGET", "KEY"], async (options, target, text) => {
  const { client, id } = await managedTarget(options, target);
  const registered = await signersOf(client, id);
  return { client, id, registered, key: await namedSigner(client, { id, registered, text }) };
});

export const SignerList = ofTarget("list", connection, {
  description: "List the signers of a project, plugin or service",
  examples: [["Who signs it", "$0 signer list harbour"]],
  listed: () => ["public_key", "name", "state", "added_at", "added_by", "reason"],
  run: ({ client, id }, shell) =>
    showList(shell, {
      event: "signer",
      rows: client.listSigners({ params: { id } }),
      columns: {
        KEY: ({ public_key: key }) => key,
        NAME: ({ name }) => name,
        STATE: ({ state }) => state,
        ADDED: ({ added_at: at, added_by: by }) => `${timeText(at)} by ${by}`,
      },
      none: "No signer is registered: every publisher may sign with any key.",
    }),
});

export const SignerAdd = ofSigner("add", signerAddition, {
  description: "Let a key sign what is published",
  details: `
    From the first signer of a project, plugin or service on, the hub refuses what other keys have signed, and archives
    that nobody has. Hosts still decide by the keys that they pin (\`--signer-public-key\`). A retired signer may be
    added again, a revoked one not.
  `,
  examples: [["Register the key of CI", "$0 signer add harbour signer.pub --name ci"]],
  async run({ client, id, key }, { options, note, done }, [target]) {
    const signer = await client.addSigner({ params: { id }, body: { public_key: key, name: options.name } });
    note(`${signer.public_key} may sign ${target}.`);
    return done({ signer });
  },
});

/** Returns the work of a command that ends a signer. */
const ending =
  (how: "retire" | "revoke"): Parameters<typeof ofEnding<typeof signerEnd>>[2]["run"] =>
  async ({ client, id, registered, key }, { options: { reason, dryRun }, note, done }, [target]) => {
    const known = registered.find(({ public_key: other }) => other === key);
    if (known === undefined && how === "retire")
      throw deploymentError("not_found", `${key} is not a signer of ${target}.`);
    const others = registered.length > 0 ? [] : await othersOf(client, id, key);
    if (others.length > 0)
      note(
        `${target} has no register yet. ${dryRun ? "It would get" : "It gets"} the other signers of its versions: ${others.join(", ")}.`,
      );
    if (!dryRun) for (const other of others) await client.addSigner({ params: { id }, body: { public_key: other } });
    const signer = dryRun ? (known ?? null) : await end(client, { id, key, how, reason });
    note(
      signer === null || dryRun
        ? `would ${how} ${key}, which is ${known?.state ?? "not registered"}`
        : `${key} is ${signer.state}, and signs nothing more for ${target}.`,
    );
    const left = dryRun ? registered : await signersOf(client, id);
    const active = left.filter((each) => each.state === "active" && each.public_key !== key);
    if (active.length === 0 && !(dryRun && others.length > 0))
      note("No other signer is active: nobody can publish before `sealift signer add`.");
    return done({ signer, registered: others, dry_run: dryRun });
  };

/** Returns the other signers of versions that stand: from the first row of a register on, others may not publish. */
const othersOf = async (client: KeyService, id: string, key: string): Promise<string[]> =>
  [...(await signersOfVersions(client, id, true))].filter((other) => other !== key);

/** Ends a signer. A hub of 0.2.0 revokes only what its register has. */
async function end(
  client: KeyService,
  { id, key, how, reason }: { id: string; key: string; how: "retire" | "revoke"; reason: string | undefined },
): Promise<SignerRecord> {
  const question = { params: { id, key }, body: { reason } };
  if (how === "retire") return client.retireSigner(question);
  try {
    return await client.revokeSigner(question);
  } catch (error) {
    if (!(error instanceof SealiftError) || error.code !== "not_found") throw error;
    await client.addSigner({ params: { id }, body: { public_key: key } });
    return client.revokeSigner(question);
  }
}

export const SignerRetire = ofEnding("retire", signerEnd, {
  description: "Retire a signer: it can publish no more",
  examples: [["After a rotation", "$0 signer retire harbour old.pub"]],
  run: ending("retire"),
});

export const SignerRevoke = ofEnding("revoke", signerEnd, {
  description: "Revoke a signer for good, such as a stolen one",
  details: `
    The hub refuses what it signs from now on. Hosts that pin the key go on trusting it: take it out of their pins, and
    yank versions that you did not publish. KEY is a file, a key, the name of one, or the first digits that
    \`sealift fleet\` shows. Where there is no register yet, it begins with the other signers of versions that stand.
  `,
  examples: [["A laptop was stolen", '$0 signer revoke harbour laptop.pub --reason "stolen on Monday"']],
  run: ending("revoke"),
});

export class SignerRotate extends withOptions(signerRotation) {
  static override paths = [["signer", "rotate"]];
  static override usage = Command.Usage({
    category: "Signers",
    description: "Replace a signer in the order that breaks no host",
    details: `
      With \`--out\`, makes a key pair and registers it beside the old one. Pin both on every host, publish a version
      with the new key, and run the command with \`--finish\` and the new key: it retires the other signers once every
      host of the fleet runs a version that the new key has signed, and says which hosts do not.
    `,
    examples: [
      ["Begin", "$0 signer rotate harbour --out keys-2027"],
      ["End", "$0 signer rotate harbour --finish keys-2027/signer.pub"],
    ],
  });

  target = Option.String({ required: true, name: "TARGET" });

  override async run(): Promise<number> {
    const { out, finish, dryRun } = this.options;
    if ((out === undefined) === (finish === undefined))
      throw usageError("usage", "Give --out FOLDER to begin a rotation, or --finish KEY to end it.");
    if (dryRun && finish === undefined) throw usageError("usage", "--dry-run goes with --finish.");
    const { client, called } = await managed(this.options);
    const { id, kind, slug } = await called(this.target);
    if (out !== undefined) return this.#begin(client, id, out);
    const key = await keyFrom(finish!);
    const signers = (await signersOf(client, id)).filter(({ state }) => state === "active");
    if (!signers.some(({ public_key: known }) => known === key))
      throw usageError("usage", `${key} is not an active signer of ${this.target}.`, {
        hint: "Begin with `sealift signer rotate TARGET --out FOLDER`, or `sealift signer add`.",
      });
    const late = await this.#lateHosts(client, { id, target: { kind, slug }, key });
    if (late.length > 0)
      throw usageError(
        "usage",
        `${counted(late.length, "host")} ${late.length === 1 ? "does" : "do"} not run a version that ${key} has signed: ${shortList(late)}.`,
        {
          hint: "Deploy one there with both keys pinned, or `sealift fleet forget` hosts that are gone; then run this again.",
        },
      );
    const others = signers.filter(({ public_key: known }) => known !== key);
    for (const { public_key: old } of others) {
      if (dryRun) {
        this.note(`would retire ${old}`);
        continue;
      }
      await client.retireSigner({ params: { id, key: old }, body: { reason: `replaced by ${key}` } });
      this.note(`${old} is retired. Take it out of the hosts' pins.`);
    }
    return this.done({ signer: key, retired: others.map(({ public_key: old }) => old), dry_run: dryRun });
  }

  async #begin(client: KeyService, id: string, out: string): Promise<number> {
    const { generateSigner } = await import("../../lib/artifact/signatures/key-files.ts");
    const { publicKey, publicKeyFile, privateKeyFile } = await generateSigner(out);
    // Adding to an empty register would reject the old key from now on.
    const known = new Set((await signersOf(client, id)).map(({ public_key: key }) => key));
    const { latestSigner } = await import("../../lib/client/project-signers.ts");
    const latest = await latestSigner(client, id);
    if (latest !== undefined && !known.has(latest))
      await client.addSigner({ params: { id }, body: { public_key: latest } });
    const signer = await client.addSigner({ params: { id }, body: { public_key: publicKey } });
    this.note(`${publicKey} may sign ${this.target} from now on, beside the old key.`);
    this.note(`1. Pin both on every host: --signer-public-key OLD --signer-public-key ${publicKeyFile}`);
    this.note(`2. Publish a version with --signing-key-file ${privateKeyFile}`);
    this.note(`3. When all hosts run it: sealift signer rotate ${this.target} --finish ${publicKeyFile}`);
    return this.done({ signer, private_key_file: privateKeyFile, public_key_file: publicKeyFile });
  }

  /** Lists hosts whose version another key has signed, or whose version is not known. */
  async #lateHosts(client: KeyService, rotated: { id: string; target: Target; key: string }): Promise<string[]> {
    const { readFleet } = await import("../../lib/client/fleet.ts");
    const signed = new Set<string>();
    for await (const { version, signer_public_key: signer } of client.listVersions({ params: { id: rotated.id } }))
      if (signer !== null && Buffer.from(signer, "base64").toString("hex") === rotated.key) signed.add(version);
    const { hosts } = await readFleet(rotated.target, hubConnection(this.options, DEPLOY_TIMEOUT_MS));
    const late: string[] = [];
    for await (const { host_id: host, running_version: running } of hosts)
      if (typeof running === "string" && !signed.has(running)) late.push(host);
    return late;
  }
}

const SHOWN = 10;

const shortList = (names: readonly string[]): string =>
  names.length > SHOWN ? `${names.slice(0, SHOWN).join(", ")} and ${names.length - SHOWN} more` : names.join(", ");
