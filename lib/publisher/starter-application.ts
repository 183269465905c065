import { existsSync, readFileSync, realpathSync } from "node:fs";
import { basename, join, normalize } from "node:path";
import { stringify } from "yaml";
import * as z from "zod";
import { DEFAULT_LIMITS } from "../artifact/limits.ts";
import { PYTHON_PACKAGES } from "../artifact/packages/python-packages.ts";
import { listSourceTree } from "../artifact/tree/source-tree.ts";
import { usageError } from "../contract/errors.ts";
import { namedAddresses } from "../contract/files/address-variables.ts";
import { type Application, application } from "../contract/files/application.ts";
import { APPLICATION_FILE } from "../contract/files/application-names.ts";
import { addressedSchemaComment, installedSchema, SCHEMA_COMMENT } from "../contract/files/json-schemas.ts";
import { pluginId } from "../contract/identifiers.ts";
import { YAML_LIMITS } from "../support/documents/limits.ts";
import { safelyParsed } from "../support/documents/safe-parse.ts";
import { ifThere, readTextFile } from "../support/files.ts";
import { parseYaml } from "../support/yaml-file.ts";
import { isOfPython, roadOf } from "./roads.ts";
import { startCommand } from "./start-command.ts";

/** Texts that `app init` writes into a program's folder, and says. */
export interface Starter extends Pick<Application, "listen" | "ports"> {
  /** Text of its `app.yaml`. */
  text: string;
  /** Next steps that only this kind of program has. */
  notes: string[];
  /** Options of the publication, for `sealift.yaml` of the project. */
  publishing: Record<string, unknown>;
}

/** Facts of a program's folder from which its `app.yaml` is written. */
interface ProgramFacts {
  command: [string, ...string[]];
  /** Programs that hosts must have, with ranges of versions. */
  needs: Record<string, string>;
  /** Names of sockets that are handed over to it. */
  listen: string[];
  /** Names of addresses on which it listens itself. */
  ports: string[];
  /** Path that probably says whether it works. */
  health: string | undefined;
  /** Variables that its sources read. */
  environment: string[];
  /** Variables that the version itself gives. */
  values: Record<string, string> | undefined;
  /** Whether its packages have the schema of `app.yaml`. */
  hasSchema: boolean;
}

/** Largest source that is searched, in bytes; larger ones are bundles. */
const MAX_SOURCE_BYTES = 256 * 1024;
/** Most sources that are searched. */
const MAX_SOURCES = 500;
const SOURCE = /\.(?:[cm]?[jt]s|py|go|java|kt|php|rb|rs)$/;
/** Names of folders whose code does not say what the program reads: others wrote it, or it tests the program. */
const PASSED_OVER = ["vendor", "test", "tests", "__tests__", "e2e"];
const MAX_PACKAGE_BYTES = 1024 * 1024;

const packageFacts = z.looseObject({
  name: z.string().optional(),
  main: z.string().optional(),
  scripts: z.record(z.string(), z.unknown()).optional(),
  devDependencies: z.record(z.string(), z.unknown()).optional(),
  engines: z.looseObject({ node: z.string().optional() }).optional(),
});

/** Name of a program's address. */
const ADDRESS = "http";

const HEALTH_PATH = /["'`](\/(?:healthz?|livez|readyz|health\/(?:live|ready)|ping|status))["'`]/;
const ROOT_PATH = /\.(?:get|all|use|route)\(\s*["'`]\/["'`]/;
/** Ways in which languages read a variable: Node.js and Bun, Python, Ruby, Go, Java, PHP and Rust. */
const VARIABLE =
  /\b(?:(?:process|Bun)\.env(?:\.|\[\s*["'`])|(?:os\.environ(?:\.get\(|\[)|ENV(?:\.fetch\(|\[)|[gG]etenv\(|env::var\()\s*["'])([A-Z][A-Z0-9_]*)/g;
/** Variables of the host and of the shell, which are not settings. */
const OF_THE_HOST = new Set([
  ...["PORT", "HOST", "PATH", "HOME", "NODE_ENV"],
  ...["LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"],
]);

/** Kind of an application that a person asks for. */
interface Kind {
  /** Application whose folder it shares. */
  of: string | undefined;
  schedule: string | undefined;
}

/**
 * Returns the text of a program's `app.yaml`, the one that is there or one to start from, and its addresses' names.
 *
 * @param folder of the program
 * @param own folder of its `app.yaml`
 * @param command given by a person; otherwise that of its package
 * @throws UsageError `config_invalid` for a file that is not valid; `usage` where no command is found; `source_*` for a
 *   folder that cannot be packed
 */
export async function initialDescriptor(
  folder: string,
  own: string,
  command: readonly string[],
  kind: Kind,
): Promise<Starter> {
  const { notes = [], publishing = {} } = kind.of === undefined ? roadOf(folder) : {};
  const file = join(own, APPLICATION_FILE);
  const text = await ifThere(readTextFile(file, YAML_LIMITS.maxBytes));
  if (text !== undefined) {
    const { listen, ports } = parseYaml(text, application, file);
    return { text, notes: [], publishing, listen, ports };
  }
  if (kind.of !== undefined || kind.schedule !== undefined)
    return { text: otherKind(folder, command, kind), notes, publishing, listen: [], ports: [] };
  const facts = programFacts(folder, command);
  return { text: starterApplication(facts), notes, publishing, listen: facts.listen, ports: facts.ports };
}

/** Returns the descriptor of a job, or of a program that is of another application. @throws UsageError */
function otherKind(folder: string, command: readonly string[], { of, schedule }: Kind): string {
  if (of !== undefined && command.length === 0)
    throw usageError("usage", `A program that is of ${of} has a command of its own.`, {
      hint: `Give it after two dashes: -- node worker.js, in the folder of ${of}.`,
    });
  const lines = [SCHEMA_COMMENT("app")];
  if (of !== undefined)
    lines.push(`# Runs in the folder of ${of}, as its user and with its settings and data.`, `of: ${of}`);
  lines.push(`command: ${flow(startCommand(folder, command, readPackage(folder)))}`);
  if (schedule === undefined) lines.push(`health: { within: 30s, stays_up: 10s }`);
  else lines.push("# In UTC; `timezone: Europe/Vienna` says otherwise.", `schedule: ${flow(schedule)}`, "within: 1h");
  const { values } = of === undefined ? roadOf(folder) : {};
  if (values !== undefined) lines.push(`environment: ${flow({ values })}`);
  const text = `${lines.join("\n")}\n`;
  parseYaml(text, application, APPLICATION_FILE);
  return text;
}

/** Writes a value on one line. */
const flow = (value: unknown): string => stringify(value, { collectionStyle: "flow", lineWidth: 0 }).trim();

/** Looks at the folder of a program that runs today. */
function programFacts(folder: string, command: readonly string[]): ProgramFacts {
  const facts = readPackage(folder);
  const road = roadOf(folder);
  const found = { health: undefined as string | undefined, isRooted: false, handedOver: false, bound: false };
  const variables = new Set<string>();
  const started = startCommand(folder, command, facts);
  found.bound = started.some((word) => /\$PORT(?![A-Za-z0-9_])/.test(word));
  for (const text of sourcesIn(folder, started)) {
    found.health ??= HEALTH_PATH.exec(text)?.[1];
    found.isRooted ||= ROOT_PATH.test(text);
    found.handedOver ||= text.includes("LISTEN_FDS");
    for (const [, name] of text.matchAll(VARIABLE)) {
      found.bound ||= name === "PORT";
      if (!OF_THE_HOST.has(name!) && !started.some((word) => word.startsWith(`${name}=`))) variables.add(name!);
    }
  }
  const named = namedAddresses(started.slice(1));
  if (found.bound && !named.includes(ADDRESS)) named.unshift(ADDRESS);
  const [listen, ports] = found.handedOver ? [[ADDRESS], []] : [[], named];
  return {
    command: started,
    needs: { ...(started.includes("node") && { node: facts?.engines?.node ?? ">=20" }), ...road.needs },
    ...{ listen, ports },
    health: listen.length + ports.length === 0 ? undefined : (found.health ?? (found.isRooted ? "/" : undefined)),
    environment: [...variables].toSorted(),
    values: road.values,
    hasSchema: existsSync(join(folder, installedSchema("app"))),
  };
}

/** Returns an id for the application of a folder: the name of its package, or of the folder. */
export function applicationIdOf(folder: string): string | undefined {
  const name = readPackage(folder)?.name?.split("/").at(-1) ?? basename(folder);
  const id = name
    .toLowerCase()
    .replace(/[^a-z0-9_.-]+/g, "-")
    .replace(/^[_.-]+/, "");
  return pluginId.safeParse(id).success ? id : undefined;
}

/** Returns the text of an `app.yaml` to start from, with the comment by which editors find its schema. */
function starterApplication(facts: ProgramFacts): string {
  const { command, needs, listen, ports, health, environment, values, hasSchema } = facts;
  const lines = [
    hasSchema ? SCHEMA_COMMENT("app") : addressedSchemaComment("app"),
    "# A file of this folder with a slash, or a program of the host. No shell reads it.",
  ];
  const add = (key: string, value: unknown): void => {
    lines.push(`${key}: ${flow(value)}`);
  };
  add("command", command);
  if (Object.keys(needs).length > 0) add("needs", needs);
  if (listen.length > 0) {
    lines.push("# Sockets that the host keeps and hands over: no connection is refused at a restart.");
    add("listen", listen);
  } else if (ports.length > 0) {
    lines.push("# It listens on PORT itself. With a socket handed over (listen), no restart refuses a connection.");
    add("ports", ports);
  } else lines.push(`# ports: [${ADDRESS}]    # if it listens: on PORT, which each host gives`);
  if (health !== undefined) lines.push("# Path that answers when it works; a version that does not answer goes back.");
  const port = ports.length > 1 ? { port: ports[0] } : {};
  add("health", { ...(health !== undefined && { http: health, ...port }), within: "30s", stays_up: "10s" });
  if (environment.length > 0)
    lines.push("# Settings that each host gives: sealift app env ID set NAME. Move what must be there to required.");
  if (values !== undefined)
    lines.push(`# values: where Python finds the packages that travel along in ${PYTHON_PACKAGES}.`);
  if (environment.length > 0 || values !== undefined)
    add("environment", {
      ...(environment.length > 0 && { optional: environment }),
      ...(values !== undefined && { values }),
    });
  lines.push("# data: storage    # a folder that belongs to the host and outlives versions");
  lines.push("# migrate: [node, migrate.js]    # before each new version starts");
  return `${lines.join("\n")}\n`;
}

function readPackage(folder: string): z.output<typeof packageFacts> | undefined {
  const file = join(folder, "package.json");
  if (!existsSync(file)) return undefined;
  const bytes = readFileSync(file);
  if (bytes.length > MAX_PACKAGE_BYTES) throw unreadable(file, "it is larger than 1 MiB");
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch (error) {
    throw unreadable(file, (error as Error).message);
  }
  const parsed = safelyParsed(packageFacts, value);
  return parsed.success ? parsed.data : undefined;
}

const unreadable = (file: string, why: string) => usageError("usage", `${file} cannot be read: ${why}.`);

/** Reads a program's sources: files with such an ending, and those that its command names. */
function* sourcesIn(folder: string, command: readonly string[]): Generator<string> {
  const named = new Set(command.map((word) => normalize(word)));
  const own = realpathSync(folder);
  // A project that was made here before links back to the program.
  const follows = (path: string): boolean => existsSync(join(folder, path)) && realpathSync(join(folder, path)) === own;
  const others = isOfPython(folder) ? [...PASSED_OVER, PYTHON_PACKAGES] : PASSED_OVER;
  const leaveOut = (path: string): string | undefined => others.find((name) => name === basename(path));
  const { members } = listSourceTree(folder, { limits: DEFAULT_LIMITS, follows, leaveOut });
  let count = 0;
  for (let index = 0; index < members.length && count < MAX_SOURCES; index++) {
    const path = members.pathAt(index);
    if (members.isFolder(index) || members.at(index).size > MAX_SOURCE_BYTES) continue;
    if (!SOURCE.test(path) && !named.has(path)) continue;
    count++;
    yield readFileSync(join(folder, path), "utf8");
  }
}
