import { usageError } from "../../lib/contract/errors.ts";

/** The value of `--listen`. @throws UsageError `usage` when it is not HOST:PORT */
export function parseListen(text: string): { host: string; port: number } {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+)):(\d{1,5})$/i.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  if (host === undefined || port > 65_535) {
    throw usageError("usage", `--listen is HOST:PORT, such as 127.0.0.1:8000 or [::1]:0, not ${JSON.stringify(text)}.`);
  }
  return { host, port };
}

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
