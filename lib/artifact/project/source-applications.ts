import { lstatSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { usageError } from "../../contract/errors.ts";
import { type Application, application } from "../../contract/files/application.ts";
import { APPLICATION_FILE, APPLICATIONS_FOLDER, applicationsOf } from "../../contract/files/application-names.ts";
import type { InstallPlan } from "../../contract/files/install-plan.ts";
import { parseYaml } from "../../support/yaml-file.ts";
import type { MemberList } from "../tree/member-list.ts";
import { familyFaults, folderOwner } from "./application-families.ts";
import { applicationFaults, type Found } from "./application-faults.ts";

/** Tells whether a path of a project is an application's folder. It may be a link to the folder of a repository. */
export const isApplicationFolder = (path: string): boolean =>
  path.startsWith(`${APPLICATIONS_FOLDER}/`) && !path.includes("/", APPLICATIONS_FOLDER.length + 1);

/** Describes applications that are links: the packed folder lies elsewhere, so the publication names it. */
export const linkNotes = (root: string, plan: Pick<InstallPlan, "steps">): string[] =>
  applicationsOf(plan).flatMap((id) => {
    const path = join(root, APPLICATIONS_FOLDER, id);
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return [];
    return [`${APPLICATIONS_FOLDER}/${id} is a link: ${realpathSync(path)} is packed.`];
  });

/**
 * Checks the descriptors of the applications that a project's plan installs.
 *
 * @returns each with its id
 * @throws UsageError `source_invalid`, once, with every fault of every descriptor
 */
export function checkApplications(
  root: string,
  members: MemberList,
  plan: InstallPlan,
  pluginsFolder: string,
): Map<string, Application> {
  const ids = applicationsOf(plan);
  if (ids.length > 0 && pluginsFolder === APPLICATIONS_FOLDER)
    throw usageError("source_invalid", `integration.yaml says that ${APPLICATIONS_FOLDER}/ holds plugins.`, {
      hint: "Applications have that folder for themselves: move the plugins to another one.",
    });
  const { apps, faults } = readAll(root, members, ids);
  if (faults.length > 0)
    throw usageError("source_invalid", `The project's applications are not valid: ${faults.join("; ")}`, { faults });
  return apps;
}

/** Reads the descriptors of applications, with every fault of every one. */
function readAll(root: string, members: MemberList, ids: readonly string[]) {
  const apps = new Map<string, Application>();
  const found = new Map<string, string[]>();
  for (const id of ids) {
    const app = readIn(root, members, id);
    if (Array.isArray(app)) found.set(id, app);
    else apps.set(id, app);
  }
  const blame = (id: string, faults: readonly string[]): void =>
    void found.set(id, [...(found.get(id) ?? []), ...faults]);
  // One that cannot be read tells nothing of those that are of it.
  const unreadable = new Set(found.keys());
  const family = familyFaults(apps).filter(([id]) => !unreadable.has(apps.get(id)!.of!));
  for (const [id, fault] of family) blame(id, [fault]);
  for (const [id, app] of apps) {
    const shared = folderOwner(apps, id);
    // Whose folder it runs in is not known.
    if (family.some(([one]) => one === id) || (app.of !== undefined && shared === id)) continue;
    const { data } = apps.get(shared)!;
    blame(id, applicationFaults({ ...app, data }, kindIn(members, shared), kindIn(members, id)));
  }
  const faults = ids.flatMap((id) => (found.get(id) ?? []).map((fault) => `${fileOf(id)}: ${fault}`));
  return { apps, faults };
}

const fileOf = (id: string): string => `${APPLICATIONS_FOLDER}/${id}/${APPLICATION_FILE}`;

/** Returns what tells the kinds of the members of an application's folder. */
const kindIn =
  (members: MemberList, id: string) =>
  (at: string): Found => {
    const index = members.indexOf(`${APPLICATIONS_FOLDER}/${id}/${at}`);
    const member = index === undefined ? undefined : members.at(index);
    return member?.type === "file" && member.executable ? "program" : member?.type;
  };

/** Reads the descriptor of an application. @returns its faults instead, if it has some */
function readIn(root: string, members: MemberList, id: string): Application | string[] {
  const path = fileOf(id);
  if (!members.has(path)) return ["is missing, and the plan installs this application"];
  let faults: string[] = [];
  try {
    const text = readFileSync(join(root, path), "utf8");
    return parseYaml(text, application, path, (message, all) => {
      faults = all;
      return usageError("source_invalid", message, { faults: all });
    });
  } catch (error) {
    if (faults.length > 0) return faults;
    throw error;
  }
}
