import { chmod, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Test } from "tap";
import { stringify } from "yaml";
import { type Layout, layoutOf } from "../../../lib/releases/layout.ts";
import { temporaryFolder } from "../temporary-folder.ts";

/** An application as a release holds it. */
export interface InstalledFiles {
  /** Content of app.yaml beside its command, which the launcher runs. */
  app?: object;
  /** Words of the command; default: `node server.js`, with this Node. */
  command?: readonly string[];
  migrate?: readonly string[];
  files: Readonly<Record<string, string>>;
}

/** User who runs applications of tests: this one, or nobody where that is root. */
export const GRANT_USER = process.getuid?.() === 0 ? { user: "nobody" } : { same_user: true };

const quoted = (words: readonly string[]): string =>
  words.map((word) => `'${(word === "node" ? process.execPath : word).replaceAll("'", `'\\''`)}'`).join(" ");

/** A project root with applications, as a deployment leaves it. Other users may enter it. */
export class ApplicationRoot {
  readonly layout: Layout;
  #releases = 0;

  constructor(root: string) {
    this.layout = layoutOf(root);
  }

  static async make(t: Test): Promise<ApplicationRoot> {
    const folder = temporaryFolder(t);
    await chmod(folder, 0o755);
    return new ApplicationRoot(folder);
  }

  /** User of its grants. */
  readonly user = GRANT_USER;

  /** Writes a release of one application, and links it as a switch does. @returns the release's name */
  install = (id: string, installed: InstalledFiles): Promise<string> => this.installTogether({ [id]: installed });

  /** Writes a release of some applications, and links each as a switch does. @returns the release's name */
  async installTogether(applications: Readonly<Record<string, InstalledFiles>>): Promise<string> {
    const release = `r${++this.#releases}`;
    for (const [id, installed] of Object.entries(applications)) await this.#write(release, id, installed);
    return release;
  }

  async #write(
    release: string,
    id: string,
    { app = {}, command = ["node", "server.js"], migrate, files }: InstalledFiles,
  ) {
    const folder = join(this.layout.releases("project-p"), release, "apps", id);
    const { of, schedule, within = 3600 } = app as { of?: string; schedule?: string; within?: number };
    const limit = schedule === undefined ? "" : `timeout -s TERM -k 1 ${within} `;
    const enter = of === undefined ? "" : `cd -P '../${of}' || exit 126\n`;
    const launcher = (words: readonly string[]): string => `#!/bin/sh\n${enter}exec ${limit}${quoted(words)}\n`;
    const all: Record<string, string> = {
      "app.yaml": stringify({ command, ...app, ...(migrate !== undefined && { migrate }) }),
      [schedule === undefined ? ".sealift/start" : ".sealift/run"]: launcher(command),
      ...(migrate !== undefined && { ".sealift/migrate": launcher(migrate) }),
      ...files,
    };
    for (const [path, content] of Object.entries(all)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), content);
    }
    const link = join(this.layout.root, "apps", id);
    await mkdir(dirname(link), { recursive: true });
    await rm(link, { force: true });
    await symlink(folder, link);
  }

  /** Writes the operator's grants. */
  async grant(
    applications: Readonly<Record<string, object>>,
    supervisor: "serve" | "systemd" = "serve",
  ): Promise<void> {
    const granted = Object.entries(applications).map(([id, grant]) => [id, { ...GRANT_USER, ...grant }]);
    await this.grantAsIs(Object.fromEntries(granted) as Record<string, object>, supervisor);
  }

  /** Writes grants that name their users themselves. */
  async grantAsIs(applications: Readonly<Record<string, object>>, supervisor = "serve"): Promise<void> {
    const content = { supervisor, applications };
    await writeFile(join(this.layout.root, "applications.yaml"), stringify(content));
  }
}

/**
 * A Node program that takes a handed-over socket, says its process id, and ends its requests at SIGTERM. HTTP's own
 * `close` would also cut off connections that have just come and not yet asked.
 */
export const HANDED_OVER = `
const server = require("node:http").createServer((request, response) => {
  setTimeout(() => response.end(String(process.pid)), 5);
}).listen({ fd: 3 });
process.on("SIGTERM", () => {
  require("node:net").Server.prototype.close.call(server, () => process.exit(0));
  setInterval(() => server.closeIdleConnections(), 1000).unref();
});
`;

/** A Node program that listens by itself, as most do. */
export const ORDINARY = `
require("node:http").createServer((request, response) => response.end(String(process.pid)))
  .listen(Number(process.env.PORT), process.env.HOST);
`;
