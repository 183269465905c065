import t, { type Test } from "tap";
import { needs } from "../programs/optional.ts";
import { actions, type Host, type HostOptions, sandboxed, startHost } from "./host.ts";

/** A hostile sandboxed plugin whose one action runs any code that the test sends, inside the sandbox. */

const SOURCE = actions(
  `
  run: async ({ code, parameters }, context) => {
    const body = new AsyncFunction("context", "parameters", "load", code);
    try {
      return { done: (await body(context, parameters ?? {}, (name) => import(name))) ?? null };
    } catch (error) {
      return { refused: error.code ?? error.name, message: String(error.message) };
    }
  },
  alive: () => "alive",
`,
  `const AsyncFunction = (async () => {}).constructor;`,
);

export type Outcome = { done: unknown } | { refused: string; message: string };

export interface Attacker extends Host {
  /** Runs code as the plugin: `context`, `parameters` and `load(module)` are in scope. */
  attack(code: string, parameters?: Record<string, unknown>, plugin?: string): Promise<Outcome>;
}

/** The walls around a sandbox in a test: Node's permission model alone, the wall alone, or both. */
export type Setting = "model" | "wall" | "both";

const MEANS: Record<Setting, string> = {
  model: "Node's permission model alone",
  wall: "the wall alone",
  both: "the model and the wall",
};
const noWall = needs("bwrap");

/**
 * Runs a test in production's setting, or, without the wall's program, with the model alone. Where SEALIFT_EVERY_WALL
 * is set it runs in each setting: every night, and in CI where a change touches the walls.
 */
export function inEachSetting(title: string, run: (t: Test, setting: Setting) => Promise<void>): void {
  if (process.env["SEALIFT_EVERY_WALL"] === undefined)
    return void t.test(title, (t) => run(t, noWall === false ? "both" : "model"));
  for (const setting of ["model", "wall", "both"] as const) {
    t.test(`${title}: ${MEANS[setting]}`, { skip: setting !== "model" && noWall }, (t) => run(t, setting));
  }
}

export type AttackerOptions = HostOptions & { descriptor?: Record<string, unknown>; setting?: Setting };

export async function startAttacker(
  t: Test,
  { descriptor = {}, plugins = {}, setting, configuration, ...options }: AttackerOptions = {},
): Promise<Attacker> {
  // An attack that costs its own process is refused; the next one needs a process again.
  const sandbox = { wall: setting === "model" ? "off" : "required", max_restarts: 1000, backoff_ms: 1 };
  const configured = { ...(configuration?.plugins?.["sandbox"] as object | undefined) };
  const host = await startHost(t, {
    ...options,
    configuration: setting
      ? { ...configuration, plugins: { ...configuration?.plugins, sandbox: { ...sandbox, ...configured } } }
      : { ...configuration },
    permissionModel: setting === "wall" ? "absent" : "enforced",
    plugins: { evil: sandboxed("evil", SOURCE, descriptor), victim: sandboxed("victim", SOURCE), ...plugins },
  });
  return Object.assign(host, {
    attack: async (code: string, parameters?: Record<string, unknown>, plugin = "evil"): Promise<Outcome> => {
      const { status, body } = await host.call(plugin, "run", { code, parameters });
      if (status === 200) return (body as { result: Outcome }).result;
      // The attack cost its own process, and nobody else anything.
      const ended = ["plugin_crashed", "memory_exceeded"].includes(body.code as string);
      if (ended) return { refused: String(body.code), message: String(body.msg) };
      throw new Error(`${plugin} did not run the attack: ${status} ${JSON.stringify(body)}`);
    },
  });
}

/**
 * Every piece of code must be refused, each under its name.
 * @param harmless names of those that the wall alone lets through, because all they reach is the process itself
 */
export async function allRefused(
  t: Test,
  host: Attacker,
  attacks: Record<string, string>,
  parameters = {},
  harmless: readonly string[] = [],
): Promise<void> {
  for (const [name, code] of Object.entries(attacks)) {
    const outcome = await host.attack(code, parameters);
    t.ok("refused" in outcome || harmless.includes(name), `${name}: ${JSON.stringify(outcome)}`);
  }
}
