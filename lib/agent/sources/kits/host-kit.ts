import { hash } from "node:crypto";
import { changedKit, type KitFolder, openKitFolder, requireHubsWord } from "../../../artifact/kits/kit-folder.ts";
import { NONCE_BYTES, TAG_BYTES } from "../../../artifact/limits.ts";
import type { HostKey } from "../../../artifact/sealed/host-key.ts";
import { openKitTerms, type ReadKit } from "../../../artifact/sealed/kit.ts";
import { parseRoot } from "../../../artifact/trust/root.ts";
import type { RootOrigin } from "../../../client/trust-roots.ts";
import { artifactError, asSealiftError, type SealiftError } from "../../../contract/errors.ts";
import type { KitTerms, KitText } from "../../../contract/kits/texts.ts";
import { baseUrl } from "../../../contract/surfaces/paths.ts";
import { type Target, targetName, targetText } from "../../../contract/target.ts";
import { isNewerKit, readAcceptedKit } from "../../../releases/kits.ts";
import type { Layout } from "../../../releases/layout.ts";
import type { Emit } from "../../base/events.ts";

/** Choice of a kit in place of a hub. */
export interface KitChoice {
  /** Folder of the kit. */
  folder: string;
  /** Key of this host, to which a kit is sealed. */
  key: HostKey;
  /** Hub whose kits alone count, by its public URL; undefined for any. */
  hubUrl?: string | undefined;
  /** Whether a kit that has ended is taken, with a warning. */
  allowsEnded: boolean;
}

/** Kit for this host, whose terms agree with all of it. Its bytes are not verified yet. */
export interface HostKit {
  kit: KitFolder;
  text: ReadKit;
  terms: KitTerms;
  /** Key of `artifact.bin`. */
  key: Buffer;
  /** Time before which it cannot be now, in milliseconds since 1970. */
  notBefore: number;
  /** Whether it was made after the kit that this host has accepted. */
  isNewer: boolean;
  roots: RootOrigin;
}

const foreign = (why: string): SealiftError =>
  artifactError("kit_foreign", `The kit is not for this place: ${why}.`, {
    hint: "Nothing was changed. `sealift kit show` says what a kit is for.",
  });

/** Facts that stand in the kit and in the terms of each host. */
const SHARED = ["hub", "target", "version", "digest", "made_at", "ends_at"] as const;

/**
 * Opens a kit for a target of this host (docs/contract/kits.md#what-a-host-checks). A kit is as little trusted as a
 * hub: what it brings is verified as what a hub sends.
 *
 * @throws ArtifactError `kit_unreadable`, `kit_foreign`, `kit_changed`, `kit_older`, `kit_ended`
 */
export async function openHostKit(
  { folder, key, hubUrl, allowsEnded }: KitChoice,
  target: Target,
  { layout, emit }: { layout: Layout; emit: Emit },
): Promise<HostKit> {
  const kit = await openKitFolder(folder);
  const { text } = kit;
  if (text.target !== targetText(target)) throw foreign(`it is of ${text.target}, and not of ${targetText(target)}`);
  if (hubUrl !== undefined && baseUrl(text.hub) !== baseUrl(hubUrl))
    throw foreign(`it was made at ${text.hub}, and --hub-url is ${hubUrl}`);
  const terms = hostTerms(kit, key);
  const accepted = await readAcceptedKit(layout, targetName(target));
  const madeAt = Date.parse(terms.made_at);
  if (accepted !== undefined && madeAt < Date.parse(accepted.made_at))
    throw artifactError(
      "kit_older",
      `The kit was made at ${terms.made_at}, and this host has accepted one that was made at ${accepted.made_at}.`,
      { hint: "Nothing was changed. `sealift rollback` goes back; for another version have a new kit made." },
    );
  // No honest clock shows a time before that of a kit that was accepted, or before that of this one.
  const notBefore = Math.max(madeAt, Date.parse(accepted?.made_at ?? terms.made_at));
  warnOrRefuse(terms, Math.max(Date.now(), notBefore), allowsEnded, emit);
  const isNewer = isNewerKit(terms.made_at, accepted);
  return { kit, text, terms, key: Buffer.from(terms.key, "base64"), notBefore, isNewer, roots: rootsOf(text) };
}

/**
 * Returns the terms of a kit for a host, which agree with all of the kit but its bytes.
 *
 * @throws ArtifactError `kit_foreign` for a kit of other hosts, `kit_changed`, `kit_unreadable`
 */
export function hostTerms({ text, size: found }: KitFolder, key: HostKey): KitTerms {
  const terms = termsOf(text, key);
  for (const name of SHARED)
    if (terms[name] !== text[name]) throw changedKit(`kit.json has another ${name} than its terms`);
  if (terms.kit !== text.id) throw changedKit("kit.json has another id than its terms");
  if (terms.to !== key.fingerprint) throw changedKit("the terms are those of another host");
  requireSaid(text, terms);
  const size = text.project?.size_bytes ?? text.archive!.size_bytes + NONCE_BYTES + TAG_BYTES;
  if (found !== size) throw changedKit(`artifact.bin has ${found} bytes, and not ${size}`);
  return terms;
}

/**
 * Requires that the maker of the terms has said of the version what kit.json says, and that the key which the kit names
 * has signed it. Whose key that is, policies ask: whoever can open the version can seal and sign the whole anew.
 */
function requireSaid(text: ReadKit, terms: KitTerms): void {
  const { said, facts, provenance } = text;
  if (terms.said !== said) throw changedKit("kit.json says something else of the version than the hub has said");
  requireHubsWord(text);
  const record = facts?.statements.find(({ kind }) => kind === "provenance");
  const found = provenance === null ? undefined : hash("sha256", Buffer.from(provenance, "base64"), "hex");
  if (record?.sha256 !== found) throw changedKit("its provenance is not the one of which the hub has the digest");
}

function warnOrRefuse({ ends_at: end }: KitTerms, now: number, allowsEnded: boolean, emit: Emit): void {
  if (Date.parse(end) > now) return;
  if (!allowsEnded)
    throw artifactError("kit_ended", `The kit ended at ${end}; it is ${new Date(now).toISOString()} here.`, {
      hint: "Nothing was changed. Have a new kit made; --allow-ended takes this one, with a warning.",
    });
  emit({ event: "warning", message: `The kit ended at ${end}, and is taken with --allow-ended.` });
}

/** Opens what the kit has for this host. @throws ArtifactError `kit_foreign`, `kit_changed`, `kit_unreadable` */
function termsOf({ hosts }: KitText, key: HostKey): KitTerms {
  const sealed = hosts[key.fingerprint];
  if (sealed === undefined)
    throw foreign(
      `it is for ${Object.keys(hosts).length} other host${Object.keys(hosts).length === 1 ? "" : "s"}, and this one has the fingerprint ${key.fingerprint}`,
    );
  try {
    return openKitTerms(sealed, key);
  } catch (error) {
    const { code, message } = asSealiftError(error);
    if (code !== "sealed_invalid") throw error;
    throw changedKit(message.replace(/\.$/, ""), error);
  }
}

/** Returns the versions of a trust root that a kit has. Each is verified where it is followed. */
function rootsOf({ roots }: KitText): RootOrigin {
  const versions = new Map<number, string>();
  for (const [index, text] of roots.entries()) {
    try {
      versions.set(parseRoot(text, `Root ${index + 1} of the kit`).version, text);
    } catch {
      // One that cannot be read is as one that is not there: the host goes on with the version that it has.
    }
  }
  return { name: "the kit", read: (version) => Promise.resolve(versions.get(version)) };
}

/** Returns the version that a kit brings. @throws ArtifactError `kit_foreign` for another one */
export function versionIn({ version }: KitText, wanted: string): string {
  if (wanted === "latest" || wanted === version) return version;
  throw foreign(`it has the version ${version}, and not ${wanted}`);
}
