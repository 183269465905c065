import { readFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../test/support/free-port.ts";
import { Programs } from "../quickstart/programs.ts";

export type Secrets = Record<string, string>;

interface NewKey {
  key: string;
  deployment_credential?: string;
}

/** The hub of a release, with the folder in which its world is made. */
export class OldHub {
  readonly programs: Programs;
  /** Programs of the release that end before the hub does. */
  readonly beside: Programs;
  readonly folder: string;
  readonly dataDir: string;
  readonly url: string;
  readonly adminKey: string;

  private constructor(checkout: string, folder: string, dataDir: string, port: number) {
    this.programs = new Programs(folder, checkout);
    this.beside = new Programs(folder, checkout);
    this.folder = folder;
    this.dataDir = dataDir;
    this.url = `http://127.0.0.1:${port}`;
    this.adminKey = readFileSync(join(dataDir, "admin.key"), "utf8").trim();
  }

  /** @param checkout of the release, built */
  static async start(checkout: string, folder: string, dataDir: string): Promise<OldHub> {
    const hub = new OldHub(checkout, folder, dataDir, await freePort());
    await hub.serveAt(dataDir);
    return hub;
  }

  /** Serves a data folder, or the same hub at its new place, under the one URL. */
  async serveAt(dataDir: string, databaseUrl?: string): Promise<void> {
    const keys = ["--kek-file", join(this.dataDir, "kek.json")];
    const args = ["--data-dir", dataDir, "--listen", new URL(this.url).host, ...(databaseUrl ? keys : [])];
    await this.programs.serve("hub-serve", args, databaseUrl ? { SEALIFT_DATABASE_URL: databaseUrl } : {});
  }

  readonly path = (...parts: string[]): string => join(this.folder, ...parts);

  async stop(): Promise<void> {
    for (const programs of [this.beside, this.programs]) await programs.stop();
  }

  /** Environment of an administrator's command. */
  get admin(): Secrets {
    return { SEALIFT_HUB_URL: this.url, SEALIFT_API_KEY: this.adminKey };
  }

  /** Opens a session of a host. */
  async openSession({ id, host }: { id: string; host: Secrets }): Promise<void> {
    const response = await fetch(`${this.url}/app/deploy/v1/auth`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ xdevkey: host["SEALIFT_API_KEY"], project_id: id }),
    });
    if (!response.ok) throw new Error(`the hub answered ${response.status}`);
  }

  /** Runs `sealift` as an administrator. @returns its result */
  sealift<T>(...args: string[]): Promise<T> {
    return this.programs.run<T>("sealift", args, this.admin);
  }

  /** Creates a project, plugin or service. @returns its id or slug */
  async project(name: string, ...flags: string[]): Promise<string> {
    const { project } = await this.sealift<{ project: { slug: string } }>("project", "create", name, ...flags);
    return project.slug;
  }

  /** Creates a key. @returns what a program needs to use it */
  async newKey(name: string, ...flags: string[]): Promise<Secrets> {
    const { key } = await this.sealift<{ key: NewKey }>("key", "create", "--name", name, ...flags);
    const { key: secret, deployment_credential: credential } = key;
    return {
      SEALIFT_HUB_URL: this.url,
      SEALIFT_API_KEY: secret,
      ...(credential !== undefined && { SEALIFT_DEPLOYMENT_CREDENTIAL: credential }),
    };
  }
}
