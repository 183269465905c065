import { artifactError } from "../../contract/errors.ts";
import type { Descriptor } from "../../contract/files/descriptor.ts";
import { printableJson } from "../../support/printable.ts";

const withoutV = (label: string): string => label.replace(/^v(?=\d)/, "");

/**
 * Rejects another plugin, or another version, of the same developer, whose signature is valid for everything that
 * developer ever published.
 *
 * @throws ArtifactError `descriptor_mismatch`
 */
export function checkDescriptor(
  { name, version: described }: Pick<Descriptor, "name" | "version">,
  version: string,
  { slug, allowVersionMismatch = false }: { slug: string; allowVersionMismatch?: boolean },
): void {
  const hint = "Nothing was installed. Ask the hub's operator why it answers with this archive.";
  if (name !== slug)
    throw artifactError("descriptor_mismatch", `The archive holds the plugin ${printableJson(name)}, not ${slug}.`, {
      hint,
    });
  if (allowVersionMismatch || withoutV(described) === withoutV(version)) return;
  throw artifactError(
    "descriptor_mismatch",
    `The archive holds version ${printableJson(described)} of ${slug}, not ${version}.`,
    { hint: `${hint} If its developer tags otherwise, give --allow-version-mismatch.` },
  );
}
