import { KEY_HINT } from "../../lib/client/error-wording.ts";
import type { SealiftError } from "../../lib/contract/errors.ts";
import type { Layer } from "../../lib/options/layers.ts";
import { withoutPasswords } from "../../lib/support/printable.ts";
import { withHint } from "./output/failure.ts";

/** Returns where the API key of a command came from: its option, and the file that held it; undefined for no key. */
function sourceOf(layers: readonly Layer[]): string | undefined {
  for (const layer of layers) {
    if (layer.get("api-key") !== undefined) return layer.label("api-key");
    const file = layer.get("api-key-file");
    if (typeof file === "string") return `${layer.label("api-key-file")} (${file === "-" ? "standard input" : file})`;
  }
  return undefined;
}

/**
 * Adds to a hub's refusal of an API key where the key came from, and which hub it was: several places may have one.
 *
 * @param hubUrl hub of the command; undefined where it uses none
 */
export function withKeySource(error: SealiftError, layers: readonly Layer[], hubUrl: unknown): SealiftError {
  // The key of a runtime, or the token of a CI run, has a hint of its own.
  if (error.code !== "key_rejected" || error.hint !== KEY_HINT || typeof hubUrl !== "string") return error;
  const source = sourceOf(layers);
  return source === undefined
    ? error
    : withHint(error, `It came from ${source}; the hub is ${withoutPasswords(hubUrl)}.`);
}
