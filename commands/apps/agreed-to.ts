import type { BaseContext } from "clipanion";
import { usageError } from "../../lib/contract/errors.ts";
import { canAnswer, confirm } from "../shell/output/confirm.ts";

/** Asks a person to allow what was shown, unless `--yes` did. @throws UsageError `usage` where nobody has agreed */
export async function agreedTo({ context, yes }: { context: BaseContext; yes: boolean }): Promise<void> {
  if (yes) return;
  if (!canAnswer(context))
    throw usageError("usage", "Nothing was allowed: nobody is here to agree.", { hint: "Add --yes to allow it." });
  if (!(await confirm(context, "Allow it?"))) throw usageError("usage", "Nothing was allowed.");
}
