import { dirname, join, resolve } from "node:path";
import { usageError } from "../../contract/errors.ts";
import { makeFolder, writeFileAtomic } from "../../support/files.ts";
import { nextSteps, ofThisProgram, planUnits, type UnitFile, UNITS, writeUnits } from "../../support/systemd/units.ts";
import { activate } from "./activate.ts";

/** Folder in which the unit of a watch looks for its configuration. */
export const CONFIGURATIONS = "/etc/sealift/watch";
const INSTANCE = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
const SERVICES = ["watch"] as const;

export interface WatchUnitOptions {
  /** Instance: `NAME` in `sealift-watch@NAME`. */
  name: string;
  projectRoot: string;
  /** Folder below which all files are written: `/`, or an image under construction. */
  root: string;
}

/** Names of the files of a host. */
export interface HostFileNames {
  /** Its API key and its deployment credential. */
  keys: string;
  /** Seed of the key to which settings are sealed. */
  key: string;
  card: string;
  signers: string;
  root: string;
  watch: string;
}

/** Returns the names of a host's files in the folder of its unit. */
export const filesOfUnit = (name: string): HostFileNames => ({
  ...{ keys: `${name}.env`, key: `${name}.key`, card: `${name}.card` },
  ...{ signers: `${name}.pub`, root: `${name}.root.json`, watch: `${name}.yaml` },
});

/** Returns the name of the folder with the drop-ins of a watch. */
export const dropInsOf = (name: string): string => `sealift-watch@${name}.service.d`;

/** Checks the name of a watch's unit, and the right to write it. @throws UsageError `usage` */
export function requireUnitName(name: string, root: string): void {
  if (!INSTANCE.test(name)) throw usageError("usage", `sealift-watch@${name} is not a name of a unit.`);
  if (resolve(root) === "/" && process.getuid?.() !== 0)
    throw usageError("usage", "Only root writes units and starts them.", { hint: "Run the command with sudo." });
}

/** Files of a host whose watch is a systemd service. */
export class WatchUnit {
  /** Name of the unit. */
  readonly unit: string;
  readonly #name: string;
  readonly #root: string;
  readonly #files: readonly UnitFile[];

  private constructor({ name, root }: WatchUnitOptions, files: readonly UnitFile[]) {
    this.unit = `sealift-watch@${name}`;
    this.#name = name;
    this.#root = resolve(root);
    this.#files = files;
  }

  /**
   * Plans the files without writing any.
   *
   * @throws UsageError `usage` for a name or path that no unit can have, without root rights, and where the watch's
   *   units already exist for another project root or in another version
   */
  static async plan(options: WatchUnitOptions): Promise<WatchUnit> {
    const { name, projectRoot, root } = options;
    requireUnitName(name, root);
    const files = await planUnits(ofThisProgram({ services: SERVICES, projectRoot, root }));
    const others = files.filter(({ state }) => state !== "new" && state !== "unchanged").map(({ target }) => target);
    if (others.length > 0)
      throw usageError("usage", `Other files are there than this command would write: ${others.join(", ")}.`, {
        faults: others,
        hint: `They are of another version or project root. Run \`sealift systemd install watch --project-root ${projectRoot}\`, and then this command again.`,
      });
    return new WatchUnit(options, files);
  }

  /** Folder of the files of this host, which the unit's user may enter. */
  get folder(): string {
    return join(this.#root, CONFIGURATIONS);
  }

  /** Names of the files in that folder. */
  get names(): HostFileNames {
    return filesOfUnit(this.#name);
  }

  /** Makes the folder before anything secret is written there. */
  async prepare(): Promise<void> {
    await makeFolder(this.folder, 0o755);
  }

  /** Writes the units, with the host's secrets as credentials. @returns the paths of the files */
  async write(): Promise<string[]> {
    const dropIn = join(this.#root, UNITS, dropInsOf(this.#name), "50-join.conf");
    const keys = join(CONFIGURATIONS, this.names.keys);
    await writeUnits(this.#files, { force: false });
    await makeFolder(dirname(dropIn));
    await writeFileAtomic(
      dropIn,
      `# Written by \`sealift join --systemd\`: the keys and the credential of this host.\n[Service]\n` +
        `LoadCredential=api-key:${keys}\nLoadCredential=deployment-credential:${keys}\n` +
        `LoadCredential=host-key:${join(CONFIGURATIONS, this.names.key)}\n`,
    );
    return [...this.#files.map(({ target }) => target), dropIn];
  }

  /** Makes the units count, and starts this one. @throws DeploymentError `supervisor_failed` */
  async start(options: { warn: (message: string) => void; signal?: AbortSignal }): Promise<void> {
    await activate(nextSteps(this.#files, { services: SERVICES, root: this.#root }, this.#name), options);
  }
}
