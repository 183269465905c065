import type { TargetName } from "../../contract/target.ts";
import { targetOfName, targetText } from "../../contract/target.ts";
import { isDowngrade } from "../../contract/versions.ts";
import type { Layout } from "../../releases/layout.ts";
import { readLastDeployment } from "../reports/report.ts";
import type { Latest } from "../watch/decide.ts";
import { decideDeployment } from "../watch/decide.ts";
import { readPin, WatchMemory } from "../watch/state.ts";
import { factsOnDisk } from "../watch/target-on-disk.ts";
import type { Situation } from "./why.ts";

/**
 * Reads what a host itself records about the newest version of a target. Without an answer of the hub, the watch's last
 * one counts.
 *
 * @param answer of the hub to this host
 */
export async function situationOnDisk(layout: Layout, target: TargetName, answer?: Latest): Promise<Situation> {
  const memory = await new WatchMemory({ layout }, target).read();
  const latest = answer ?? memory.latest ?? undefined;
  const facts = await factsOnDisk(layout, target, { paused: memory.paused, latest: latest ?? null });
  const decision = decideDeployment({ ...facts, damaged: false, allowDowngrade: false });
  const last = await readLastDeployment(layout, target);
  // A failure of a version older than the running one has been fixed by hand.
  const isCurrent =
    last !== undefined &&
    last.code !== null &&
    last.status !== "success" &&
    isAhead(last.resolved_version, facts.running);
  const codeOf = (version: string): string | undefined =>
    facts.quarantine.findLast((entry) => entry.version === version)?.code;
  const isByKit = (latest?.kitMadeAt ?? null) !== null;
  return {
    target: targetText(targetOfName(target)),
    running: facts.running,
    given: latest?.version,
    next: latest?.next && latest.nextAt ? { version: latest.next, at: latest.nextAt } : undefined,
    withdrawn: latest?.withdrawn,
    pin: await readPin(layout, target),
    paused: memory.paused,
    held: decision.do === "hold" ? { ...decision, code: codeOf(decision.version), isByKit } : undefined,
    deploying: memory.state?.is === "deploying" || memory.state?.is === "queued",
    error: isCurrent ? { code: last.code!, message: last.error_message ?? last.code! } : undefined,
    heard: memory.state === undefined ? undefined : (memory.latest?.version ?? null),
  };
}

const isAhead = (version: string | null, running: string | null): boolean =>
  version === null || running === null || (version !== running && !isDowngrade(running, version));
