import { hostFingerprint } from "../artifact/sealed/host-key.ts";
import { deploymentError, usageError } from "../contract/errors.ts";
import { type EnrolledHost, type FleetLock, fleetLock, type RemovedHost } from "../contract/files/fleet-lock.ts";
import { faultsOf } from "../support/documents/faults.ts";
import { type DocumentLimits, parseJson } from "../support/documents/limits.ts";
import { safelyParsed } from "../support/documents/safe-parse.ts";
import { ifThere, readFault, readTextFile, writeFileAtomic } from "../support/files.ts";

const MIB = 1024 * 1024;
/** Limits of a roll: 100,000 hosts have about 60 MiB and 3,000,000 values. */
const LIMITS: DocumentLimits = { maxBytes: 128 * MIB, maxDepth: 8, maxNodes: 8_000_000, maxMarks: Infinity };

/** Host of the roll that gets settings, with its fingerprint. */
export interface Enrolled extends EnrolledHost {
  fingerprint: string;
}

const isRemoved = (host: EnrolledHost | RemovedHost): host is RemovedHost => "removed" in host;

/** The hosts that an operator knows, in memory; `save` makes them durable (docs/settings.md#fleetlock-the-roll). */
export class Roll {
  readonly file: string;
  readonly #lock: FleetLock;
  /** Text of the file when it was read or written last; undefined for a file that was not there. */
  #text: string | undefined;

  private constructor(file: string, lock: FleetLock, text: string | undefined) {
    this.file = file;
    this.#lock = lock;
    this.#text = text;
  }

  /** Reads the roll of a project, or begins it. @throws UsageError `config_invalid` */
  static async read(file: string, project: string): Promise<Roll> {
    const text = await textOf(file);
    if (text === undefined)
      return new Roll(file, { t: "sealift-fleet-lock", v: 1, project, operator: null, contents: {}, hosts: {} }, text);
    const lock = parsed(file, text);
    if (lock.project !== project)
      throw usageError("config_invalid", `${file} is of the project ${lock.project}, and not of ${project}.`, {
        hint: "Each project has a fleet.yaml of its own, in a folder of its own.",
      });
    return new Roll(file, lock, text);
  }

  /** Reads a roll that must be there: a check against an empty one says nothing. @throws UsageError `config_invalid` */
  static async readExisting(file: string, project: string): Promise<Roll> {
    const roll = await Roll.read(file, project);
    if (roll.#text !== undefined) return roll;
    throw usageError("config_invalid", `${file} cannot be read: there is no such file.`, {
      hint: "It is the fleet.lock beside your fleet.yaml. Nothing was made.",
    });
  }

  get project(): string {
    return this.#lock.project;
  }

  get operator(): string | null {
    return this.#lock.operator;
  }

  set operator(key: string | null) {
    this.#lock.operator = key;
  }

  /** Returns the hosts that get settings, by name. */
  hosts(): Enrolled[] {
    return Object.entries(this.#lock.hosts)
      .flatMap(([fingerprint, host]) => (isRemoved(host) ? [] : [{ ...host, fingerprint }]))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Returns the names of hosts that were removed, by fingerprint. */
  removed(): Map<string, string> {
    const hosts = Object.entries(this.#lock.hosts);
    return new Map(
      hosts.flatMap(([fingerprint, host]) => (isRemoved(host) ? [[fingerprint, host.name] as const] : [])),
    );
  }

  /** Returns the number of hosts that came with terms, also of those that were removed. */
  usesOf(terms: string): number {
    return Object.values(this.#lock.hosts).filter((host) => host.terms === terms).length;
  }

  /** Returns the digests of a host's last settings; none before the first. */
  contentOf({ content }: Pick<EnrolledHost, "content">): FleetLock["contents"][string] {
    return (content !== undefined ? this.#lock.contents[content] : undefined) ?? {};
  }

  /** Adds a content that hosts are about to point at. */
  keepContent(id: string, content: FleetLock["contents"][string]): void {
    this.#lock.contents[id] = content;
  }

  /** Adds a host, or replaces the facts of its key. */
  put({ fingerprint, ...host }: Enrolled): void {
    this.#lock.hosts[fingerprint] = host;
  }

  /** Marks the key of a host as removed, for good. */
  remove({ fingerprint, name, terms }: Pick<Enrolled, "fingerprint" | "name" | "terms">): void {
    this.#lock.hosts[fingerprint] = { name, removed: true, terms };
  }

  /**
   * Writes the roll atomically, if it differs from its file.
   *
   * @throws DeploymentError `settings_conflict` where another program has written it meanwhile
   */
  async save(): Promise<void> {
    const text = textFor(this.#lock);
    if (text === this.#text) return;
    if ((await textOf(this.file)) !== this.#text)
      throw deploymentError("settings_conflict", `${this.file} was written by another program meanwhile.`, {
        hint: "Run the command again: it begins with what stands there now.",
      });
    await writeFileAtomic(this.file, text);
    this.#text = text;
  }
}

async function textOf(file: string): Promise<string | undefined> {
  try {
    return await ifThere(readTextFile(file, LIMITS.maxBytes));
  } catch (error) {
    throw usageError("config_invalid", `${file} cannot be read: ${readFault(error)}.`, { cause: error });
  }
}

function parsed(file: string, text: string): FleetLock {
  const invalid = (faults: string[], cause?: unknown) =>
    usageError("config_invalid", `${file} is not valid: ${faults.join("; ")}.`, {
      ...{ faults, hint: "Take its last version from git: Sealift writes it, and nobody else does." },
      ...(cause !== undefined && { cause }),
    });
  let value: unknown;
  try {
    value = parseJson(text, LIMITS);
  } catch (error) {
    throw invalid(["it is not JSON, perhaps for the marks of a merge"], error);
  }
  const lock = safelyParsed(fleetLock, value);
  if (!lock.success) throw invalid(faultsOf(lock.error));
  const live = Object.entries(lock.data.hosts).flatMap(([at, host]) => (isRemoved(host) ? [] : [{ at, ...host }]));
  const foreign = live.find((host) => hostFingerprint(host) !== host.at);
  if (foreign !== undefined) throw invalid([`hosts.${foreign.at}: is not the fingerprint of its keys`]);
  const names = new Set<string>();
  for (const { name } of live)
    if (names.has(name)) throw invalid([`two hosts have the name ${name}`]);
    else names.add(name);
  return lock.data;
}

const sorted = <T>(record: Readonly<Record<string, T>>, by: (a: string, b: string) => number = compare) =>
  Object.fromEntries(Object.entries(record).toSorted(([a], [b]) => by(a, b)));

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/**
 * Writes a roll so that a changed host changes few lines: hosts stand in the order of their names, and the facts of
 * each as they are read again.
 */
function textFor(lock: FleetLock): string {
  const { hosts, contents, ...facts } = fleetLock.parse(lock);
  const used = new Set(Object.values(hosts).flatMap((host) => ("content" in host ? [host.content] : [])));
  const kept = Object.entries(contents).filter(([id]) => used.has(id));
  const tables = kept.map(([id, apps]) => [id, sorted(mapped(apps, (names) => sorted(names)))] as const);
  const ordered = mapped(hosts, (host) => ("labels" in host ? { ...host, labels: sorted(host.labels) } : host));
  const byName = (a: string, b: string): number => compare(hosts[a]!.name, hosts[b]!.name) || compare(a, b);
  return `${JSON.stringify({ ...facts, contents: sorted(Object.fromEntries(tables)), hosts: sorted(ordered, byName) }, null, 2)}\n`;
}

const mapped = <T, U>(record: Readonly<Record<string, T>>, change: (value: T) => U): Record<string, U> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
