import { join } from "node:path";
import { application } from "../../contract/files/application.ts";
import { APPLICATION_FILE, APPLICATIONS_FOLDER } from "../../contract/files/application-names.ts";
import { isApplication, type Item } from "../../releases/layout.ts";
import { readYamlFile } from "../../support/yaml-file.ts";

/**
 * Returns the applications of a release that run all the time, each after the one that it is of: jobs have no unit that
 * a deployment starts or stops. One whose descriptor cannot be read, such as one that was installed by hand, is none.
 *
 * @param folder of the release, or of its tree
 */
export async function servicesIn(folder: string, items: readonly Item[]): Promise<Item[]> {
  const heads: Item[] = [];
  const others: Item[] = [];
  for (const item of items.filter(isApplication)) {
    const file = join(folder, APPLICATIONS_FOLDER, item.id, APPLICATION_FILE);
    const app = await readYamlFile(file, application).catch(() => undefined);
    if (app?.schedule === undefined) (app?.of === undefined ? heads : others).push(item);
  }
  return [...heads, ...others];
}
