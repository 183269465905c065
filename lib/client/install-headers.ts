import { artifactError } from "../contract/errors.ts";
import { HEADERS, SIGNATURE_PREFIX } from "../contract/surfaces/headers.ts";
import { printableJson } from "../support/printable.ts";

/** Author's signature, or a part of it, as the hub sends it, unverified. */
export interface AuthorHeaders {
  signature: string | undefined;
  signer: string | undefined;
}

/** Headers of a fetched artifact; the body follows as a stream. */
export interface InstallHeaders {
  /** Lower-case hex of `X-Signature`, of which only the form is checked. */
  hmac: string;
  author: AuthorHeaders;
  /** `name@version` of X-Plugin or X-Service, if the hub sends it. */
  named: string | undefined;
  repo: string | undefined;
  /** Size in bytes, if the hub states it. */
  size: number | undefined;
}

/** Returns the hex of an X-Signature header. @throws ArtifactError `signature_missing`, `signature_invalid` */
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
 * Requires that X-Plugin or X-Service names what was requested (docs/contract/marketplace.md). @throws ArtifactError
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
