import { setTimeout as sleep } from "node:timers/promises";

/**
 * Waits for what only asking again can tell.
 *
 * @param limitMs time after which it throws; far more than the condition needs on a busy machine
 * @param pauseMs time between two looks; more where a look is a program
 * @throws Error that shows the condition
 */
export async function until(condition: () => unknown, limitMs = 60_000, pauseMs = 10): Promise<void> {
  for (const end = performance.now() + limitMs; !(await condition()); await sleep(pauseMs))
    if (performance.now() > end) throw new Error(`it did not come true within ${limitMs} ms: ${String(condition)}`);
}
