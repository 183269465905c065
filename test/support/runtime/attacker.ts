import type { Test } from "tap";
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

export async function startAttacker(
  t: Test,
  { descriptor = {}, plugins = {}, ...options }: HostOptions & { descriptor?: Record<string, unknown> } = {},
): Promise<Attacker> {
  const host = await startHost(t, {
    ...options,
    plugins: { evil: sandboxed("evil", SOURCE, descriptor), victim: sandboxed("victim", SOURCE), ...plugins },
  });
  return Object.assign(host, {
    attack: (code: string, parameters?: Record<string, unknown>, plugin = "evil") =>
      host.result(plugin, "run", { code, parameters }) as Promise<Outcome>,
  });
}

/** Every piece of code must be refused, each under its name. */
export async function allRefused(
  t: Test,
  host: Attacker,
  attacks: Record<string, string>,
  parameters = {},
): Promise<void> {
  for (const [name, code] of Object.entries(attacks)) {
    const outcome = await host.attack(code, parameters);
    t.ok("refused" in outcome, `${name}: ${JSON.stringify(outcome)}`);
  }
}
