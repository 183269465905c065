import { usageError } from "../../lib/contract/errors.ts";

const REASONS: Record<string, string> = {
  EADDRINUSE: "another program listens there",
  EACCES: "this user may not",
  EADDRNOTAVAIL: "this machine has no such address",
  ENOTFOUND: "the name is not known",
};

/** Starts a listener. What keeps it from starting is a matter of its options. @throws UsageError `usage` */
export async function listenOn(service: { listen(): Promise<string> }): Promise<string> {
  try {
    return await service.listen();
  } catch (error) {
    const reason = REASONS[(error as NodeJS.ErrnoException).code ?? ""];
    throw reason === undefined ? error : usageError("usage", `Cannot listen: ${reason}.`, { cause: error });
  }
}

/** Settles when the signal is aborted: how long a service serves. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
