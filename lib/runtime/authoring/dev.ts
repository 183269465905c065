import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import type { Logger } from "../../support/logging.ts";
import type { EndedCall } from "../calls/call-log.ts";
import { createRuntime } from "../runtime.ts";
import { onChange } from "./on-change.ts";
import { listPlugin } from "./packing-list.ts";
import { descriptorOf } from "./plugin-folder.ts";
import { callOverHttp, trialConfiguration } from "./trial.ts";
import { writeTypePaths } from "./type-paths.ts";

export type DevEvent =
  | { event: "ready"; url: string; key: string; actions: string[] }
  | { event: "failed"; message: string }
  | { event: "not_packed"; path: string; pattern: string }
  | { event: "reloaded"; actions: string[]; durationMs: number }
  | { event: "call"; call: EndedCall };

export interface DevOptions {
  folder: string;
  /** `integration.yaml` whose services and grants the plugin gets. */
  configFile?: string;
  listen: { host: string; port: number };
  /** Address for Node's inspector: of this process for a trusted plugin, of its own process for a sandboxed one. */
  inspect?: { host: string; port: number };
  logger: Logger;
  onEvent: (event: DevEvent) => void;
}

export interface DevSession extends AsyncDisposable {
  readonly name: string;
  readonly url: string;
  /** Calls an action like a caller over HTTP. @returns the answer's status and body */
  call(action: string, payload: unknown): Promise<{ status: number; body: unknown }>;
}

/**
 * Runs a plugin from its source folder and reloads it whenever a file in it is saved. Reports what does not load; the
 * previous version continues.
 * @throws UsageError for a folder without a valid descriptor
 */
export async function developPlugin(options: DevOptions): Promise<DevSession> {
  const folder = resolve(options.folder);
  const { name, execution_mode } = await descriptorOf(folder);
  await writeTypePaths(folder);
  await using building = new AsyncDisposableStack();
  const root = await mkdtemp(join(tmpdir(), "sealift-dev-"));
  building.defer(() => rm(root, { recursive: true, force: true }));
  await mkdir(join(root, "plugins"));
  await symlink(folder, join(root, "plugins", basename(folder)));
  const key = randomBytes(24).toString("hex");
  const { inspect, onEvent } = options;
  if (inspect && execution_mode === "trusted") {
    const inspector = await import("node:inspector");
    inspector.open(inspect.port, inspect.host);
    building.defer(() => inspector.close());
  }
  const runtime = await createRuntime({
    configuration: await trialConfiguration(options.configFile, key),
    root,
    listen: options.listen,
    logger: options.logger,
    ...(inspect && { inspect }),
    onCall: (call) => onEvent({ event: "call", call }),
  });
  building.defer(() => runtime.close());
  const url = await runtime.listen();
  const slot = () => runtime.catalogue.find(name) ?? runtime.catalogue.find(basename(folder));
  const actionsOf = (): string[] => [...(slot()?.instance?.actions ?? [])].sort();
  onEvent({ event: "ready", url, key, actions: actionsOf() });
  const fault = slot()?.fault;
  if (fault) onEvent({ event: "failed", message: fault.message });
  // The folder itself runs: what an archive would not hold is there all the same.
  try {
    for (const left of listPlugin({ folder, name }).leftOut) onEvent({ event: "not_packed", ...left });
  } catch (error) {
    onEvent({ event: "failed", message: `It could not be packed: ${(error as Error).message}` });
  }
  building.use(
    onChange(folder, async () => {
      const started = performance.now();
      try {
        await runtime.lifecycle.reload(slot()?.name ?? basename(folder));
        onEvent({ event: "reloaded", actions: actionsOf(), durationMs: performance.now() - started });
      } catch (error) {
        onEvent({ event: "failed", message: (error as Error).message });
      }
    }),
  );
  const resources = building.move();
  return {
    name,
    url,
    async call(action, payload) {
      const answer = await callOverHttp({ url, key }, slot()?.name ?? name, action, payload);
      return { status: answer.status, body: await answer.json() };
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
