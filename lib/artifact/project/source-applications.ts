import { lstatSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { usageError } from "../../contract/errors.ts";
import { type Application, application } from "../../contract/files/application.ts";
import { APPLICATION_FILE, APPLICATIONS_FOLDER, applicationsOf } from "../../contract/files/application-names.ts";
import type { InstallPlan } from "../../contract/files/install-plan.ts";
import { parseYaml } from "../../support/yaml-file.ts";
import type { MemberList } from "../tree/member-list.ts";
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
  const apps = new Map<string, Application>();
  const faults = ids.flatMap((id) => {
    const folder = `${APPLICATIONS_FOLDER}/${id}`;
    const found = readIn(root, members, folder);
    if (!Array.isArray(found)) apps.set(id, found);
    return Array.isArray(found) ? found.map((fault) => `${folder}/${APPLICATION_FILE}: ${fault}`) : [];
  });
  if (faults.length > 0)
    throw usageError("source_invalid", `The project's applications are not valid: ${faults.join("; ")}`, { faults });
  return apps;
}

/** Reads the descriptor of an application. @returns its faults instead, if it has some */
function readIn(root: string, members: MemberList, folder: string): Application | string[] {
  const path = `${folder}/${APPLICATION_FILE}`;
  if (!members.has(path)) return ["is missing, and the plan installs this application"];
  const found = (at: string): Found => {
    const index = members.indexOf(`${folder}/${at}`);
    const member = index === undefined ? undefined : members.at(index);
    return member?.type === "file" && member.executable ? "program" : member?.type;
  };
  let faults: string[] = [];
  try {
    const text = readFileSync(join(root, path), "utf8");
    const app = parseYaml(text, application, path, (message, all) => {
      faults = all;
      return usageError("source_invalid", message, { faults: all });
    });
    faults = applicationFaults(app, found);
    return faults.length > 0 ? faults : app;
  } catch (error) {
    if (faults.length > 0) return faults;
    throw error;
  }
}
