import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Ports that no kernel gives away by itself (Linux: from 32768 on). Those are lost to anybody who connects or listens
 * meanwhile, and even to who asks them too early: a connection to a port that nobody has may begin at that very port.
 */
const FIRST = 10_000;
/** Ports of each process. Others that run beside it have numbers of their own. */
const OWN = 22;
const PROCESSES = 1_000;

let next = 0;

/** Returns a port of 127.0.0.1 that nobody has, and that no other test takes. */
export async function freePort(): Promise<number> {
  const first = FIRST + (process.pid % PROCESSES) * OWN;
  for (let tries = 0; tries < OWN; tries++) {
    const port = first + (next++ % OWN);
    if (await isFree(port)) return port;
  }
  throw new Error(`the ports from ${first} to ${first + OWN - 1} are all taken`);
}

async function isFree(port: number): Promise<boolean> {
  await using server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
    return true;
  } catch {
    return false;
  }
}
