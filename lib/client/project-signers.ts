import type { KeyService } from "./key-service.ts";

/** Returns the key that has signed the latest version of a project, in hexadecimal. @param id of the project */
export async function latestSigner(client: Pick<KeyService, "listVersions">, id: string): Promise<string | undefined> {
  for await (const { is_latest: isLatest, signer_public_key: signer } of client.listVersions({ params: { id } }))
    if (isLatest && signer !== null) return Buffer.from(signer, "base64").toString("hex");
  return undefined;
}

/**
 * Returns the keys that hosts of a project should pin, in hexadecimal: the active ones of its register, or else the
 * signer of its latest version.
 *
 * @param id of the project
 */
export async function currentSigners(
  client: Pick<KeyService, "listSigners" | "listVersions">,
  id: string,
): Promise<string[]> {
  const registered = await Array.fromAsync(client.listSigners({ params: { id } }));
  if (registered.length > 0) return registered.flatMap(({ state, public_key: key }) => (state === "active" ? key : []));
  const latest = await latestSigner(client, id);
  return latest === undefined ? [] : [latest];
}

/** Newest versions among which one of a signer is looked for. */
const LOOKED_AT = 1000;
/** Most other signers that are named. */
const NAMED = 3;

/**
 * Returns who has signed versions of a target, the latest signers first, where no version that hosts may get carries a
 * key; nothing where one does, or where no other key has signed any. A yanked or staged version does not carry it.
 *
 * @param id of the project, plugin or service @param key in hexadecimal
 */
export async function otherSigners(
  client: Pick<KeyService, "listVersions">,
  id: string,
  key: string,
): Promise<string[]> {
  const others = new Set<string>();
  let looked = 0;
  for await (const { signer_public_key: signer, is_yanked: isYanked, state } of client.listVersions({
    params: { id },
  })) {
    if (++looked > LOOKED_AT) break;
    if (signer === null) continue;
    const hex = Buffer.from(signer, "base64").toString("hex");
    if (hex !== key) others.add(hex);
    else if (!isYanked && state?.name !== "staged") return [];
  }
  return [...others].slice(0, NAMED);
}
