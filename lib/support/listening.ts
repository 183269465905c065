import { usageError } from "../contract/errors.ts";

const REASONS: Record<string, string> = {
  EADDRINUSE: "another program listens there",
  EACCES: "this user may not",
  EADDRNOTAVAIL: "this machine has no such address",
  ENOTFOUND: "the name is not known",
};

/** Part of an address that Node blames when it cannot listen there. */
type Where = "address" | "port" | "hostname";

/**
 * Starts a listener. Reports a failure as a fault of its option.
 *
 * @param option flag that gives the address
 * @throws UsageError `usage`
 */
export async function listening<T>(start: () => Promise<T>, option: string): Promise<T> {
  try {
    return await start();
  } catch (error) {
    const { code = "", address, port, hostname } = error as NodeJS.ErrnoException & Partial<Record<Where, string>>;
    const reason = REASONS[code];
    if (reason === undefined) throw error;
    const host = address ?? hostname ?? "the address";
    const where = port === undefined ? host : `${host.includes(":") ? `[${host}]` : host}:${port}`;
    throw usageError("usage", `Cannot listen on ${where}: ${reason}.`, {
      cause: error,
      hint: `Choose another ${option} HOST:PORT; port 0 takes any free one.`,
    });
  }
}
