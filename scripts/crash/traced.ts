import { differences, type Disk } from "./disk.ts";
import { Hook } from "./hook.ts";

/** Traces a run below a folder; afterwards the trace and the folder must agree. */
export async function traced(root: string, run: (hook: Hook) => Promise<void>): Promise<Disk> {
  using hook = await Hook.start(root);
  await run(hook);
  const untraced = differences(hook.disk, root);
  if (untraced.length > 0) throw new Error(`not traced: ${untraced.join(", ")}`);
  return hook.disk;
}
