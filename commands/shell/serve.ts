import { listening } from "../../lib/support/listening.ts";
import type { Notifier } from "../../lib/support/systemd/notify.ts";

/** Hub or runtime, ready to listen. */
interface Service {
  listen(): Promise<string>;
  /** Lets requests in flight end. */
  close(): Promise<void>;
}

/**
 * Serves until the signal is aborted, reports its state to systemd, and reloads on SIGHUP.
 *
 * @param announce prints the URL on stdout
 * @param reload must not throw
 * @throws UsageError `usage` when the listener cannot start
 */
export async function serve(
  service: Service,
  options: {
    signal: AbortSignal;
    notifier: Notifier;
    announce: (url: string) => void;
    reload: () => Promise<void>;
  },
): Promise<void> {
  const { signal, notifier } = options;
  const reload = (): void => void notifier.reload(options.reload);
  process.on("SIGHUP", reload);
  try {
    const url = await listening(() => service.listen(), "--listen");
    options.announce(url);
    notifier.ready(`Serving at ${url}`);
    await aborted(signal);
    notifier.stopping("Letting the requests in flight end");
  } finally {
    await service.close();
    process.off("SIGHUP", reload);
  }
}

/** Settles when the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
