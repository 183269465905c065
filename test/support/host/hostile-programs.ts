/** Programs of a version that leaves its group, takes off the variable that marks it, and keeps its socket. */

/** A server on the socket that it was handed. */
export const answers = (text: string, status = 200): string =>
  `require("node:http").createServer((q, r) => r.writeHead(${status}).end(${JSON.stringify(text)})).listen({ fd: 3 });`;

/** Starts a process that answers on, and has nothing of the first but the socket. */
const escapes = (status: number): string => `
require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(answers("escaped", status))}],
  { detached: true, env: {}, cwd: "/", stdio: ["ignore", "ignore", "ignore", 3] }).unref();`;

/** Processes that each start a successor in a session of its own, and end. */
export const HOPPERS = `
const hop = 'hop=$1; setsid env -i /bin/sh -c "$hop" sh "$hop" & setsid env -i /bin/sleep 300 &';
for (let count = 0; count < 4; count++)
  require("node:child_process").spawn("/bin/sh", ["-c", hop, "sh", hop], { detached: true, env: {}, stdio: "ignore" });`;

/** Leaves once, and serves on. @param status of both answers */
export const leaves = (status = 200): string => `${answers("hostile", status)}${escapes(status)}`;

/** Hops from process to process. @param status of their answers */
export const hops = (status = 200): string => `${leaves(status)}${HOPPERS}`;

/** Writes over its own title, and so what /proc shows of it. */
export const ERASES = `process.title = "x".repeat(4096); ${leaves()}`;
