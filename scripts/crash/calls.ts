import { syncBuiltinESMExports } from "node:module";

/* oxlint-disable typescript/no-explicit-any, typescript/no-unsafe-assignment,
   typescript/no-unsafe-return, typescript/no-unsafe-member-access,
   typescript/no-unsafe-argument -- a hook takes every call as it comes */
export type Call = (this: any, ...args: any[]) => any;
/** Called before an operation. @returns a function that logs it once it has succeeded */
export type Watch = (...args: any[]) => ((result: any) => void) | undefined;

/** Functions of Node's own modules, watched until this is disposed of. */
export class WatchedCalls implements Disposable {
  readonly #undo: (() => void)[] = [];

  /** Wraps a function so that successful calls are logged. */
  watch(
    owner: any,
    name: string,
    watch: Watch,
    form: "promise" | "callback" | "sync",
    self?: (owner: any) => unknown,
  ): void {
    const original = owner[name] as Call | undefined;
    if (original === undefined) return;
    const replaced: Call = function (...args) {
      const log = self === undefined ? watch(...args) : watch(self(this), ...args);
      if (log === undefined) return original.apply(this, args);
      if (form === "sync") {
        const result = original.apply(this, args);
        log(result);
        return result;
      }
      if (form === "promise")
        return (original.apply(this, args) as Promise<unknown>).then((result) => {
          log(result);
          return result;
        });
      const done = args.at(-1) as Call;
      return original.call(this, ...args.slice(0, -1), (error: Error | null, ...results: unknown[]) => {
        if (error === null || error === undefined) log(results[0]);
        done(error, ...results);
      });
    };
    Object.defineProperty(replaced, "name", { value: original.name });
    for (const symbol of Object.getOwnPropertySymbols(original)) (replaced as any)[symbol] = (original as any)[symbol];
    owner[name] = replaced;
    this.#undo.push(() => (owner[name] = original));
  }

  /** Publishes the watched functions to every module that has imported one by its name. */
  publish(): void {
    syncBuiltinESMExports();
  }

  [Symbol.dispose](): void {
    for (const undo of this.#undo.toReversed()) undo();
    syncBuiltinESMExports();
  }
}
