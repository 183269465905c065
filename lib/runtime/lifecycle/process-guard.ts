import type { Logger } from "../../support/logging.ts";
import type { Metrics } from "../observability/metrics.ts";

/**
 * Keeps the runtime running when a trusted plugin throws where nobody catches: a plugin must never hurt another. Such
 * an error is logged and counted. Dispose of the guard to remove the handlers.
 */
export function guardProcess(logger: Logger, metrics: Metrics): Disposable {
  const note = (kind: string) => (error: unknown) => {
    metrics.uncaught();
    logger.error({ err: error }, `${kind} in the runtime's process, most likely in a trusted plugin`);
  };
  const exception = note("an uncaught exception");
  const rejection = note("an unhandled rejection");
  process.on("uncaughtException", exception);
  process.on("unhandledRejection", rejection);
  return {
    [Symbol.dispose]() {
      process.off("uncaughtException", exception);
      process.off("unhandledRejection", rejection);
    },
  };
}
