import type { MembershipKind } from "../../contract/surfaces/app-serve.ts";
import { readGrants } from "../../releases/applications.ts";
import { isApplication, type Item, type Layout } from "../../releases/layout.ts";
import type { SupervisorChoice } from "../supervisors/supervisor.ts";

/** Returns the ways in which processes of applications are told from others, by id; best effort. */
export async function membershipsOf(
  layout: Layout,
  items: readonly Item[],
  { systemdScope, applications }: Pick<SupervisorChoice, "systemdScope" | "applications">,
): Promise<Record<string, MembershipKind>> {
  const told: Record<string, MembershipKind> = {};
  const apps = items.filter(isApplication);
  if (apps.length === 0 || applications !== undefined) return told;
  try {
    const grants = await readGrants(layout);
    if (grants === undefined) return told;
    const { applicationRunner } = await import("../supervisors/applications.ts");
    const runner = applicationRunner({ layout, grants, systemdScope });
    for (const { id } of apps) {
      const { membership } = await runner.look(id);
      if (membership !== null) told[id] = membership;
    }
  } catch {
    // A supervisor that does not answer now has answered the health check.
  }
  return told;
}
