import { hash } from "node:crypto";
import { lstatSync, readdirSync } from "node:fs";
import { readdir, readFile, readlink, realpath, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { TargetName } from "../../lib/contract/target.ts";
import { SETTINGS, shippedText } from "./host-versions.ts";

const SECTIONS = ["plugins", "extensions", "apps"];

/** `<section>/<id>` → digest of the tree under this name. Its folder of data belongs to the host and is left out. */
export type Installed = Record<string, string>;

/** Returns the settings of an item. */
const settingsOf = (item: string): string => `${item}.env`;
/** Returns the folder of the data that each version ships for an item, by its name. */
const shippedOf = (item: string): string => `.sealift/data/${item}/shipped`;

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);
const textOf = (path: string): Promise<string | undefined> => readFile(path, "utf8").catch(() => undefined);

/**
 * Returns the plugins, extensions and applications of a host, each with the digest of its folder, as their links lead
 * to them.
 */
export async function installed(root: string): Promise<Installed> {
  const found: Installed = {};
  for (const section of SECTIONS)
    for (const id of await namesIn(join(root, section))) {
      const place = await realpath(join(root, section, id)).catch(() => undefined);
      if (place === undefined || id.startsWith(".") || !(await stat(place)).isDirectory()) continue;
      found[`${section}/${id}`] = await digestOf(place, section === "apps" ? "var/storage" : "data");
    }
  return found;
}

/** @param data folder of it that belongs to the host */
async function digestOf(folder: string, data: string): Promise<string> {
  const lines: string[] = [];
  const walk = async (at: string, prefix: string): Promise<void> => {
    for (const entry of await readdir(at, { withFileTypes: true })) {
      const path = join(at, entry.name);
      if (`${prefix}${entry.name}` === data) continue;
      if (entry.isDirectory()) await walk(path, `${prefix}${entry.name}/`);
      else
        lines.push(`${prefix}${entry.name} ${entry.isFile() ? hash("sha256", await readFile(path), "hex") : "link"}`);
    }
  };
  await walk(folder, "");
  return hash("sha256", lines.toSorted().join("\n"), "hex");
}

interface Expected {
  old: Installed;
  changed: Installed;
  kept: Record<string, string>;
  /** Whether somebody was told how the run ended. */
  done: boolean;
  /** Items whose settings and shipped data the host gets. Default: the plugin `shop`. */
  filled?: readonly string[] | undefined;
}

/** Examines a host after a power cut, without any of the product's own code, and collects what is wrong. */
export class HostFacts {
  readonly faults: string[] = [];
  readonly #root: string;
  readonly #target: TargetName;
  readonly #expected: Expected;

  constructor(root: string, target: TargetName, expected: Expected) {
    this.#root = root;
    this.#target = target;
    this.#expected = expected;
  }

  get #filled(): readonly string[] {
    return this.#expected.filled ?? ["plugins/shop"];
  }

  get #sealift(): string {
    return join(this.#root, ".sealift");
  }

  /**
   * Expects the old release or the new one, complete, and the new one if somebody was told so. The host's own files
   * must exist in any case.
   */
  async expectWhole(when: string): Promise<void> {
    const { old, changed, kept, done } = this.#expected;
    const found = await installed(this.#root);
    if (done && !isDeepStrictEqual(found, changed))
      this.faults.push(`${when} the release that was reported is not there`);
    else if (!isDeepStrictEqual(found, changed) && !isDeepStrictEqual(found, old))
      this.faults.push(`${when} neither the old release nor the new one is there, whole`);
    for (const item of this.#filled) {
      const settings = await textOf(join(this.#root, settingsOf(item)));
      if (settings !== undefined && settings !== SETTINGS) this.faults.push(`${when} ${settingsOf(item)} is cut short`);
      const shipped = join(this.#root, shippedOf(item));
      for (const version of await namesIn(shipped))
        if (!version.startsWith(".") && (await textOf(join(shipped, version))) !== shippedText(version))
          this.faults.push(`${when} a file of the data of ${item} is cut short`);
    }
    for (const [path, text] of Object.entries(kept))
      if ((await textOf(join(this.#root, path))) !== text)
        this.faults.push(`${when} the host's own ${basename(path)} is lost`);
  }

  /** Returns a digest of names and sizes, without what differs in each run: times, identifiers, random names. */
  async shape(): Promise<string> {
    const lines = [...below(this.#root)].map((path) => {
      const stats = lstatSync(join(this.#root, path));
      return `${shortened(path)} ${stats.isFile() ? stats.size : "-"}`;
    });
    return hash("sha256", lines.toSorted().join("\n"), "hex");
  }

  /** @param version that the next deployment has installed */
  async expectChanged(version: string): Promise<void> {
    for (const item of this.#filled) {
      if ((await textOf(join(this.#root, shippedOf(item), version))) !== shippedText(version))
        this.faults.push(`the next deployment leaves out a file of the data of ${item}`);
      if ((await textOf(join(this.#root, settingsOf(item)))) !== SETTINGS)
        this.faults.push(`the next deployment leaves no ${settingsOf(item)}`);
    }
    if (!isDeepStrictEqual(await installed(this.#root), this.#expected.changed))
      this.faults.push("the next deployment does not end in the new release, whole");
  }

  /** Expects no temporary names, journal, broken links, or incomplete release. */
  async expectNothingLeft(): Promise<void> {
    for (const path of below(this.#root)) {
      const name = basename(path);
      const isOurs = name === ".sealift" || name === ".env.template" || name === "installed.sources";
      if ((name.startsWith(".") && !isOurs) || /\.tmp$|\.holder$|^journal\.json$/.test(name))
        this.faults.push(`${shortened(path)} is left behind`);
    }
    for (const section of SECTIONS)
      for (const id of await namesIn(join(this.#root, section))) {
        const link = join(this.#root, section, id);
        if ((await readlink(link).catch(() => undefined)) === undefined) continue;
        if ((await stat(link).catch(() => undefined)) === undefined)
          this.faults.push(`the link ${section}/${id} leads nowhere`);
      }
    const releases = join(this.#sealift, "releases", this.#target);
    for (const name of await namesIn(releases)) await this.#expectWholeRelease(join(releases, name));
  }

  async #expectWholeRelease(folder: string): Promise<void> {
    const record = await textOf(join(folder, "release.json"));
    if (record === undefined) return void this.faults.push("a release without release.json is left behind");
    const { files, applications = [] } = parsed(record) ?? { files: -1 };
    const ids = (applications as { id: string }[]).map(({ id }) => id).toSorted();
    if (!isDeepStrictEqual(ids, (await namesIn(join(folder, "apps"))).toSorted()))
      this.faults.push("a kept release has other applications than its record");
    if (files === undefined) return;
    const lines = ((await textOf(join(folder, "contents.ndjson"))) ?? "").split("\n").filter((line) => line !== "");
    if (lines.length !== files) this.faults.push("a kept release has lost its list of files");
    for (const line of lines) {
      const { path, sha256 } = parsed(line) ?? {};
      const bytes = await readFile(join(folder, String(path))).catch(() => undefined);
      if (bytes === undefined || hash("sha256", bytes, "hex") !== sha256) {
        this.faults.push("a kept release is not whole");
        return;
      }
    }
  }

  /** Expects at most one report of the interrupted run, and its own one if it had ended. */
  async expectReports(id: string, status: "success" | "failed" = "success"): Promise<void> {
    const folder = join(this.#sealift, "reports", this.#target);
    const found: string[] = [];
    for (const name of await namesIn(folder)) {
      if (!name.endsWith(".json")) continue;
      const report = parsed(await textOf(join(folder, name)));
      if (report === undefined) this.faults.push("a report is cut short");
      else if (report.deployment_id === id) found.push(String(report.status));
    }
    if (found.length > 1) this.faults.push(`the run has ${found.length} reports`);
    if (this.#expected.done && found[0] !== status) this.faults.push("the report of the run is lost");
  }
}

/** Yields every path below a folder, without following links. */
function* below(folder: string, prefix = ""): Generator<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    yield `${prefix}${entry.name}`;
    if (entry.isDirectory()) yield* below(join(folder, entry.name), `${prefix}${entry.name}/`);
  }
}

function parsed(text: string | undefined): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text ?? "") as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

/** Removes what differs from run to run, so that equal faults count as one. */
const shortened = (path: string): string =>
  path
    .replace(/[0-9a-f]{12}/g, "*")
    .replace(/-[0-9a-f]{8}(?=\/|$)/g, "-*")
    .replace(/\d{8}T\d{9}Z-[0-9a-f-]+/, "*");
