import { existsSync, globSync } from "node:fs";
import { join } from "node:path";
import { otherLockOf } from "../artifact/packages/installed-packages.ts";
import { PYTHON_PACKAGES } from "../artifact/packages/python-packages.ts";

/** Ways in which the packages of a program travel along, other than by a lock file of npm in its folder. */

/** Facts that a way adds to what `app init` writes and says. */
export interface Road {
  /** Command that starts the program, whatever its package says. */
  command?: [string, ...string[]];
  /** Programs that hosts must have, with ranges of versions. */
  needs?: Record<string, string>;
  /** Variables for `environment.values` of its `app.yaml`. */
  values?: Record<string, string>;
  /** Options of the publication, for `sealift.yaml` of the project. */
  publishing?: Record<string, unknown>;
  /** Next steps that only this kind of program has. */
  notes?: string[];
}

/** Files that name the packages of a program of Python. */
const PYTHON_FILES = ["requirements.txt", "pyproject.toml"] as const;

/** Tells whether a folder has a program of Python that has packages. */
export const isOfPython = (folder: string): boolean =>
  !existsSync(join(folder, "package.json")) && PYTHON_FILES.some((name) => existsSync(join(folder, name)));

/** Returns the command that installs the packages of a program of Python to be packed. */
export function pipInstall(folder: string): string {
  const named = `--target ${PYTHON_PACKAGES} -r ${PYTHON_FILES[0]}`;
  if (existsSync(join(folder, "uv.lock")))
    return `uv export --no-dev --no-emit-project -qo ${PYTHON_FILES[0]} && uv pip install ${named}`;
  return existsSync(join(folder, PYTHON_FILES[0]))
    ? `pip install ${named}`
    : `pip install --target ${PYTHON_PACKAGES} .`;
}

/** Code that was compiled for one version of Python, which its name has. */
const COMPILED = `${PYTHON_PACKAGES}/**/*.cpython-3*.so`;

/** Returns the version of Python that installed packages are compiled for; empty where any will do. */
function neededPython(folder: string): Record<string, string> {
  const minor = /\.cpython-3(\d+)-/.exec(globSync(COMPILED, { cwd: folder })[0] ?? "")?.[1];
  return minor === undefined ? {} : { python3: `~3.${minor}` };
}

const ofPython = (folder: string): Road => ({
  needs: neededPython(folder),
  values: { PYTHONPATH: PYTHON_PACKAGES },
  notes: [
    `Packages of Python travel along in ${PYTHON_PACKAGES}: \`${pipInstall(folder)}\`, before each publication, by the ` +
      "Python and on the platform of the hosts. A virtual environment is not packed.",
  ],
});

/** Server of `output: "standalone"` of Next.js: it has its packages beside it, and asks HOSTNAME where to listen. */
const OF_NEXT: Road = {
  command: ["env", "HOSTNAME=$HOST", "node", "server.js"],
  publishing: { include: ["node_modules"] },
  notes: ["This is a standalone server of Next.js. Copy `public` and `.next/static` into it before each publication."],
};

const isOfNext = (folder: string): boolean =>
  ["server.js", ".next/BUILD_ID", "node_modules/next"].every((path) => existsSync(join(folder, path))) &&
  !existsSync(join(folder, "node_modules/.bin")) &&
  !existsSync(join(folder, "package-lock.json"));

/** Returns the way of a program's folder; empty for one with packages of npm, or with none. */
export function roadOf(folder: string): Road {
  if (isOfPython(folder)) return ofPython(folder);
  if (isOfNext(folder)) return OF_NEXT;
  return otherLockOf(folder) === undefined ? {} : { publishing: { with_dependencies: true } };
}
