import { usageError } from "../../lib/contract/errors.ts";

/** Returns the root of a hub that an argument names, without trailing slashes. @throws UsageError `usage` */
export function hubUrlOf(given: string, argument: string): string {
  const url = URL.parse(given);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "")
    throw usageError("usage", `${argument} is an http or https URL without a password, not ${JSON.stringify(given)}.`);
  return given.replace(/\/+$/, "");
}
