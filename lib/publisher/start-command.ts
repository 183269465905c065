import { closeSync, existsSync, openSync, readSync, realpathSync } from "node:fs";
import { basename, delimiter, join, relative, sep } from "node:path";
import { PYTHON_PACKAGES } from "../artifact/packages/python-packages.ts";
import { virtualEnvironmentFault } from "../artifact/project/application-faults.ts";
import { usageError } from "../contract/errors.ts";
import { isOfPython, pipInstall, roadOf } from "./roads.ts";

export type Words = [string, ...string[]];

/** Facts of a `package.json` that say how its program is started. */
export interface PackageStart {
  main?: string | undefined;
  scripts?: Record<string, unknown> | undefined;
  devDependencies?: Record<string, unknown> | undefined;
}

/** Word of a start script that no shell has to read. */
const PLAIN_WORD = /^[\w./@=:,+%-]+$/;
/** Variable of an address, which `app.yaml` takes in words. */
const ADDRESS = /\$(?:PORT|HOST)(?![A-Za-z0-9_])/g;
const ASSIGNMENT = /^[A-Za-z_]\w*=/;
/** Program of a package that sets variables, and then starts another program. */
const SETS_VARIABLES = "cross-env";
/** Files that start a program where its package does not say which. */
const ENTRY_POINTS = ["server.js", "index.js", "app.js", "main.js", "src/server.js", "src/index.js"];
const PYTHON_ENTRY_POINTS = ["app.py", "main.py", "server.py"];

/** Script that runs another one, by npm, pnpm or yarn. */
const RUNS_SCRIPT =
  /^(?:npm|pnpm|yarn) run(?: (?:-s|--silent))? ([\w:.-]+)$|^(?:npm|pnpm|yarn) (start)$|^yarn ([\w:.-]+)$/;

const hintIn = (folder: string): string =>
  isOfPython(folder)
    ? `Give the command after two dashes: sealift app init -- gunicorn --bind '$HOST:$PORT' app:app.`
    : "Give the command after two dashes: sealift app init -- node server.js.";

/**
 * Returns the command that starts a program: the given one, else that of its package or of a file with a usual name. A
 * name that npm looks for in `node_modules/.bin`, such as `next`, becomes the file behind it: `.bin` is not packed.
 *
 * @throws UsageError `usage` where none is found
 */
export function startCommand(folder: string, given: readonly string[], facts: PackageStart | undefined): Words {
  const [program, ...rest] = given;
  const fault = program === undefined ? undefined : virtualEnvironmentFault(program);
  if (fault !== undefined) throw usageError("usage", `${program}: ${fault}.`);
  if (program !== undefined)
    return given[0] === "node" ? [program, ...rest] : [...givenProgram(folder, program), ...rest];
  const { command } = roadOf(folder);
  if (command !== undefined) return command;
  const start = scriptNamed(facts, "start:prod") ?? scriptNamed(facts, "start");
  if (start !== undefined) return scriptCommand(folder, followed(folder, facts, start), facts);
  const isThere = (path: string | undefined): path is string => path !== undefined && existsSync(join(folder, path));
  const script = [...(facts === undefined ? [] : [facts.main, ...ENTRY_POINTS])].find(isThere);
  if (script !== undefined) return ["node", script];
  const python = facts === undefined ? PYTHON_ENTRY_POINTS.find(isThere) : undefined;
  if (python !== undefined) return ["python3", python];
  throw usageError("usage", `Nothing in ${folder} says how its program is started.`, { hint: hintIn(folder) });
}

/** Returns a script of a package; undefined for none. */
function scriptNamed(facts: PackageStart | undefined, name: string): string | undefined {
  const script = facts?.scripts?.[name];
  return typeof script === "string" && script.trim() !== "" ? script.trim() : undefined;
}

/** Returns the script at the end of those that only run another one. @throws UsageError `usage` */
function followed(folder: string, facts: PackageStart | undefined, start: string): string {
  let script = start;
  for (const seen = new Set<string>(); ;) {
    const [, ...names] = RUNS_SCRIPT.exec(script) ?? [];
    const name = names.find((found) => found !== undefined);
    if (name === undefined) return script;
    const next = seen.has(name) ? undefined : scriptNamed(facts, name);
    if (next === undefined) {
      const why = seen.has(name) ? "which runs itself" : `and its package.json has no script ${name}`;
      throw usageError("usage", `The start script of ${folder} runs ${script}, ${why}.`, { hint: hintIn(folder) });
    }
    seen.add(name);
    script = next;
  }
}

/** Returns the file behind a name of npm's or pip's, such as `next`, and any other program as it is given. */
function givenProgram(folder: string, program: string): Words {
  if (!/^(?:\.\/)?(?:node_modules\/\.bin\/)?[^/]+$/.test(program)) return [program];
  const found = installedProgram(folder, basename(program)) ?? pythonProgram(folder, program);
  if (found !== undefined) return found;
  if (isOfPython(folder) && !/^python[\d.]*$/.test(program) && !isOnMachine(program))
    throw usageError("usage", `${program} is neither in ${PYTHON_PACKAGES}/bin nor a program of this machine.`, {
      hint: `Name it among the packages, install them, and then type this again: ${pipInstall(folder)}.`,
    });
  return [program];
}

/** Tells whether this machine has a program of a name. */
const isOnMachine = (name: string): boolean =>
  (process.env["PATH"] ?? "").split(delimiter).some((folder) => existsSync(join(folder, name)));

/** Returns the command of a program that pip has installed to travel along; undefined for none. */
function pythonProgram(folder: string, name: string): Words | undefined {
  const path = `${PYTHON_PACKAGES}/bin/${name}`;
  // Its first line names the Python of the machine that installed it.
  return isOfPython(folder) && existsSync(join(folder, path)) && /^#!.*python/.test(firstLine(join(folder, path)))
    ? ["python3", path]
    : undefined;
}

/** Returns a start script as a command. @throws UsageError `usage` for one that a shell has to read */
function scriptCommand(folder: string, start: string, facts: PackageStart | undefined): Words {
  const [name = "", ...rest] = start.split(/\s+/);
  if (![name, ...rest].every((word) => PLAIN_WORD.test(word.replaceAll(ADDRESS, "0"))) || ASSIGNMENT.test(name))
    throw usageError("usage", `The start script of ${folder} needs a shell: ${start}.`, { hint: hintIn(folder) });
  const command = resolved(folder, start, [name, ...rest]);
  const tool = command.map((word) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(word)?.[1]).find((found) => found);
  if (tool !== undefined && Object.hasOwn(facts?.devDependencies ?? {}, tool))
    throw usageError(
      "usage",
      `The start script of ${folder} runs a program of ${tool}, one of devDependencies: ${start}.`,
      {
        hint: `Hosts get the packages of production alone. Build first, and give the command that runs what was built, as in: sealift app init -- node dist/main.js.`,
      },
    );
  return command;
}

function resolved(folder: string, start: string, [name, ...rest]: Words): Words {
  if (name === "node") return [name, ...rest];
  const program = installedProgram(folder, name);
  if (program === undefined)
    throw usageError(
      "usage",
      `The start script of ${folder} runs ${name}, which its node_modules/.bin does not have: ${start}.`,
      {
        hint: `Run \`npm ci\` in ${folder} and then this again, or give the command after two dashes: sealift app init -- node server.js.`,
      },
    );
  const at = rest.findIndex((word) => !ASSIGNMENT.test(word));
  const [next, ...words] = rest.slice(at);
  if (name !== SETS_VARIABLES || at === -1 || next === undefined) return [...program, ...rest];
  return [...program, ...rest.slice(0, at), ...resolved(folder, start, [next, ...words])];
}

/** Returns the command of a program that a package of the folder brings; undefined for none that lies in the folder. */
function installedProgram(folder: string, name: string): Words | undefined {
  const link = join(folder, "node_modules/.bin", name);
  if (name.includes("/") || !existsSync(link)) return undefined;
  const path = relative(realpathSync(folder), realpathSync(link)).replaceAll(sep, "/");
  if (path.startsWith("../")) return undefined;
  return /\.[cm]?js$/.test(path) || /^#!.*\bnode\b/.test(firstLine(link)) ? ["node", path] : [path];
}

function firstLine(path: string): string {
  const file = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(128);
    return bytes.toString("latin1", 0, readSync(file, bytes)).split("\n")[0]!;
  } finally {
    closeSync(file);
  }
}
