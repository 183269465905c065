import { LRUCache } from "lru-cache";
import type { StoredGate } from "../records/latest/gate.ts";
import type { Gate } from "./answer.ts";
import { wavesOf } from "./waves.ts";
import { parseWindow } from "./window.ts";

/** Parsed gates by their text: every poll of a target with a gate needs one. */
const gates = new LRUCache<string, Gate>({ max: 1000 });

/** Reads a gate as a target's row has it. */
export function gateOf(text: string): Gate {
  let gate = gates.get(text);
  if (gate === undefined) {
    const { above, rolling } = JSON.parse(text) as StoredGate;
    gate = {
      above: above.map(({ version, rolling: isRolling = false, taken_back: isTakenBack = false }) => ({
        ...{ version, isRolling, isTakenBack },
      })),
      rolling: rolling && {
        ...{ id: rolling.id, isRunning: rolling.running, open: rolling.open },
        ...{ known: rolling.known, onlyBound: rolling.only_bound },
        waves: wavesOf(rolling.waves),
        window: rolling.window === null ? undefined : parseWindow(rolling.window),
      },
    };
    gates.set(text, gate);
  }
  return gate;
}
