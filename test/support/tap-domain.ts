import { AsyncLocalStorage, type AsyncResource, executionAsyncResource } from "node:async_hooks";

/**
 * Stands in for `async-hook-domain`, by which tap finds the test that an uncaught error belongs to. That one follows
 * every promise and handle of a test with an async hook, which costs tests with much input and output a tenth of the
 * processor time. Node carries a store of `AsyncLocalStorage` along for almost nothing.
 */

type OnError = (error: unknown, origin?: string) => unknown;

const running = new AsyncLocalStorage<Domain>();

/** Returns whether a test took the error; one of a test that has ended goes to the test around it. */
function taken(error: unknown, origin?: string): boolean {
  let domain = running.getStore();
  while (domain?.destroyed === true) domain = domain.parent;
  if (domain === undefined) return false;
  domain.onerror(error, origin);
  return true;
}

process.on("uncaughtExceptionMonitor", (error, origin) => {
  if (process.listenerCount("uncaughtException") > 0 || process.hasUncaughtExceptionCaptureCallback()) return;
  // Node goes on, once, after an error that has been told.
  if (taken(error, origin)) {
    process.setUncaughtExceptionCaptureCallback(() => process.setUncaughtExceptionCaptureCallback(null));
  }
});

const emit = process.emit.bind(process) as (event: string, ...values: unknown[]) => boolean;
process.emit = ((event: string, ...values: unknown[]) =>
  event === "unhandledRejection" && process.listenerCount(event) === 0
    ? taken(values[0], event)
    : emit(event, ...values)) as typeof process.emit;

/** Made by tap within the asynchronous resource of its test, which runs the test later. */
export class Domain {
  readonly onerror: OnError;
  readonly parent = running.getStore();
  destroyed = false;

  constructor(onerror: OnError) {
    this.onerror = onerror;
    const test = executionAsyncResource() as AsyncResource;
    const runInAsyncScope = test.runInAsyncScope?.bind(test);
    if (runInAsyncScope === undefined) running.enterWith(this);
    else {
      test.runInAsyncScope = (work, it, ...values) =>
        runInAsyncScope(() => running.run(this, () => work.apply(it as never, values)));
    }
  }

  destroy(): void {
    this.destroyed = true;
  }
}
