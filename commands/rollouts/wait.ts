import { setTimeout as sleep } from "node:timers/promises";
import { Command, Option } from "clipanion";
import type { KeyService } from "../../lib/client/key-service.ts";
import { deploymentError } from "../../lib/contract/errors.ts";
import type { RolloutRecord } from "../../lib/contract/rollouts/records.ts";
import { rolloutWait } from "../../lib/options/rollouts.ts";
import { interruptible, withOptions } from "../shell/base.ts";
import { rolloutOf, rolloutsOf } from "./rollouts.ts";

/** Newest versions among which held ones are reported. */
const VERSIONS = 200;

export class RolloutWait extends withOptions(rolloutWait) {
  static override paths = [["rollout", "wait"]];
  static override usage = Command.Usage({
    category: "Rollouts",
    description: "Wait until a rollout is completed or halted",
    details: `
      For CI: ends with 0 when the rollout is completed, with 1 when it is halted, aborted or replaced, and with 75 when
      it goes on after \`--timeout\`, which names hosts that it waits for. With \`--json\` each change is a line.
    `,
    examples: [["After a start", "$0 rollout wait Harbour --timeout 4h"]],
  });

  target = Option.String({ required: true, name: "TARGET" });

  override async run(): Promise<number> {
    const { withinMs, intervalMs } = this.options;
    const { awaitedSentence, stateText } = await import("./lines.ts");
    using interrupt = interruptible();
    const { signal } = interrupt;
    const { id, client, keyService } = await rolloutsOf({ ...this.options, timeoutMs: undefined }, this.target);
    const end = performance.now() + withinMs;
    let rollout = await rolloutOf(client, this.target, this.options.rollout);
    for (let told = ""; ; rollout = await client.showRollout({ params: { rollout: rollout.id } })) {
      const text = stateText(rollout, Date.now());
      const awaited = awaitedSentence(rollout, Date.now());
      const key = JSON.stringify({ ...rollout, failing: undefined, awaited: undefined });
      if (key !== told) this.#tell(rollout, awaited === undefined ? text : `${text}. ${awaited}.`);
      told = key;
      const { state, version, reason } = rollout;
      if (state === "completed") return await this.#completed(keyService, id, rollout);
      if (state === "halted")
        throw deploymentError("rollout_halted", `The rollout of ${version} is halted: ${reason ?? "by hand"}`, {
          hint: `\`sealift rollout show ${this.target}\` names the hosts; then \`sealift rollout resume\` or \`abort\`.`,
        });
      if (state === "aborted" || state === "replaced")
        throw deploymentError(
          "rollout_ended",
          `The rollout of ${version} was ${state}${reason === null ? "" : `: ${reason}`}.`,
        );
      if (performance.now() >= end) {
        const hint = "Wait again, or with a longer --timeout.";
        throw deploymentError("rollout_unfinished", `The rollout of ${version} goes on: ${text}.`, {
          hint: awaited === undefined ? hint : `${awaited}. ${hint}`,
        });
      }
      await sleep(Math.min(intervalMs, Math.max(end - performance.now(), 0)), undefined, { signal });
    }
  }

  /** Lists the versions that no rollout has released: only a person ends their hold. */
  async #completed(client: KeyService, id: string, rollout: RolloutRecord): Promise<number> {
    const held: string[] = [];
    let looked = 0;
    for await (const { version, state, is_yanked: isYanked } of client.listVersions({ params: { id } })) {
      if (state?.name === "held" && !isYanked) held.push(version);
      if (++looked === VERSIONS) break;
    }
    for (const version of held)
      this.note(`${version} is still held; \`sealift version release ${this.target} ${version}\` gives it to all.`);
    return this.done({ rollout, held });
  }

  #tell(rollout: RolloutRecord, text: string): void {
    if (this.json) this.print.event({ event: "progress", ...rollout });
    else this.note(text);
  }
}
