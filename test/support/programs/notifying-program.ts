/**
 * A service with a watchdog: for the second argument's milliseconds its event loop is blocked, after the first one's;
 * then it ends.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { systemdNotifier } from "../../../lib/support/systemd/notify.ts";

const [runMs = 0, blockMs = 0] = process.argv.slice(2).map(Number);
using notifier = systemdNotifier({ warn: (message) => console.error(message) });
notifier.ready("Ready");
await sleep(runMs);
const start = Date.now();
Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, blockMs);
console.log(JSON.stringify({ start, end: Date.now() }));
await sleep(runMs);
notifier.status("Waiting for its turn");
notifier.status("Never said");
notifier.stopping("Bye");
