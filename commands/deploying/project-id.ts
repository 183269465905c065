import { usageError } from "../../lib/contract/errors.ts";
import { managed } from "../hub/managed.ts";

/** Hub that knows projects by their names. */
interface Known {
  hubUrl?: string | undefined;
  apiKey?: string | undefined;
  timeoutMs?: number | undefined;
}

/**
 * Returns the id of a project by its id or name. Only a name has to be asked for.
 *
 * @throws UsageError `usage` for a name without a hub; DeploymentError `not_found`
 */
export async function projectIdOf(name: string, { hubUrl, apiKey, timeoutMs }: Known): Promise<string> {
  const { projectId } = await import("../../lib/contract/identifiers.ts");
  if (projectId.safeParse(name).success) return name;
  if (hubUrl === undefined || apiKey === undefined)
    throw usageError("usage", `${JSON.stringify(name)} is not a project's id, and no hub is known that has it.`, {
      hint: "Give the id that `sealift project list` shows, or name the hub: --hub-url, or `sealift login`.",
    });
  const { idOf } = await managed({ hubUrl, apiKey, timeoutMs });
  return idOf(`project:${name}`);
}
