import { basename, dirname, extname } from "node:path";
import type { NamedKey, RootKeys } from "../../lib/artifact/trust/edit.ts";
import { keyIdOf, publicRootKey, type RootSigner, rootSigner } from "../../lib/artifact/trust/keys.ts";
import { parseRoot, type TrustRoot } from "../../lib/artifact/trust/root.ts";
import { usageError } from "../../lib/contract/errors.ts";
import { MAX_ROOT_BYTES } from "../../lib/contract/trust/marks.ts";
import { readFault, readKeyFile, readTextFile } from "../../lib/support/files.ts";

/** Matches an Ed25519 key on the command line itself, in hexadecimal or base64. */
const IS_KEY = /^(?:[0-9a-f]{64}|[A-Za-z0-9+/_-]{43}=?)$/i;

/** Returns the name of a key for people: its file's, or that of the folder of a `signer.pub`. */
function nameOf(file: string): string {
  const name = basename(file, extname(file));
  return name === "signer" ? basename(dirname(file)).replace(/^\.$/, "signer") : name;
}

/** Reads a public key: a file, or the key itself. @throws UsageError `credential_unreadable`, `key_file_invalid` */
async function keyFrom(given: string, option: string): Promise<NamedKey> {
  try {
    return { key: publicRootKey(await readKeyFile(given), given), name: nameOf(given) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined || "kind" in (error as object)) throw error;
    if (IS_KEY.test(given.trim())) return { key: publicRootKey(Buffer.from(given.trim()), option) };
    throw usageError("credential_unreadable", `${option} ${given} cannot be read: ${readFault(error)}.`, {
      cause: error,
      hint: "Give the file of a public key, or the key itself in hex or base64.",
    });
  }
}

/** Reads the public keys of an option. @throws as {@link keyFrom} */
export const keysFrom = (given: readonly string[] | undefined, option: string): Promise<NamedKey[]> =>
  Promise.all((given ?? []).map((each) => keyFrom(each, option)));

/**
 * Returns keys without those that are named by key, file, name or id.
 *
 * @throws UsageError `usage` for one that is not there
 */
export async function without(
  keys: readonly NamedKey[],
  given: readonly string[] | undefined,
  option: string,
): Promise<NamedKey[]> {
  let left = [...keys];
  for (const each of given ?? []) {
    const id = await keyFrom(each, option).then(
      ({ key }) => keyIdOf(key),
      () => undefined,
    );
    const others = left.filter(({ key, name }) => !(keyIdOf(key) === id || keyIdOf(key) === each || name === each));
    const found = left.length - others.length;
    if (found === 1) left = others;
    else
      throw usageError(
        "usage",
        `${option} ${each} is ${found === 0 ? "not a key" : `the name of ${found} keys`} of the root.`,
        {
          hint: "`sealift trust show FILE` lists them, with their names and ids.",
        },
      );
  }
  return left;
}

/** Reads a private key that signs roots. @throws UsageError `credential_unreadable`, `key_file_invalid` */
export async function signerIn(file: string, option: string): Promise<RootSigner> {
  const content = await readKeyFile(file).catch((error: unknown) => {
    throw usageError("credential_unreadable", `${option} ${file} cannot be read: ${readFault(error)}.`, {
      cause: error,
    });
  });
  return rootSigner(content, file);
}

/** Reads the file of a version of a root. @throws UsageError `credential_unreadable`; ArtifactError */
export async function rootIn(file: string): Promise<TrustRoot> {
  const text = await readTextFile(file, MAX_ROOT_BYTES).catch((error: unknown) => {
    throw usageError("credential_unreadable", `${file} cannot be read: ${readFault(error)}.`, { cause: error });
  });
  return parseRoot(text, file);
}

/** Fewest root keys without a threshold of one's own: one of them may be lost. */
const LEAST_ROOT_KEYS = 3;
const USUAL_THRESHOLD = 2;

/**
 * Returns the threshold that is given or usual.
 *
 * @throws UsageError `usage` where too few keys are there for it
 */
export function thresholdOf(given: number | undefined, keys: Pick<RootKeys, "root">): number {
  if (given === undefined && keys.root.length < LEAST_ROOT_KEYS)
    throw usageError(
      "usage",
      `A root has ${LEAST_ROOT_KEYS} keys, of which ${USUAL_THRESHOLD} sign, unless you say so.`,
      {
        hint: "Give further --root-key options, or --threshold with a number of your own.",
      },
    );
  const threshold = given ?? USUAL_THRESHOLD;
  if (threshold <= keys.root.length) return threshold;
  throw usageError(
    "usage",
    `--threshold ${threshold} is more than the root keys that are there (${keys.root.length}).`,
  );
}
