import { parentPort } from "node:worker_threads";

/** A plugin of two actions, as it would be without a runtime: in a process of its own, or in a thread. */

const actions: Record<string, (payload: unknown) => unknown> = {
  echo: (payload) => payload,
  loop: () => {
    for (;;);
  },
};

interface Call {
  id: number;
  action: string;
  payload: unknown;
}

/** Entry point for piscina. */
export default ({ action, payload }: Call): unknown => actions[action]!(payload);

if (parentPort === null && process.send) {
  process.on("message", ({ id, action, payload }: Call) => process.send!({ id, result: actions[action]!(payload) }));
  process.on("disconnect", () => process.exit(0));
  process.send("ready");
}
