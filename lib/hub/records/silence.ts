import type { Socket } from "node:net";
import type pg from "pg";

/** Wait for the server after which a connection is probed, in milliseconds. */
const SUSPICIOUS_MS = 1500;
const TICK_MS = 500;
/** Time in which a server must answer a new connection, in milliseconds. */
const ANSWER_MS = 1500;

/** Returns the socket of a client, which its types do not expose. */
export const socketOf = (client: pg.Client | pg.PoolClient): Socket =>
  (client as unknown as { connection: { stream: Socket } }).connection.stream;

/**
 * Closes the connections of a pool whose server hangs, after {@link SUSPICIOUS_MS} and {@link ANSWER_MS} together. A
 * server that is merely slow answers a new connection at once.
 *
 * @param connect connects to the server, and rejects after a time
 */
export function endSilence(pool: pg.Pool, connect: (timeoutMs: number) => Promise<unknown>): void {
  const taken = new Map<pg.PoolClient, { bytes: number; since: number }>();
  pool.on("acquire", (client) => {
    taken.set(client, { bytes: socketOf(client).bytesRead, since: performance.now() });
  });
  pool.on("release", (_error, client) => void taken.delete(client));
  pool.on("remove", (client) => void taken.delete(client));

  const silent = (): pg.PoolClient[] => {
    const now = performance.now();
    for (const [client, seen] of taken) {
      const { bytesRead } = socketOf(client);
      if (bytesRead !== seen.bytes) taken.set(client, { bytes: bytesRead, since: now });
    }
    return [...taken].flatMap(([client, { since }]) => (now - since > SUSPICIOUS_MS ? [client] : []));
  };
  let isAsking = false;
  const look = async (): Promise<void> => {
    if (pool.ended) return clearInterval(timer);
    if (isAsking || silent().length === 0) return;
    isAsking = true;
    // A refusal is an answer, too: only silence counts.
    const answers = await connect(ANSWER_MS).then(
      () => true,
      (error: unknown) => !/timeout/i.test((error as Error).message),
    );
    isAsking = false;
    if (!answers) for (const client of silent()) socketOf(client).destroy();
  };
  const timer = setInterval(() => void look(), TICK_MS).unref();
}
