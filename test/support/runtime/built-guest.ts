import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";

/**
 * Stands in for `lib/runtime/sandbox/guest-files.ts` where a build is there: a sandbox whose files are stripped of
 * their types first costs half a second of processor time more, at each of the hundreds of starts in the tests.
 */

const dist = (path: string): string => realpathSync(fileURLToPath(new URL(`../../../dist/${path}`, import.meta.url)));

export const BOOTSTRAP = dist("lib/guest/bootstrap.js");

export const SHARED_READS: readonly string[] = [dist("lib/guest"), dist("sdk"), dist("zod")];
