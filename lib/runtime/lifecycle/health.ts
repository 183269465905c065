import type { HealthAnswer, HealthCheck, HealthStatus } from "../../contract/surfaces/runtime.ts";
import { describeGroups, type FoundGroups } from "../../support/control-groups/find-groups.ts";
import { within } from "../../support/within.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import type { PluginSlot } from "../catalogue/plugin-slot.ts";
import { messageOf } from "../guest/fault.ts";
import { DISK_IS_SAMPLED } from "../sandbox/disk-limit.ts";
import type { Service } from "../services/service.ts";
import type { FoundWall } from "../walls/find-wall.ts";
import type { Watchdog } from "../watchdog/watchdog.ts";

/** Time limit for a database or the cache to answer, in milliseconds. */
const SERVICE_TIMEOUT_MS = 3000;
/** Time for which a past blockage of the event loop degrades health, in milliseconds. */
const BLOCKED_FOR_MS = 60_000;
const SYNC_TOLERANCE_MS = 1;

export interface HealthParts {
  services: ReadonlyMap<string, Service>;
  catalogue: Catalogue;
  watchdog: Watchdog;
  maxGenerationBytes: number;
  wall: FoundWall;
  groups: FoundGroups;
}

type Finding = Omit<HealthCheck, "duration_ms">;

async function timed(check: () => Finding | Promise<Finding>): Promise<HealthCheck> {
  const started = performance.now();
  let finding: Finding;
  try {
    finding = await check();
  } catch (error) {
    finding = { status: "unhealthy", message: messageOf(error) };
  }
  const elapsed = performance.now() - started;
  return { ...finding, duration_ms: elapsed < SYNC_TOLERANCE_MS ? 0 : Math.round(elapsed * 10) / 10 };
}

async function checkServices(services: [string, Service][]): Promise<Finding> {
  if (services.length === 0) return { status: "healthy", message: "none is configured" };
  const faults = await Promise.all(
    services.map(async ([target, service]) => {
      try {
        const answer = service.check?.() ?? Promise.resolve();
        await within(answer, SERVICE_TIMEOUT_MS, () => new Error(`no answer within ${SERVICE_TIMEOUT_MS / 1000} s`));
        return [];
      } catch (error) {
        return [`${target.replace(/^database:/, "")}: ${messageOf(error)}`];
      }
    }),
  );
  const messages = faults.flat();
  if (messages.length > 0) return { status: "unhealthy", message: messages.join("; ") };
  return { status: "healthy", message: "ok" };
}

async function checkPlugin({ instance, fault, descriptor }: PluginSlot): Promise<Finding> {
  if (instance === undefined) {
    return fault ? { status: "unhealthy", message: fault.message } : { status: "healthy", message: "idle" };
  }
  const { enabled = true, timeout_seconds = 3 } = descriptor?.runtime.health_check ?? {};
  if (!enabled) return { status: "healthy", message: "loaded; its health check is switched off" };
  const finding = await instance.health(timeout_seconds * 1000);
  if (fault && finding.status === "healthy") return { status: "degraded", message: fault.message };
  return finding;
}

function checkLoop({ last }: Watchdog): Finding {
  if (last === undefined || performance.now() - last.endedAtMs > BLOCKED_FOR_MS)
    return { status: "healthy", message: "ok" };
  const who = last.plugin === undefined ? "" : ` while the trusted plugin ${last.plugin} ran`;
  return { status: "degraded", message: `the event loop was blocked for ${last.seconds} s${who}` };
}

function checkModules(slots: PluginSlot[], limit: number): Finding {
  const bytes = slots.reduce((sum, { loader }) => sum + loader.held.bytes, 0);
  const generations = slots.reduce((sum, { loader }) => sum + loader.held.generations, 0);
  const held = `${generations} generations of trusted ES modules hold ${bytes} bytes of source`;
  if (bytes <= limit) return { status: "healthy", message: held };
  const advice = "Node never frees them: restart the runtime when it suits";
  return { status: "degraded", message: `${held}, more than the limit of ${limit}. ${advice}` };
}

/** Reports on sandboxes. A missing wall alone does not degrade health: where one is required, plugins do not load. */
function checkSandbox(found: FoundWall, bounds: FoundGroups, slots: PluginSlot[]): Finding {
  const sandboxes = slots.filter(({ instance }) => instance?.mode === "sandboxed").length;
  const held = found.wall ? `${found.wall.name}: ${found.wall.parts.join(", ")}` : `no second wall: ${found.reason}`;
  const message = `${sandboxes} sandboxed plugins run; ${held}; ${describeGroups(bounds)}; ${DISK_IS_SAMPLED}`;
  return { status: "healthy", message };
}

/**
 * Summarizes the checks: a failed database or cache makes the runtime unhealthy; a failed plugin only degrades it,
 * because the others serve.
 */
function overall(checks: Record<string, HealthCheck>): HealthStatus {
  if (checks["database"]?.status === "unhealthy" || checks["cache"]?.status === "unhealthy") return "unhealthy";
  return Object.values(checks).every(({ status }) => status === "healthy") ? "healthy" : "degraded";
}

/** Returns the global diagnostic of surface C. Runs all checks at the same time. */
export async function diagnose({
  services,
  catalogue,
  watchdog,
  maxGenerationBytes,
  wall,
  groups,
}: HealthParts): Promise<HealthAnswer> {
  const all = [...services];
  const plugins = catalogue.all;
  const checks: [string, () => Finding | Promise<Finding>][] = [
    ["database", () => checkServices(all.filter(([target]) => target.startsWith("database:")))],
    ["cache", () => checkServices(all.filter(([target]) => target === "cache"))],
    ["event_loop", () => checkLoop(watchdog)],
    ["modules", () => checkModules(plugins, maxGenerationBytes)],
    ["sandbox", () => checkSandbox(wall, groups, plugins)],
    ...all
      .filter(([target]) => target.startsWith("extension:"))
      .map((extension): [string, () => Promise<Finding>] => [extension[0], () => checkServices([extension])]),
    ...plugins.map((slot): [string, () => Promise<Finding>] => [`plugin:${slot.name}`, () => checkPlugin(slot)]),
  ];
  const results = await Promise.all(checks.map(async ([name, check]) => [name, await timed(check)] as const));
  const answered = Object.fromEntries(results);
  return { status: overall(answered), checks: answered };
}
