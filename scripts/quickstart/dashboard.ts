import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Programs } from "./programs.ts";

/** Time to look around before something happens, in milliseconds. */
const LOOK_AROUND_MS = 6_000;

interface Fleet {
  folder: string;
  hubUrl: string;
  projectId: string;
  /** API key and deployment credential of the project's host. */
  host: { key: string; deployment_credential?: string };
  developer: Record<string, string>;
  /** Publishes a new version of everything. */
  publish: () => Promise<void>;
}

/** True where a dashboard can be shown. */
export const onTerminal = (): boolean =>
  process.stdout.isTTY && process.stdin.isTTY && process.env.TERM !== "dumb" && !process.env.CI;

/** Opens the watch's dashboard on the quickstart's fleet, and publishes a new version meanwhile. Ends with `q`. */
export async function showDashboard(programs: Programs, fleet: Fleet): Promise<void> {
  const path = (name: string): string => join(fleet.folder, name);
  const secret = (name: string, value: string): Promise<void> => writeFile(path(name), value, { mode: 0o600 });
  await secret("host.key", fleet.host.key);
  await secret("host.credential", fleet.host.deployment_credential!);
  await secret("developer.key", fleet.developer["SEALIFT_API_KEY"]!);
  await secret("developer.secret", fleet.developer["SEALIFT_SIGNING_SECRET"]!);
  await writeFile(
    path("watch.yaml"),
    `hub_url: ${fleet.hubUrl}
interval: 3s
targets:
  - target: plugin:tide-table
    project_root: plugin-host
    host_id: host-2
    api_key_file: developer.key
    signing_secret_file: developer.secret
    signer_public_key: keys/signer.pub
    install_plan: install.yaml
  - target: project:${fleet.projectId}
    project_root: host
    host_id: host-1
    api_key_file: host.key
    deployment_credential_file: host.credential
    signer_public_key: keys/signer.pub
`,
  );
  const stop = new AbortController();
  const published = sleep(LOOK_AROUND_MS, undefined, { signal: stop.signal }).then(
    () => fleet.publish(),
    () => {},
  );
  await programs.show("watch", ["--config", path("watch.yaml")]);
  stop.abort();
  await published;
}
