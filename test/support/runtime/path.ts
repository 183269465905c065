/** Sets PATH for one test, which is where the programs of walls are looked for. */
export function usePath(t: { teardown(back: () => void): void }, path: string): void {
  const before = process.env["PATH"];
  process.env["PATH"] = path;
  t.teardown(() => (process.env["PATH"] = before));
}
