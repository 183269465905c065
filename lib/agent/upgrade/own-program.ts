import { accessSync, constants, realpathSync } from "node:fs";
import { dirname, sep } from "node:path";
import { deploymentError, usageError } from "../../contract/errors.ts";
import { IS_ONE_FILE } from "../../support/one-file.ts";
import { packageFolder } from "../../support/package-folder.ts";
import { runProgram } from "../base/child-program.ts";

const ASKING_TIMEOUT_MS = 20_000;

/** Location of this program on the machine. */
export interface Installation {
  /** Whether it is the single executable. */
  isOneFile: boolean;
  /** File of the program, or folder of its package. */
  path: string;
  /** Query to Debian's package manager, without the path. */
  asking: readonly [string, ...string[]];
}

export const ownInstallation = (): Installation => ({
  isOneFile: IS_ONE_FILE,
  path: realpathSync(IS_ONE_FILE ? process.execPath : packageFolder()),
  asking: ["/usr/bin/dpkg-query", "--search"],
});

/**
 * Returns the file of the program that may be replaced.
 *
 * @throws UsageError `upgraded_elsewhere` with the command that upgrades it, where a package manager owns it
 * @throws DeploymentError `program_unusable` when its folder cannot be written
 */
export async function replaceableProgram({ isOneFile, path, asking }: Installation): Promise<string> {
  if (!isOneFile) throw ofNpm(path);
  // Without the program of that name, no package of Debian owns the file.
  const { code, stdout } = await runProgram({
    command: [...asking, path],
    env: { PATH: "/usr/bin:/bin", LC_ALL: "C" },
    timeoutMs: ASKING_TIMEOUT_MS,
  });
  const owner = /^([a-z0-9][a-z0-9+.-]*)(?::\w+)?: /m.exec(stdout)?.[1];
  if (code === 0 && owner !== undefined)
    throw usageError("upgraded_elsewhere", `Debian's package ${owner} owns ${path}.`, {
      hint: `Upgrade it with: apt install ./${owner}_VERSION_ARCHITECTURE.deb`,
    });
  try {
    accessSync(dirname(path), constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw deploymentError("program_unusable", `${path} cannot be replaced: ${(cause as Error).message}.`, {
      cause,
      hint: "Run the command as the user who may write there; in a container, take a newer image.",
    });
  }
  return path;
}

function ofNpm(folder: string): Error {
  const [above, name] = folder.split(`${sep}node_modules${sep}`);
  const [from, command] =
    name === undefined
      ? [`the checkout ${folder}`, "git pull && npm ci"]
      : above!.endsWith(`${sep}lib`)
        ? ["npm's global folder", `npm install --global ${name}@latest`]
        : [`the project ${above}`, `npm install ${name}@latest`];
  return usageError("upgraded_elsewhere", `This program runs from ${from}, not from the single executable.`, {
    hint: `Upgrade it with: ${command}`,
  });
}
