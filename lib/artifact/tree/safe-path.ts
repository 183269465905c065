import { artifactError, type SealiftError } from "../../contract/errors.ts";
import { printableJson } from "../../support/printable.ts";
import type { Limits } from "../limits.ts";

/** Device names that Windows reserves in every folder, with or without an extension. */
const RESERVED = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?$/i;
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

/** Formats a name for messages: quoted, control characters escaped, shortened. */
export function quoted(name: string): string {
  return printableJson(name.length > 200 ? `${name.slice(0, 200)}…` : name);
}

const unsafe = (name: string, why: string): SealiftError =>
  artifactError("member_unsafe", `The archive's member ${quoted(name)} ${why}.`, {
    hint: "Do not install this archive; ask its publisher for one without such a member.",
  });

/**
 * The one gate between an archive's names and this machine's paths: returns the path for a member's name, or throws.
 * Removes a leading `./` and a trailing `/`; the root itself is the empty path.
 *
 * @throws ArtifactError `member_unsafe` (absolute, `..`, backslash, drive letter, control characters, reserved or
 *   ambiguous names), `limit_exceeded` (too deep, too long)
 */
export function safePath(name: string, limits: Pick<Limits, "maxDepth" | "maxNameBytes">): string {
  if (name === "") throw unsafe(name, "has no name");
  if (!name.isWellFormed() || name.includes("\ufffd")) throw unsafe(name, "has a name that is not valid Unicode");
  if (CONTROL.test(name)) throw unsafe(name, "has control characters in its name");
  if (name.includes("\\")) throw unsafe(name, "has a backslash in its name");
  if (name.startsWith("/")) throw unsafe(name, "has an absolute name");
  let path = name === "." ? "" : name.startsWith("./") ? name.slice(2) : name;
  if (path.endsWith("/")) path = path.slice(0, -1);
  if (path === "") return "";
  const components = path.split("/");
  for (const component of components) {
    if (component === "" || component === ".") throw unsafe(name, "has an empty component in its name");
    if (component === "..") throw unsafe(name, "would leave its folder through ..");
    if (/^[A-Za-z]:/.test(component)) throw unsafe(name, "has a drive letter in its name");
    if (/[. ]$/.test(component)) throw unsafe(name, "has a component that ends with a dot or a space");
    if (RESERVED.test(component)) throw unsafe(name, "has a name that some systems reserve for devices");
    if (Buffer.byteLength(component) > 255) throw unsafe(name, "has a component of more than 255 bytes");
  }
  if (components.length > limits.maxDepth) {
    throw exceeded(
      `The member ${quoted(name)} is ${components.length} folders deep, the limit is ${limits.maxDepth}.`,
      "--max-depth",
    );
  }
  if (Buffer.byteLength(path) > limits.maxNameBytes) {
    throw exceeded(
      `The member ${quoted(name)} has a name of more than ${limits.maxNameBytes} bytes.`,
      "--max-name-length",
    );
  }
  return path;
}

/** Matches characters that change how a name reads; joiners are part of words and emoji. */
const DECEIVING = /[[\p{Cf}\p{Zl}\p{Zp}]--[\u200c\u200d]]/v;

/**
 * Rejects a name that reads otherwise than it is, such as by U+202E, which turns the direction. Publishers and hubs
 * refuse such names; hosts still take versions that were published with one.
 *
 * @throws ArtifactError `member_unsafe`
 */
export function requireReadable(name: string): void {
  if (DECEIVING.test(name)) throw unsafe(name, "has characters in its name that nobody sees");
}

/** Matches names with no possible fault other than being reserved. */
const PLAIN = /^[A-Za-z0-9_-](?:[A-Za-z0-9_.-]{0,80}[A-Za-z0-9_-])?$/;

/**
 * Checks the names of one archive like {@link safePath}. For consecutive files of one folder it checks the folder's
 * name once, and plain names in it quickly.
 */
export class SafeNames {
  readonly #limits: Pick<Limits, "maxDepth" | "maxNameBytes">;
  /** Folder of the last name that was fully checked, as the archive spells it, with its slash. */
  #prefix: string | undefined;
  /** Characters of a leading `./` in it. */
  #cut = 0;

  constructor(limits: Pick<Limits, "maxDepth" | "maxNameBytes">) {
    this.#limits = limits;
  }

  /** Returns the path for a name. @throws as {@link safePath} */
  path(name: string): string {
    const from = name.lastIndexOf("/") + 1;
    const prefix = name.slice(0, from);
    const last = name.slice(from);
    const known = prefix === this.#prefix && PLAIN.test(last) && !RESERVED.test(last);
    if (known && Buffer.byteLength(name) <= this.#limits.maxNameBytes) return name.slice(this.#cut);
    const path = safePath(name, this.#limits);
    this.#prefix = last === "" || last === "." ? undefined : prefix;
    this.#cut = name.startsWith("./") ? 2 : 0;
    return path;
  }
}

/** Returns the error of an archive that exceeds a limit, with the flag that raises it. */
export function exceeded(message: string, flag: string): SealiftError {
  return artifactError("limit_exceeded", message, {
    hint: `If you trust this publisher and expect such an archive, raise ${flag}.`,
  });
}
