/**
 * A deployment below a hook, in a process that strace watches too. Arguments: a folder, the project root. Prints the
 * hook's log.
 */
import { writeFileSync } from "node:fs";
import { Hook } from "../../../scripts/crash/hook.ts";
import { HostWorld } from "../../../scripts/crash/host-world.ts";
import { summaryOf } from "./trace-summary.ts";

const [folder, root, output] = process.argv.slice(2) as [string, string, string];
await using world = await HostWorld.make(folder);
using hook = await Hook.start(root);
const { status } = await world.deploy(root, "1.0.0");
hook.absorb();
writeFileSync(output, JSON.stringify({ status, summary: summaryOf(hook.disk) }));
