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
    const { code = "", address, port, hostname } = error as NodeJS.ErrnoException & Partial<Record<Where, string>>;
    const reason = REASONS[code];
    if (reason === undefined) throw error;
    const host = address ?? hostname ?? "the address";
    const where = port === undefined ? host : `${host.includes(":") ? `[${host}]` : host}:${port}`;
    throw usageError("usage", `Cannot listen on ${where}: ${reason}.`, {
      cause: error,
      hint: "Choose another --listen HOST:PORT; port 0 takes any free one.",
    });
  }
}

/** What Node tells of an address that cannot be listened on. */
type Where = "address" | "port" | "hostname";

/** Settles when the signal is aborted: how long a service serves. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
