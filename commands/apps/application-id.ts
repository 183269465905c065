import { usageError } from "../../lib/contract/errors.ts";
import { pluginId } from "../../lib/contract/identifiers.ts";

/** Reads the id of an application. @throws UsageError `usage` */
export function applicationId(text: string): string {
  if (pluginId.safeParse(text).success) return text;
  throw usageError("usage", `${JSON.stringify(text)} is no id of an application.`, {
    hint: "It is the name of its folder in apps/, such as web.",
  });
}
