import type { KeyService } from "../../lib/client/key-service.ts";
import { SealiftError, usageError } from "../../lib/contract/errors.ts";
import type { SignerRecord } from "../../lib/contract/surfaces/signers.ts";

/** Returns the key in a word or file, in hexadecimal. @throws UsageError */
export async function keyFrom(text: string): Promise<string> {
  const { publicKeyFrom } = await import("../shell/signer.ts");
  return Buffer.from(await publicKeyFrom(text, "KEY")).toString("hex");
}

/** Matches the first digits of a key, as `sealift fleet` and messages show them. */
const SHORT = /^([0-9a-f]{8,63})…?$/i;

/**
 * Returns the key that a person means: a file or the key itself, the name that the register has for it, or its first
 * digits among the keys of the register and those that have signed versions.
 *
 * @throws UsageError, also for a word that several keys have
 */
export async function namedSigner(
  client: Pick<KeyService, "listVersions">,
  { id, registered, text }: { id: string; registered: readonly SignerRecord[]; text: string },
): Promise<string> {
  const given = await keyFrom(text).catch((error: unknown) => error);
  if (typeof given === "string") return given;
  const digits = SHORT.exec(text)?.[1]?.toLowerCase();
  const found = new Set(
    registered
      .filter(({ name, public_key: key }) => name === text || (digits !== undefined && key.startsWith(digits)))
      .map(({ public_key: key }) => key),
  );
  if (digits !== undefined)
    for (const key of await signersOfVersions(client, id)) if (key.startsWith(digits)) found.add(key);
  if (found.size === 1) return [...found][0]!;
  if (found.size > 1)
    throw usageError("usage", `KEY ${text} is the name of ${found.size} signers.`, {
      hint: `Give one of them in full: ${[...found].join(", ")}.`,
    });
  throw given instanceof SealiftError && given.code === "credential_unreadable"
    ? usageError("usage", `KEY ${text} is no file, no key and no signer that is known there.`, {
        hint: "Give a file, a key, its name or its first digits; `sealift signer list` and `sealift fleet` show them.",
      })
    : given;
}

/** Returns the keys that have signed versions of a target that stand, in hexadecimal. */
export async function signersOfVersions(
  client: Pick<KeyService, "listVersions">,
  id: string,
  onlyStanding = false,
): Promise<Set<string>> {
  const keys = new Set<string>();
  for await (const { signer_public_key: signer, is_yanked: isYanked, state } of client.listVersions({ params: { id } }))
    if (signer !== null && !(onlyStanding && (isYanked || state?.name === "staged")))
      keys.add(Buffer.from(signer, "base64").toString("hex"));
  return keys;
}
