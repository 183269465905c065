/** A gate at which something waits in the middle of its work until a test lets it go on. */
export interface Gate {
  /** Resolves when somebody stands before it. */
  reached: Promise<void>;
  open(): void;
  /** Waits until it is open. */
  pass(): Promise<void>;
}

export function gate(): Gate {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  return {
    reached: reached.promise,
    open: opened.resolve,
    pass: () => {
      reached.resolve();
      return opened.promise;
    },
  };
}
