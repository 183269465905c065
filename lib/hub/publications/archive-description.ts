import { open } from "node:fs/promises";
import * as z from "zod";
import { FileWindow } from "../../artifact/zip/file-window.ts";
import type { ZipMember } from "../../artifact/zip/member-table.ts";
import { isSmall, smallContent } from "../../artifact/zip/unzip-member.ts";
import { artifactError, SealiftError } from "../../contract/errors.ts";
import { targetDescription } from "../../contract/surfaces/marketplace.ts";
import { parseForeignYaml } from "../../support/yaml-file.ts";
import { text } from "../records/columns.ts";

/** Schema of a descriptor's description, with the limits of one that a person gives; the other keys are not read. */
const describing = z.looseObject({ description: targetDescription.trim().min(1).pipe(text) });

/**
 * Reads the description in an archive's descriptor, as catalogues show it.
 *
 * @param path file with an archive whose contents were checked
 * @param member its descriptor
 * @returns null without a description, and for one that a person could not give either
 */
export async function descriptionIn(path: string, member: ZipMember): Promise<string | null> {
  if (!isSmall(member)) return null;
  await using file = await open(path);
  const yaml = smallContent(new FileWindow(file.fd), member).toString("utf8");
  const unreadable = (message: string, faults: string[]) => artifactError("descriptor_invalid", message, { faults });
  try {
    return (await parseForeignYaml(yaml, describing, member.path, unreadable)).description;
  } catch (error) {
    if (error instanceof SealiftError) return null;
    throw error;
  }
}
