/** Actions of the operator: each is carried out at the hub and by the oracle, and both must give the same result. */
import { requireSame } from "./checks.ts";
import type { Hubs } from "./hubs.ts";
import type { Oracle } from "./oracle/oracle.ts";
import { compare } from "./oracle/order.ts";
import type { Progress } from "./oracle/progress.ts";
import type { Verdict } from "./oracle/terms.ts";
import type { Command, Plan } from "./plan.ts";

/** Picks one choice by a number; undefined if there are none. */
export const picked = <T>(pick: number, choices: readonly T[]): T | undefined => choices[pick % choices.length];

export interface Scene {
  plan: Plan;
  hubs: Hubs;
  oracle: Oracle;
  progress: Progress;
  owners: readonly string[];
}

/** Resolves what a command names. @returns the version; undefined where there is none */
export function versionOf(command: Command, { oracle, plan }: Scene): string | undefined {
  const published = [...oracle.versions.keys()];
  const unpublished = plan.pool.filter((version) => !oracle.versions.has(version) && !oracle.deleted.has(version));
  switch (command.do) {
    case "publish":
    case "stage": {
      const { live } = oracle;
      if (command.isOfRollout && live !== undefined && unpublished.includes(live.version)) return live.version;
      return picked(command.pick, unpublished);
    }
    case "start": {
      const facts = (version: string) =>
        oracle.versions.get(version) ?? { version, publishedAt: Number.MAX_SAFE_INTEGER };
      const open = oracle.greatestOpen;
      const isAbove = (version: string): boolean => open === undefined || compare(facts(version), open) > 0;
      if (command.of === "lowest" || command.of === "highest") {
        const above = unpublished.filter(isAbove).sort((a, b) => compare(facts(a), facts(b)));
        return above.at(command.of === "lowest" ? 0 : -1);
      }
      const labels = { unpublished, published, any: plan.pool }[command.of];
      // Mostly greater than everything open, as an operator would choose.
      const above = labels.filter(isAbove);
      return picked(command.pick, command.pick % 5 > 0 && above.length > 0 ? above : labels);
    }
    case "release": {
      const held = published.filter((version) => oracle.versions.get(version)!.state !== "open");
      return picked(command.pick, held.length > 0 ? held : published);
    }
    case "approve staged":
    case "reject staged": {
      // Seldom published, which is refused.
      const staged = published.filter((version) => oracle.versions.get(version)!.state === "staged");
      return picked(command.pick, command.pick % 8 > 0 ? staged : published);
    }
    case "unyank":
      return picked(
        command.pick,
        published.filter((version) => oracle.versions.get(version)!.isYanked),
      );
    case "yank":
    case "delete": {
      // Often the one that is rolled out, or was last.
      const rolled = (oracle.live ?? oracle.rollouts.at(-1))?.version;
      const isRolled = command.pick % 2 === 0 && rolled !== undefined && published.includes(rolled);
      return isRolled ? rolled : picked(command.pick, published);
    }
    case "publish again":
      return picked(command.pick, published);
    default:
      return undefined;
  }
}

/** Carries out an action. @returns a line about it, and whether it was done; undefined for one without an object */
export async function carryOut(command: Command, scene: Scene): Promise<{ text: string; isDone: boolean } | undefined> {
  const { hubs, oracle, progress, owners } = scene;
  const { hub } = command;
  const now = hubs.clock(hub);
  const both = (text: string, found: Verdict, wanted: Verdict) => {
    requireSame(`the answer to ${text}`, found ?? "done", wanted ?? "done");
    return { text, isDone: found === undefined };
  };
  const version = versionOf(command, scene);
  // The live one, or else one that has ended.
  const rollout = oracle.live ?? oracle.rollouts.at(-1);
  switch (command.do) {
    case "publish":
      if (version === undefined) return undefined;
      return both(`publish ${version}`, await hubs.publish(hub, version), oracle.publish(version, now));
    case "stage":
      if (version === undefined) return undefined;
      return both(`stage ${version}`, await hubs.stage(hub, version), oracle.stage(version, now));
    case "approve staged": {
      if (version === undefined) return undefined;
      const { isOwn } = command;
      const text = `approve ${version}, staged${isOwn ? " by the same key" : ""}`;
      const found = await hubs.approveStaged(hub, version, isOwn);
      return both(text, found, oracle.approveStaged(version, now, isOwn));
    }
    case "reject staged":
      if (version === undefined) return undefined;
      return both(`reject ${version}, staged`, await hubs.rejectStaged(hub, version), oracle.rejectStaged(version));
    case "publish again":
      if (version === undefined) return undefined;
      // It stays what it was.
      return both(`publish ${version} again`, await hubs.publish(hub, version, true), undefined);
    case "start": {
      if (version === undefined) return undefined;
      const { rules, allow } = command;
      const replace = command.replace ? oracle.live?.id : undefined;
      const asked = { version, rules, replace, allow };
      const { verdict, id } = await hubs.start(hub, asked);
      const text = `start ${version}${replace === undefined ? "" : " with --replace"} as ${id} ${JSON.stringify(rules)}`;
      return both(text, verdict, oracle.start({ ...asked, id }, now));
    }
    case "pause":
    case "resume":
    case "approve":
    case "abort": {
      if (rollout === undefined) return undefined;
      const rollback = command.do === "abort" && command.rollback;
      const text = `${command.do} ${rollout.version}${rollback ? " with --rollback" : ""}`;
      const found = await hubs.act(hub, rollout.id, command.do, rollback);
      const wanted = {
        pause: () => oracle.pause(rollout),
        resume: () => oracle.resume(rollout, now),
        approve: () => oracle.approve(rollout, now),
        abort: () => oracle.abort(rollout, rollback),
      }[command.do]();
      if (found === undefined && (command.do === "pause" || command.do === "resume")) progress.interrupted();
      return both(text, found, wanted);
    }
    case "release":
      if (version === undefined) return undefined;
      return both(`release ${version}`, await hubs.release(hub, version), oracle.release(version));
    case "yank":
    case "unyank": {
      if (version === undefined) return undefined;
      const isYank = command.do === "yank";
      return both(`${command.do} ${version}`, await hubs.yank(hub, version, isYank), oracle.yank(version, isYank));
    }
    case "delete":
      if (version === undefined) return undefined;
      return both(`delete ${version}`, await hubs.delete(hub, version), oracle.delete(version));
    case "transfer": {
      const owner = owners.find((each) => each !== oracle.owner)!;
      await hubs.transfer(hub, owner);
      oracle.transfer(owner);
      return { text: `transfer to ${owner}`, isDone: true };
    }
    case "forget": {
      const { id } = picked(command.pick, scene.plan.hosts)!;
      oracle.forget(id);
      return both(`forget ${id}`, await hubs.forget(hub, id), undefined);
    }
    case "label": {
      const { labels, pick } = command;
      const { id } = picked(pick, scene.plan.hosts)!;
      return both(`label ${id} ${JSON.stringify(labels)}`, await hubs.label(hub, id, labels), oracle.label(id, labels));
    }
    case "restart":
      await hubs.restart(command.which % hubs.count);
      return { text: `restart hub ${command.which % hubs.count}`, isDone: true };
    default:
      return undefined;
  }
}
