/**
 * Runs one step of a build, and reports it on standard error with its duration.
 *
 * @returns the result of the step
 */
export async function step<T>(what: string, work: () => T | Promise<T>): Promise<T> {
  const started = performance.now();
  process.stderr.write(`${what} …`);
  try {
    return await work();
  } finally {
    process.stderr.write(` ${((performance.now() - started) / 1000).toFixed(1)} s\n`);
  }
}
