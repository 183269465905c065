import { resolve } from "node:path";
import { rollback } from "../deployment/rollback.ts";
import { doneEvent } from "./check-result.ts";
import type { DeploymentQueue } from "./deployment-queue.ts";
import type { EmitWatch } from "./events.ts";
import type { WatchTarget } from "./target.ts";

/**
 * Takes a target back to the release that ran before, in turn with the deployments of its project root. However it
 * ends, the events say so.
 *
 * @throws the reason of `signal` when the watch ends first
 */
export async function goBack(
  { name, source, options }: WatchTarget,
  { deployments, emit }: { deployments: DeploymentQueue; emit: EmitWatch },
  signal: AbortSignal,
): Promise<void> {
  const { kind, slug } = source("latest");
  await deployments.alone(resolve(options.projectRoot), async () => {
    signal.throwIfAborted();
    const started = performance.now();
    const result = await rollback({ kind, slug }, { ...options, signal }, (event) => emit({ ...event, target: name }));
    emit(doneEvent(name, result, started));
  });
}
