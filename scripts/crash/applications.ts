import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { migrateApplication, readyApplication } from "../../lib/apps/prepare.ts";
import { layoutOf } from "../../lib/releases/layout.ts";
import { PretendedApplications } from "../../test/support/host/application-host.ts";

/** Applications of a host that run nowhere. Their starts put seeds into their data and migrate, as real ones do. */
export class Applications extends PretendedApplications {
  constructor(root: string) {
    super(root, async (id) => migrateApplication(id, await readyApplication(layoutOf(root), id)));
  }

  /** Starts what is installed, as a supervisor does when the machine boots. @returns what is wrong */
  async boot(): Promise<string[]> {
    const faults: string[] = [];
    for (const id of await this.#installed())
      await this.supervisor()
        .start(id)
        .catch((error: Error) => void faults.push(`${id} does not start after the power cut: ${error.message}`));
    return faults;
  }

  /** Compares what runs with what is installed. @returns what is wrong */
  async differences(): Promise<string[]> {
    const faults: string[] = [];
    const installed = await this.#installed();
    for (const id of installed) {
      const version = await this.#textOf(id, "version");
      const runs = this.running.get(id);
      if (runs !== version) faults.push(`${runs ?? "nothing"} of ${id} runs, and ${version} is installed`);
      else if ((await this.#textOf(id, `var/storage/migrated-${version}`)) !== version)
        faults.push(`${version} of ${id} runs without its migration`);
    }
    for (const id of this.running.keys())
      if (!installed.includes(id)) faults.push(`${id} runs, and is not installed any more`);
    return faults;
  }

  #textOf = (id: string, path: string): Promise<string | undefined> =>
    readFile(join(this.root, "apps", id, path), "utf8").catch(() => undefined);

  /** Ids of the applications that an agent has installed. */
  async #installed(): Promise<string[]> {
    const found: string[] = [];
    for (const name of await readdir(join(this.root, "apps")).catch(() => []))
      if ((await this.#textOf(name, ".sealift/start")) !== undefined) found.push(name);
    return found;
  }
}
