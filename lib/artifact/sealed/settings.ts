import { artifactError } from "../../contract/errors.ts";
import { MAX_OUTCOME_BYTES, MAX_SETTINGS_BYTES, SETTINGS_PAD_BYTES } from "../../contract/settings/limits.ts";
import {
  type SettingsDocument,
  settingsDocument,
  type SettingsOutcome,
  settingsOutcome,
} from "../../contract/settings/texts.ts";
import { publicKeyOf } from "../signatures/ed25519.ts";
import { openSealed, seal } from "./age.ts";
import type { HostKey } from "./host-key.ts";
import { readSigned, type SignedKind, type SignedText, signText } from "./signed-text.ts";

const DOCUMENT: SignedKind<SettingsDocument> = {
  schema: settingsDocument,
  maxBytes: MAX_SETTINGS_BYTES,
  name: "The settings of the host",
  code: "settings_invalid",
};

const OUTCOME: SignedKind<SettingsOutcome> = {
  schema: settingsOutcome,
  maxBytes: MAX_OUTCOME_BYTES,
  name: "What the host says of its settings",
  code: "outcome_invalid",
};

/** Settings of a host that a pinned operator has signed. */
export type SignedSettings = SignedText<SettingsDocument>;

/** Pads a text with spaces, which JSON does not see, to a multiple of {@link SETTINGS_PAD_BYTES}. */
function padded(text: string): Buffer {
  const bytes = Buffer.byteLength(text);
  return Buffer.from(text + " ".repeat(-bytes & (SETTINGS_PAD_BYTES - 1)));
}

/**
 * Signs the settings of a host and seals them to it.
 *
 * @param reader public X25519 key of the host, hexadecimal
 * @param operatorSeed 32 bytes
 * @throws ArtifactError `settings_invalid` for settings that are larger than a host takes
 */
export function sealSettings(
  document: Omit<SettingsDocument, "t" | "v" | "operator">,
  reader: string,
  operatorSeed: Uint8Array,
): { sealed: Buffer; digest: string } {
  const operator = Buffer.from(publicKeyOf(operatorSeed)).toString("hex");
  const text = padded(signText({ t: "sealift-settings", v: 1, operator, ...document }, [operatorSeed]));
  const { digest } = readSigned(text.toString(), DOCUMENT);
  return { sealed: seal(text, Buffer.from(reader, "hex")), digest };
}

/** Facts of a host by which settings count, or do not. */
export interface SettingsReader {
  key: HostKey;
  /** Project of the target. */
  project: string;
  /** Public keys that are pinned, hexadecimal. */
  operators: readonly string[];
}

/**
 * Opens settings, and verifies that they are this host's, of its project, and of an operator whom it has pinned.
 *
 * @throws ArtifactError `sealed_invalid`, `settings_invalid`, `settings_other`, `settings_operator`
 */
export const openSettings = (sealed: Uint8Array, reader: SettingsReader): SignedSettings =>
  readSettings(openSealed(sealed, reader.key.secret, MAX_SETTINGS_BYTES).toString("utf8"), reader);

/** As {@link openSettings}, for a text that was opened before. */
export function readSettings(
  text: string,
  { key, project, operators }: Omit<SettingsReader, "key"> & { key: Pick<HostKey, "fingerprint"> },
): SignedSettings {
  const settings = readSigned(text, DOCUMENT);
  const { operator, to, project: theirs } = settings.signed;
  if (!operators.includes(operator))
    throw artifactError("settings_operator", `The settings are of the operator ${operator}, who is not pinned here.`, {
      hint: "`sealift host operator` on this host shows who is pinned, and `sealift host operator set` pins another.",
    });
  if (!settings.isSignedBy(operator))
    throw artifactError("settings_invalid", "The operator whom the settings name has not signed them.", {
      hint: "Whoever carries them has changed them. The host goes on with those that it has.",
    });
  if (to !== key.fingerprint) throw other(`the host ${to}, and this one is ${key.fingerprint}`);
  if (theirs !== project) throw other(`the project ${theirs}, and this host's is ${project}`);
  return settings;
}

const other = (whose: string) =>
  artifactError("settings_other", `The settings are those of ${whose}.`, {
    hint: "Whoever carries them has mixed them up. The host goes on with those that it has.",
  });

/** Signs what became of settings on a host. */
export const signOutcome = (outcome: Omit<SettingsOutcome, "t" | "v">, key: HostKey): string =>
  signText({ t: "sealift-outcome", v: 1, ...outcome }, [key.seed]);

/** Reads what a host says of its settings, whoever has signed it. @throws ArtifactError `outcome_invalid` */
export const parseOutcome = (text: string): SignedText<SettingsOutcome> => readSigned(text, OUTCOME);

/**
 * Reads what a host says of its settings, and verifies that it does.
 *
 * @param host its public key and fingerprint, from the roll
 * @throws ArtifactError `outcome_invalid`
 */
export function readOutcome(
  text: string,
  { ed25519, fingerprint, project }: { ed25519: string; fingerprint: string; project: string },
): SettingsOutcome {
  const outcome = parseOutcome(text);
  const { signed } = outcome;
  if (outcome.isSignedBy(ed25519) && signed.to === fingerprint && signed.project === project) return signed;
  throw artifactError("outcome_invalid", `What was said of the settings is not signed by the host ${fingerprint}.`, {
    hint: "It does not count. Whoever carries it has changed it, or the host has another key now.",
  });
}
