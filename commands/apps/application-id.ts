import { usageError } from "../../lib/contract/errors.ts";
import { pluginId } from "../../lib/contract/identifiers.ts";
import type { Layout } from "../../lib/releases/layout.ts";

/** Reads the id of an application. @throws UsageError `usage` */
export function applicationId(text: string): string {
  if (pluginId.safeParse(text).success) return text;
  throw usageError("usage", `${JSON.stringify(text)} is not an id of an application.`, {
    hint: "It is the name of its folder in apps/, such as web.",
  });
}

/** Reads the id of an application that a project root has installed or grants. @throws UsageError `usage` */
export async function knownApplication(layout: Layout, text: string): Promise<string> {
  const { knownApplications } = await import("../../lib/releases/applications.ts");
  const id = applicationId(text);
  const known = await knownApplications(layout);
  if (known.includes(id)) return id;
  throw usageError("usage", `There is no application ${id} in ${layout.root}.`, {
    hint: known.length === 0 ? "None is installed or granted there." : `It has ${known.join(", ")}.`,
  });
}

/** Returns the error for an application that is of another one and is to have a user all the same. */
export const hasNoUser = (id: string, of: string) =>
  usageError("usage", `${id} is of ${of}, and runs as its user.`, { hint: "Give --of, or a user of its own." });
