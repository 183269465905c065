import { Exporter } from "./exporter.ts";
import { tracingSettings } from "./settings.ts";
import { subscribeTracer } from "./subscribe.ts";
import { Tracer } from "./tracer.ts";

/**
 * Turns tracing on for this process, as the environment says. Dispose of the result to send what is left.
 *
 * @param service the name of this program, unless the environment has another one
 * @param warn hears of settings that cannot be used, and of a collector that takes nothing
 */
export function startTracing(
  env: NodeJS.ProcessEnv,
  facts: { service: string; version: string; warn: (message: string) => void },
): AsyncDisposable {
  const settings = tracingSettings(env, facts);
  if (settings === undefined) return { [Symbol.asyncDispose]: async () => undefined };
  const exporter = new Exporter(settings, facts.version, facts.warn);
  const unsubscribe = subscribeTracer(new Tracer(settings.sampler, settings.parent, exporter.add));
  return {
    async [Symbol.asyncDispose]() {
      unsubscribe();
      await exporter.close();
    },
  };
}
