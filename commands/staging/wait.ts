import { setTimeout as sleep } from "node:timers/promises";
import { Command, Option } from "clipanion";
import { deploymentError } from "../../lib/contract/errors.ts";
import type { StagingOutcome } from "../../lib/contract/staging/staging.ts";
import { stageWait } from "../../lib/options/staging.ts";
import { managed } from "../hub/managed.ts";
import { interruptible, withOptions } from "../shell/base.ts";

export class StageWait extends withOptions(stageWait) {
  static override paths = [["stage", "wait"]];
  static override usage = Command.Usage({
    category: "Approval",
    description: "Wait until a staged version is approved",
    details: `
      For CI: ends with 0 when the version is approved, with 7 when it was rejected or is gone, and with 75 when it
      still waits after \`--timeout\`. Needs a key that may publish, or the one that has staged the version, and that
      lives as long as the wait: the key of a workflow run ends after 15 minutes. With \`--json\` each change is a line.
    `,
    examples: [["After a publication with --stage", "$0 stage wait Harbour 1.4.0 --timeout 4h"]],
  });

  target = Option.String({ name: "TARGET", required: true });
  version = Option.String({ name: "VERSION", required: true });

  override async run(): Promise<number> {
    const { withinMs, intervalMs } = this.options;
    using interrupt = interruptible();
    const { signal } = interrupt;
    const [{ hub, idOf }, { callsOf }, { ifFound }, { showOutcome }] = await Promise.all([
      managed({ ...this.options, timeoutMs: undefined }),
      import("../../lib/client/calls.ts"),
      import("../../lib/client/answers.ts"),
      import("../../lib/contract/staging/routes.ts"),
    ]);
    const id = await idOf(this.target);
    const client = callsOf({ showOutcome }, hub, { id, version: this.version });
    const end = performance.now() + withinMs;
    // Without a version to begin with, its label is mistyped.
    const first = await client.showOutcome();
    for (let outcome: StagingOutcome | undefined = first; ; outcome = await ifFound(client.showOutcome())) {
      if (outcome?.sha256 !== first.sha256)
        throw deploymentError("stage_ended", `${this.version} of ${this.target} was rejected or removed.`, {
          hint: "Its publisher stages another version, or the label again.",
        });
      if (outcome.state === "published") {
        this.note(`${this.target} ${this.version} is approved.`);
        return this.done({ project_id: id, ...outcome });
      }
      if (outcome === first) this.#tell(id, outcome);
      if (performance.now() >= end)
        throw deploymentError("stage_unfinished", `${this.version} of ${this.target} still waits for approval.`, {
          hint: "Wait again, or with a longer --timeout.",
        });
      await sleep(Math.min(intervalMs, Math.max(end - performance.now(), 0)), undefined, { signal });
    }
  }

  #tell(id: string, outcome: StagingOutcome): void {
    if (this.json) this.print.event({ event: "progress", project_id: id, ...outcome });
    else this.note(`${this.target} ${this.version} waits for approval.`);
  }
}
