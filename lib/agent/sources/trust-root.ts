import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { keyIdOf, signerRootKey } from "../../artifact/trust/keys.ts";
import { anchoredRoot, isCountersigned, nextRoot, parseRoot, type TrustRoot } from "../../artifact/trust/root.ts";
import type { RootOrigin } from "../../client/trust-roots.ts";
import { artifactError, asSealiftError, isAbort, type SealiftError, usageError } from "../../contract/errors.ts";
import type { TargetName } from "../../contract/target.ts";
import { MAX_ROOT_BYTES } from "../../contract/trust/marks.ts";
import type { Layout } from "../../releases/layout.ts";
import { keepRoot, readFollowedRoot } from "../../releases/trust-roots.ts";
import { readFault, readTextFile } from "../../support/files.ts";
import type { Emit } from "../base/events.ts";

/** Choice of the trust root that a host follows, and of where it finds it (docs/contract/trust.md#hosts). */
export interface RootChoice {
  /** File with a version of the root, or folder of such files, that an operator has pinned; undefined for none. */
  file?: string | undefined;
  /** Signers pinned otherwise: they count until the root is there, and one of them countersigns its version 1. */
  pinned: readonly Uint8Array[];
  /** URLs of folders with further copies of the root's files. */
  sources: readonly string[];
}

/** Most steps of one check: with the largest document of each they are 4 MiB. */
export const MOST_STEPS = 64;

/** Circumstances in which a root is followed. */
export interface Following {
  layout: Layout;
  target: TargetName;
  emit: Emit;
  /** Newest version that the hub names; undefined for none. */
  named: number | undefined;
  hub: RootOrigin;
  /** Further places to ask, now. */
  others: readonly RootOrigin[];
  /** Whether what is accepted is kept. A trial keeps nothing. */
  keeps: boolean;
}

/**
 * Follows a trust root as far as the operator's files, the hub and the other places lead, at most {@link MOST_STEPS}
 * versions. Each version is verified, and kept before it counts. What cannot be had or verified is told by an event:
 * the host goes on with the version that it has.
 *
 * @returns the version that counts; undefined while there is none
 * @throws UsageError, ArtifactError for the operator's own files
 */
export async function followRoot(choice: RootChoice, following: Following): Promise<TrustRoot | undefined> {
  const { layout, target, emit, named = 0, hub, others, keeps } = following;
  let root: TrustRoot | undefined = await readFollowedRoot(layout, target);
  const take = async (next: TrustRoot): Promise<void> => {
    if (keeps) await keepRoot(layout, target, next);
    emit({ event: "trust.followed", root_id: next.id, version: next.version, signers: [...next.signers] });
    root = next;
  };
  const ahead: string[] = [];
  for (const text of await filesOf(choice.file, root !== undefined)) {
    const place = placeOf(text, root, choice.file!);
    // Others may have the versions between: the host was offline meanwhile.
    if (place === "beyond") ahead.push(text);
    else if (place === "next") await take(fromOperator(root, text, choice.file!));
  }
  let steps = 0;
  const followFrom = async (origin: RootOrigin, until: number): Promise<void> => {
    try {
      while ((root?.version ?? 0) < until && steps < MOST_STEPS) {
        const version = (root?.version ?? 0) + 1;
        const text = await origin.read(version, root?.id);
        if (text === undefined) return;
        steps++;
        const name = `Version ${version} of the trust root from ${origin.name}`;
        await take(root === undefined ? countersigned(choice.pinned, text, name) : nextRoot(root, text, name));
      }
    } catch (thrown) {
      const { code, message } = asSealiftError(thrown, "ArtifactError");
      if (code === "disk_full" || isAbort(thrown)) throw thrown;
      emit({ event: "trust.refused", origin: origin.name, code, message });
    }
  };
  await followFrom(hub, named);
  for (const origin of others) await followFrom(origin, Infinity);
  for (const text of ahead)
    if (placeOf(text, root, choice.file!) !== "known") await take(fromOperator(root, text, choice.file!));
  return root;
}

/**
 * Reads the first version of a root for hosts that pin signers: one of them has signed it, too.
 *
 * @throws ArtifactError `trust_root_invalid`, `trust_root_order`, `trust_root_undersigned`
 */
function countersigned(pinned: readonly Uint8Array[], text: string, name: string): TrustRoot {
  const root = anchoredRoot(text, name);
  if (root.version !== 1)
    throw artifactError("trust_root_order", `${name} says that it is version ${root.version}.`, {
      hint: "Nothing was changed. Ask the hub's operator.",
    });
  const isSigned = pinned.map(signerRootKey).some((key) => isCountersigned(root, keyIdOf(key), key));
  if (isSigned) return root;
  throw artifactError("trust_root_undersigned", `${name} is not signed by a signer that this host pins.`, {
    hint: "Nothing was changed. `sealift trust sign FILE --key signer.key` adds it for a signer that the root names, or pin the root with --root FILE.",
  });
}

/** Tells where an operator's document stands to what is followed; another root's is `next`, and refused then. */
function placeOf(text: string, root: TrustRoot | undefined, name: string): "known" | "next" | "beyond" {
  if (root === undefined) return "next";
  if (text === root.text) return "known";
  const { id, version } = parseRoot(text, name);
  if (id !== root.id || version === root.version + 1) return "next";
  return version <= root.version ? "known" : "beyond";
}

/** Returns the version that an operator's document adds to what is followed. */
const fromOperator = (root: TrustRoot | undefined, text: string, name: string): TrustRoot =>
  root === undefined ? anchoredRoot(text, name) : nextRoot(root, text, name);

/**
 * Reads the operator's files, lowest version first.
 *
 * @param isFollowed whether the host has a root already: then files that are gone are no fault
 * @throws UsageError `credential_unreadable`; ArtifactError `trust_root_invalid`
 */
async function filesOf(path: string | undefined, isFollowed: boolean): Promise<string[]> {
  if (path === undefined) return [];
  try {
    return [await readTextFile(path, MAX_ROOT_BYTES)];
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EISDIR") return await filesIn(path);
    if (isFollowed && code === "ENOENT") return [];
    throw unreadable(path, error);
  }
}

function unreadable(path: string, cause: unknown): SealiftError {
  if (cause instanceof RangeError)
    return artifactError("trust_root_invalid", `--root ${path}: ${cause.message}.`, { cause });
  return usageError("credential_unreadable", `--root ${path} cannot be read: ${readFault(cause)}.`, {
    cause,
    hint: "Give the root's file, as `sealift trust show TARGET --out FILE` writes it.",
  });
}

async function filesIn(folder: string): Promise<string[]> {
  const names = (await readdir(folder)).filter((name) => /^\d+\.root\.json$/.test(name));
  const read = (file: string): Promise<string> =>
    readTextFile(file, MAX_ROOT_BYTES).catch((error: unknown) => {
      throw unreadable(file, error);
    });
  const sorted = names.toSorted((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10));
  if (sorted.length > 0) return Promise.all(sorted.map((name) => read(join(folder, name))));
  throw usageError("credential_unreadable", `--root ${folder} has no file such as 1.root.json.`);
}
