import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { Document, parseDocument } from "yaml";
import { usageError } from "../contract/errors.ts";
import { type ApplicationGrant, type ApplicationsFile, applicationsFile } from "../contract/files/applications.ts";
import { SCHEMA_COMMENT } from "../contract/files/json-schemas.ts";
import type { AppLimits } from "../contract/files/limit-forms.ts";
import { ifThere, makeFolder, writeFileAtomic } from "../support/files.ts";
import { parseYaml } from "../support/yaml-file.ts";

/** Grant as the operator states it; what is not stated stays as the file has it. */
export type StatedGrant = Partial<ApplicationGrant>;

/**
 * Returns `applications.yaml` with one grant added or changed. Comments and whatever else the operator wrote stay.
 *
 * @param path of the file in messages
 * @param text of the file; undefined for none
 * @throws UsageError `usage` where another program runs the applications of the root; `config_invalid`
 */
export function withGrant(
  path: string,
  text: string | undefined,
  supervisor: ApplicationsFile["supervisor"],
  id: string,
  grant: StatedGrant,
): string {
  const document = text === undefined ? new Document({ supervisor, applications: {} }) : parseDocument(text);
  if (text !== undefined) {
    const { supervisor: present } = parseYaml(text, applicationsFile, path);
    if (present !== supervisor)
      throw usageError(
        "usage",
        `${path} says \`supervisor: ${present}\`, and one program runs a root's applications.`,
        {
          hint: `Change it to \`${supervisor}\` if that is what you want, and run the command again.`,
        },
      );
  }
  // One that is of another application has that one's user, and one with a user is of nobody.
  const replaced =
    grant.of !== undefined ? ["user", "same_user", "alone"] : grant.user || grant.same_user ? ["of"] : [];
  for (const key of replaced)
    if (document.hasIn(["applications", id, key])) document.deleteIn(["applications", id, key]);
  const { limits = {}, ...others } = grant;
  for (const [key, value] of Object.entries(others))
    document.setIn(["applications", id, key], document.createNode(value));
  // Each by itself: others that were given before stay.
  for (const [key, value] of Object.entries(limits))
    document.setIn(["applications", id, "limits", key], document.createNode(value));
  const granted = document.getIn(["applications", id]);
  if (granted === undefined) document.setIn(["applications", id], document.createNode({}));
  const written = `${text === undefined ? `${SCHEMA_COMMENT("applications")}\n` : ""}${document.toString()}`;
  parseYaml(written, applicationsFile, path);
  return written;
}

/** Returns the limits of an application in the text of a file of grants, those of earlier calls included. */
export const limitsIn = (path: string, text: string, id: string): AppLimits =>
  parseYaml(text, applicationsFile, path).applications[id]?.limits ?? {};

/** Reads the text of a file of grants; undefined without one. */
export const readText = (path: string): Promise<string | undefined> => ifThere(readFile(path, "utf8"));

/** Writes a file of grants, and missing folders above it. */
export async function writeText(path: string, text: string): Promise<void> {
  await makeFolder(dirname(path));
  await writeFileAtomic(path, text);
}

/** Writes a grant into the file at `path`, which need not exist; see {@link withGrant}. */
export const writeGrant = async (
  path: string,
  supervisor: ApplicationsFile["supervisor"],
  id: string,
  grant: StatedGrant,
): Promise<void> => writeText(path, withGrant(path, await readText(path), supervisor, id, grant));
