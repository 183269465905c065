import type { Application } from "../../contract/files/application.ts";

/** Fault of an application's `of`: its id, and the sentence. */
export type FamilyFault = readonly [id: string, message: string];

/**
 * Finds what is wrong with the applications of a version that are of another one: that one is in the version, runs all
 * the time, and is of nobody itself.
 */
export function familyFaults(apps: ReadonlyMap<string, Application>): FamilyFault[] {
  const faults: FamilyFault[] = [];
  for (const [id, { of }] of apps) {
    if (of === undefined) continue;
    const base = apps.get(of);
    const why =
      of === id
        ? "it cannot be of itself"
        : base === undefined
          ? `the plan installs no application ${of}`
          : base.of !== undefined
            ? `${of} is of ${base.of} itself: name the application whose folder it shares`
            : base.schedule !== undefined && apps.get(id)!.schedule === undefined
              ? `${of} is a job, and ${id} would start once it works`
              : undefined;
    if (why !== undefined) faults.push([id, `of: ${why}`]);
  }
  return faults;
}

/** Returns the application whose folder an application runs in: the one that it is of, if that is there, or itself. */
export function folderOwner(apps: ReadonlyMap<string, Application>, id: string): string {
  const of = apps.get(id)?.of;
  return of !== undefined && apps.has(of) ? of : id;
}
