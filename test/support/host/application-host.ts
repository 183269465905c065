import { access, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Test } from "tap";
import type { AgentEvent } from "../../../lib/agent/base/events.ts";
import { deploy } from "../../../lib/agent/deployment/deploy.ts";
import { rollback } from "../../../lib/agent/deployment/rollback.ts";
import { DEPLOY_DEFAULTS, type DeployOptions } from "../../../lib/agent/deployment/run.ts";
import type { Source } from "../../../lib/agent/sources/source.ts";
import type { Supervisor } from "../../../lib/agent/supervisors/supervisor.ts";
import { layoutOf } from "../../../lib/releases/layout.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { sourceOf } from "./given-source.ts";

/** Applications of a root that run nowhere: what was asked of them, and the version that each was started from. */
export class PretendedApplications {
  readonly calls: string[] = [];
  readonly running = new Map<string, string>();
  /** Faults of a check by version. */
  readonly faults = new Map<string, string>();
  /** Ids whose unit is missing. */
  readonly missing = new Set<string>();
  away: string | undefined;
  /** Work at each start, and at each check, of an application. */
  onStart: (() => Promise<void>) | undefined;
  onCheck: (() => Promise<void>) | undefined;
  protected readonly root: string;
  readonly #prepare: (id: string) => Promise<void>;

  /** @param prepare work at each start, before the application runs */
  constructor(root: string, prepare: (id: string) => Promise<void> = async () => {}) {
    this.root = root;
    this.#prepare = prepare;
  }

  supervisor(): Supervisor {
    const start = async (id: string | null): Promise<void> => {
      await access(join(this.root, "apps", id!, ".sealift/start"));
      await this.#prepare(id!);
      await this.onStart?.();
      this.running.set(id!, await readFile(join(this.root, "apps", id!, "version"), "utf8"));
    };
    const told = (verb: string, act: (id: string | null) => Promise<void>) => (id: string | null) => {
      this.calls.push(`${verb} ${id}`);
      return act(id);
    };
    return {
      ready: async () => this.away,
      start: told("start", start),
      restart: told("restart", start),
      stop: told("stop", async (id) => void this.running.delete(id!)),
      check: async (id) => {
        this.calls.push(`check ${id}`);
        await this.onCheck?.();
        return this.faults.get(this.running.get(id!) ?? "nothing");
      },
      prospect: async (id) => ({
        isOpen: false,
        ...(this.missing.has(id) && { lacks: `the unit of ${id} is missing` }),
      }),
    };
  }
}

export const APP = "command: [sh, server.sh]\n";
export const GRANTS = "supervisor: serve\napplications: { web: {}, api: {} }\n";

/** Files of an application whose folder tells its version. */
export const appFiles = (id: string, version: string, yaml = APP): Record<string, string> => ({
  [`apps/${id}/app.yaml`]: yaml,
  [`apps/${id}/version`]: version,
});

export const installing = (...ids: string[]): string =>
  ids.map((id) => `\n  - {id: install-${id}, action: install_app, app: ${id}}`).join("");

/** Version of a project with these applications and no plugin. */
export const appSource = (version: string, ids = ["web"], yaml = APP, files: Record<string, string> = {}): Source =>
  sourceOf(version, installing(...ids), {
    files: Object.assign({}, ...ids.map((id) => appFiles(id, version, yaml)), files) as Record<string, string>,
  });

/** A project root whose applications are pretended. @param root folder that is there; a temporary one by default */
export async function applicationHost(t: Test, grants: string | null = GRANTS, root = temporaryFolder(t)) {
  const pretended = new PretendedApplications(root);
  const events: AgentEvent[] = [];
  const supervisor = { name: "none" as const, applications: async () => pretended.supervisor() };
  const options = { projectRoot: root, hostId: "host", supervisor };
  const allow = (text: string): Promise<void> => writeFile(join(root, "applications.yaml"), text);
  if (grants !== null) await allow(grants);
  return {
    ...{ root, layout: layoutOf(root), pretended, events, options, allow },
    run: (source: Source, more: Partial<DeployOptions> = {}) =>
      deploy(source, { ...DEPLOY_DEFAULTS, ...options, ...more }, (event) => events.push(event)),
    back: (to?: string) =>
      rollback({ kind: "project", slug: appSource("1").slug, to }, options, (event) => events.push(event)),
    version: (id = "web") => readFile(join(root, "apps", id, "version"), "utf8").catch(() => undefined),
  };
}
