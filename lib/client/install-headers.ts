import { artifactError } from "../contract/errors.ts";
import { HEADERS, SIGNATURE_PREFIX } from "../contract/surfaces/headers.ts";
import { printableJson } from "../support/printable.ts";

/** The author's signature as the hub sends it, or a part of it; nothing of it is checked. */
export interface AuthorHeaders {
  signature: string | undefined;
  signer: string | undefined;
}

/** A fetched artifact's headers; the body follows as a stream. */
export interface InstallHeaders {
  /** Lower-case hex of `X-Signature`, checked for its form only. */
  hmac: string;
  author: AuthorHeaders;
  /** `name@version` of X-Plugin or X-Service, when the hub sends it. */
  named: string | undefined;
  repo: string | undefined;
  /** Bytes, when the hub says so. */
  size: number | undefined;
}

/** The hex of an X-Signature header. @throws ArtifactError `signature_missing`, `signature_invalid` */
export function parseSignature(value: string | undefined): string {
  if (value === undefined || value === "") {
    throw artifactError("signature_missing", `The hub sent the artifact without ${HEADERS.signature}.`, {
      hint: "Nothing was installed. Ask the hub's operator: every artifact has its developer's signature.",
    });
  }
  const hex = value.startsWith(SIGNATURE_PREFIX) ? value.slice(SIGNATURE_PREFIX.length) : "";
  if (/^[0-9a-f]{64}$/.test(hex)) return hex;
  throw artifactError(
    "signature_invalid",
    `${HEADERS.signature} is not ${SIGNATURE_PREFIX} and 64 lower-case hexadecimal digits.`,
  );
}

/**
 * Checks that X-Plugin or X-Service names what was asked for (docs/contract/marketplace.md). @throws ArtifactError
 * `header_mismatch`
 */
export function checkNamed(named: string | undefined, version: string, names: readonly string[]): void {
  if (named === undefined) return;
  const at = named.lastIndexOf("@");
  const [name, found] = [named.slice(0, Math.max(at, 0)), named.slice(at + 1)];
  if (at > 0 && found === version && names.includes(name)) return;
  throw artifactError(
    "header_mismatch",
    `The hub sent ${printableJson(named.slice(0, 200))}, not ${names[0]}@${version}.`,
    {
      hint: "Nothing was installed. Ask the hub's operator.",
    },
  );
}
