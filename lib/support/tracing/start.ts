import { Exporter } from "./exporter.ts";
import { tracingSettings } from "./settings.ts";
import { subscribeTracer } from "./subscribe.ts";
import { Tracer } from "./tracer.ts";

/**
 * Turns tracing on for this process, according to the environment. Dispose of the result to send what is left.
 *
 * @param service name of this program, unless the environment has another one
 * @param warn called for unusable settings, and for a collector that accepts nothing
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
