/** Limits on how long a promise is waited for. The work itself goes on: only its caller stops waiting. */

/** Settles like `work`, or rejects with `expired()` after `timeoutMs` milliseconds. Ignores later results. */
export function within<T>(work: Promise<T>, timeoutMs: number, expired: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(expired()), timeoutMs);
    work.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error: Error) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}

/** Resolves when `work` has settled, however it ended: true; or after `timeoutMs` milliseconds: false. */
export function settledWithin(work: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), timeoutMs);
    const settled = (): void => {
      clearTimeout(timer);
      resolve(true);
    };
    work.then(settled, settled);
  });
}
