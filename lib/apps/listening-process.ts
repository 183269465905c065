/**
 * Lets the sockets at descriptors 3 and up take connections, which Node can do only by accepting them, and ends before
 * it accepts one. The number of sockets is the argument. Ends with the code of an error on standard error.
 */
import { createServer } from "node:net";

/** Connections that wait for an application while it restarts; the kernel's `net.core.somaxconn` limits it further. */
const BACKLOG = 4096;
/** First descriptor of a handed-over socket. */
const FIRST = 3;

for (let at = 0; at < Number(process.argv[2]); at++) {
  const server = createServer();
  server.on("error", (error: NodeJS.ErrnoException) => {
    process.stderr.write(`${error.code ?? error.message}\n`);
    process.exit(1);
  });
  server.listen({ fd: FIRST + at, backlog: BACKLOG });
}
// Errors come first in this turn, connections only in the next.
process.nextTick(() => process.exit(0));
