import type { FastifyRequest } from "fastify";
import { anchoredRoot, nextRoot, parseRoot, type TrustRoot } from "../../../artifact/trust/root.ts";
import type { RootRecord } from "../../../contract/trust/routes.ts";
import { audited } from "../../access/audit.ts";
import { viewOf } from "../../access/key-rights.ts";
import { controlledBy } from "../../access/project-access.ts";
import { checked, conflict, forbidden, HubError, unprocessable } from "../../base/errors.ts";
import type { Principal } from "../../base/principal.ts";
import { changeTarget } from "../../records/latest/change-target.ts";
import type { Locked } from "../../records/locked.ts";
import { type Queries, type Records, takeTurn, type Transacted, type TransactedIn } from "../../records/port.ts";
import type { Project } from "../../records/projects.ts";
import { setSigners } from "../../records/signers.ts";
import { subjectOf } from "../../records/subjects.ts";
import { findRoot, findRoots, followersOf, insertRoot, newestRoot, type RootName, setRoot } from "./records.ts";
import type { TrustRootsTable } from "./tables.ts";

/** Name of an uploaded document in messages. */
const UPLOADED = "The document";

/** Publication of a root, with its targets. */
interface RootPublication {
  root: string;
  targets?: readonly string[] | undefined;
}

/**
 * Publishes a version of a root, and lets targets follow it: those that are named, and those that follow it already.
 *
 * @returns the root as it is then, and whether the version is new to the hub
 * @throws HubError 403 and 404 for targets that the key may not change, 409 for a fork and for a target that follows
 *   another root, 422 for a document that hosts would refuse
 */
export async function publishRoot(
  hub: Records,
  request: FastifyRequest,
  principal: Principal,
  { root: text, targets = [] }: RootPublication,
): Promise<{ record: RootRecord; isNew: boolean }> {
  const db = hub.database.kysely;
  const uploaded = checked(() => parseRoot(text, UPLOADED));
  const projectOf = controlledBy(hub);
  const named = new Map<string, Project>();
  for (const id of new Set(targets)) named.set(id, await projectOf(principal, id));
  const owner = await ownerOf(db, principal, uploaded.id, [...named.values()]);
  const name: RootName = { owner, root_id: uploaded.id };

  // A key that is bound to one target leaves the others as they are.
  const isLeft = (id: string): boolean => principal.projectId !== null && id !== principal.projectId;

  const attempt = async (followers: readonly string[]) => {
    const projectIds = [...new Set([...named.keys(), ...followers.filter((id) => !isLeft(id))])].sort();
    if (projectIds.length === 0 && principal.projectId !== null)
      throw forbidden("The key is bound to a target: name it.");
    return audited(hub, request, { principal, projectIds }, async (transaction, tell, { caller, targets: locked }) => {
      await takeTurn(transaction, `owner/${owner}`);
      const current = await followersOf(transaction, name);
      if (!current.every((id) => isLeft(id) || projectIds.includes(id))) throw new FollowersMoved();
      // Of two owners, a transfer has come in between.
      if (locked.some((target) => target.owner !== owner)) throw new FollowersMoved();
      const { newest, added } = await place(transaction, name, uploaded);
      const following = locked.filter(({ id }) => named.has(id) || current.includes(id));
      if (added) {
        if (current.some(isLeft)) throw forbidden("The key is bound to one target, and others follow the root, too.");
        const { version, digest, expires } = uploaded;
        const published = { published_at: hub.now(), published_by: caller.id };
        await insertRoot(transaction, { ...name, version, document: text, digest, expires, ...published });
        const facts = { root_id: newest.id, root_version: version, digest, targets: following.length };
        await tell({ action: "root.publish", subject: newest.id, facts });
      }
      for (const target of following) {
        const hasChanged = await follow(transaction, target, newest, { by: caller.owner, now: hub.clock() });
        const facts = { root_id: newest.id, root_version: newest.version, signers: newest.signers.join(" ") };
        if (hasChanged) await tell({ action: "trust.change", subject: subjectOf(target), facts });
      }
      const records = await findRoots(transaction, viewOf(principal), name.root_id);
      return { record: records.find((record) => record.owner === owner)!, isNew: added };
    });
  };
  return againIfMoved(() => followersOf(db, name), attempt);
}

/** Thrown when a root has other followers than those that were locked. */
class FollowersMoved extends HubError {
  constructor() {
    super(409, "conflict", "The targets of the trust root are changing: try again.");
  }
}

/** Most attempts to lock all followers of a root. */
const ATTEMPTS = 3;

/**
 * Runs `attempt` with the followers of a root, and again when they have changed since they were read: one was added,
 * deleted, or given to another owner.
 */
async function againIfMoved<T>(
  followers: () => Promise<readonly string[]>,
  attempt: (followers: readonly string[]) => Promise<T>,
): Promise<T> {
  let before = await followers();
  for (let left = ATTEMPTS - 1; left > 0; left--)
    try {
      return await attempt(before);
    } catch (error) {
      const now = await followers();
      if (now.join(" ") === before.join(" ")) throw error;
      before = now;
    }
  return attempt(before);
}

/** Returns the refusal of an id that several owners use: anyone can copy one. */
export const severalOwners = (): HubError =>
  conflict("Several owners have a trust root of this id: name a target that follows it, or use a key of its owner.");

/**
 * Returns the owner of a root: that of the targets, or else the owner who has it already, or else that of the key.
 *
 * @throws HubError 422 for targets of several owners; 409 for a root that several owners have
 */
async function ownerOf(
  db: Queries,
  principal: Principal,
  rootId: string,
  targets: readonly Project[],
): Promise<string> {
  const owners = new Set(targets.map(({ owner }) => owner));
  if (owners.size > 1) throw unprocessable("targets: belong to several owners. Publish the root for each of them.");
  const [owner] = owners;
  if (owner !== undefined) return owner;
  const known = new Set((await findRoots(db, viewOf(principal), rootId)).map((root) => root.owner));
  if (known.size === 0 || known.has(principal.owner)) return principal.owner;
  if (known.size > 1) throw severalOwners();
  return [...known][0]!;
}

/**
 * Verifies a version as hosts do, against those that the hub has.
 *
 * @returns the newest version, and whether the uploaded one is added, as the newest or where the hub has lost it
 * @throws HubError 422 for a version that hosts would refuse, 409 `trust_root_forked` where the hub has another one
 */
async function place(
  transaction: Transacted,
  name: RootName,
  uploaded: TrustRoot,
): Promise<{ newest: TrustRoot; added: boolean }> {
  const newest = await newestRoot(transaction, name);
  const { version } = uploaded;
  if (newest === undefined) return { newest: verified(uploaded, undefined), added: true };
  if (version > newest.version) return { newest: verified(uploaded, newest), added: true };
  const answer = { newest: parseRoot(newest.document, storedName(newest)), added: false };
  const stored = version === newest.version ? newest : await findRoot(transaction, { ...name, version });
  if (stored?.digest === uploaded.digest) return answer;
  // Nobody is told of a fork by what nobody has signed.
  verified(uploaded, await findRoot(transaction, { ...name, version: version - 1 }));
  if (stored !== undefined) throw forked(uploaded);
  // A version that the hub has lost: the one after it verifies it.
  const after = await findRoot(transaction, { ...name, version: version + 1 });
  if (after !== undefined) checked(() => nextRoot(uploaded, after.document, storedName(after)));
  return { ...answer, added: true };
}

const forked = ({ id, version }: TrustRoot): HubError =>
  new HubError(
    409,
    "trust_root_forked",
    `The hub has another version ${version} of the trust root ${id}, which stays: both were signed. ` +
      "Ask those who hold the root keys which one counts.",
  );

const storedName = ({ root_id: id, version }: TrustRootsTable): string => `Version ${version} of the trust root ${id}`;

/** Verifies a version by the one before; the first one by its own keys. */
function verified({ id, version, text }: TrustRoot, before: TrustRootsTable | undefined): TrustRoot {
  if (before !== undefined)
    return checked(() => nextRoot(parseRoot(before.document, storedName(before)), text, UPLOADED));
  if (version === 1) return checked(() => anchoredRoot(text, UPLOADED));
  throw new HubError(
    422,
    "trust_root_order",
    `${UPLOADED} is version ${version} of the trust root ${id}, and the hub lacks version ${version - 1}: ` +
      "versions are published one by one, from version 1 on.",
  );
}

/**
 * Lets a target and its register of signers follow a version of a root.
 *
 * @returns false for a target that follows it already
 * @throws HubError 409 for a target that follows another root
 */
async function follow<In>(
  transaction: TransactedIn<In>,
  target: Locked<Project, In>,
  { id: root_id, version: root_version, document: { signed } }: TrustRoot,
  { by, now }: { by: string; now: number },
): Promise<boolean> {
  if (target.root_id !== null && target.root_id !== root_id)
    throw conflict(
      `The ${target.kind} ${target.name} follows the trust root ${target.root_id}, and its hosts refuse another one. ` +
        "Let it leave that one first.",
    );
  if (target.root_version === root_version) return false;
  await changeTarget(transaction, target.id, now, () => setRoot(transaction, target.id, { root_id, root_version }));
  const { [`x-sealift-names`]: keyNames = {}, keys, roles } = signed;
  const names = new Map(roles.targets.keyids.map((id) => [keys[id]!.keyval.public, keyNames[id] ?? ""]));
  const reason = `follows the trust root ${root_id} version ${root_version}`;
  await setSigners(transaction, target, { names, by, reason, now: new Date(now).toISOString() });
  return true;
}
