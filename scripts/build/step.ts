/**
 * Does one step of a build, and says on standard error what it is, and how many seconds it took.
 *
 * @returns what the step returns
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
