import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { readRegular, unreadableKit } from "../../artifact/kits/kit-folder.ts";
import { parseKitReport } from "../../artifact/sealed/kit.ts";
import { asSealiftError } from "../../contract/errors.ts";
import { MAX_KIT_REPORT_BYTES } from "../../contract/kits/limits.ts";
import { readFault } from "../../support/files.ts";

/** Report of a host, as it lies on a stick. */
export interface ReportFile {
  name: string;
  text: string;
}

/** File that is no report, such as the part of one that a stick which was pulled out has. */
export interface FaultyFile {
  name: string;
  code: string;
  message: string;
}

const readReport = async (folder: string, name: string): Promise<string> =>
  (await readRegular(join(folder, name), 2 * MAX_KIT_REPORT_BYTES)).trim();

/**
 * Reads the reports that lie in a folder, oldest first by what their hosts say: times that a hub must correct, such as
 * those of a host without a clock, become the same, and the last one would count. Each is read for its time, and once
 * more when it comes, so that one alone is in memory. Files that are no reports come first.
 *
 * @throws ArtifactError `kit_unreadable` for a folder that cannot be read
 */
export async function* reportFiles(folder: string): AsyncGenerator<ReportFile | FaultyFile> {
  const names = await readdir(folder).catch((error: unknown) => {
    throw unreadableKit(`${folder}: ${readFault(error)}`, error);
  });
  const found: { name: string; saidMs: number }[] = [];
  for (const name of names.filter((each) => /^[0-9a-f]{16}\.json$/i.test(each)).toSorted())
    try {
      found.push({ name, saidMs: saidIn(parseKitReport(await readReport(folder, name)).signed.report) });
    } catch (error) {
      yield { name, ...faultIn(error) };
    }
  for (const { name } of found.toSorted((a, b) => a.saidMs - b.saidMs)) {
    const read = await readReport(folder, name).catch(faultIn);
    yield typeof read === "string" ? { name, text: read } : { name, ...read };
  }
}

/** Returns why a file is no report, whether it cannot be read or a stick that was pulled out has a part of it. */
function faultIn(error: unknown): Pick<FaultyFile, "code" | "message"> {
  const { message, cause } = asSealiftError(error);
  const said = message.replace(/^The (kit|report) cannot be read: /, "").replace(/\.$/, "");
  const why = cause instanceof SyntaxError ? "it is not the JSON that its host wrote" : said;
  const advice = "`sealift kit collect` on its host writes it again.";
  return { code: "kit_report_invalid", message: `The report is damaged: ${why}. ${advice}` };
}

/** Returns when a host says that its run was over, in milliseconds since 1970; 0 where it does not say. */
function saidIn(report: string): number {
  try {
    return Date.parse((JSON.parse(report) as { completed_at?: string } | null)?.completed_at ?? "") || 0;
  } catch {
    return 0;
  }
}
