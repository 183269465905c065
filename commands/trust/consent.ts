import type { BaseContext } from "clipanion";
import { usageError } from "../../lib/contract/errors.ts";
import { canAnswer, confirm } from "../shell/output/confirm.ts";

const DANGER = "Whoever takes this key owns these hosts, and only a visit takes them back.";

/** Asks before one key alone may change a root. @throws UsageError `usage` without consent */
export async function requireConsent(threshold: number, isAgreed: boolean, context: BaseContext): Promise<void> {
  if (threshold > 1 || isAgreed) return;
  if (!canAnswer(context)) throw usageError("usage", DANGER, { hint: "Add --yes to say so in a script." });
  if (!(await confirm(context, `${DANGER} Go on?`))) throw usageError("usage", "Nothing was done.");
}
