import { Command, Option } from "clipanion";
import type { RolloutAction, RolloutRecord } from "../../lib/contract/surfaces/rollouts.ts";
import { connection } from "../../lib/options/connection.ts";
import { rolloutAbort, rolloutChange, rolloutShow, rolloutStart } from "../../lib/options/rollouts.ts";
import { counted } from "../../lib/support/counted.ts";
import { type Managed, managed } from "../hub/managed.ts";
import { withOptions } from "../shell/base.ts";
import { showList, timeText } from "../shell/output/listing.ts";
import { loadForProduction, terminalOf } from "../shell/output/terminal.ts";
import { ACTED } from "./acted.ts";

const TARGET = { required: true, name: "TARGET" } as const;

/**
 * Finds a rollout of a target: the newest, unless its id is given. @throws DeploymentError `not_found`; as
 * {@link Managed.idOf}
 */
export async function rolloutOf(
  { client, idOf }: Managed,
  target: string,
  id: string | undefined,
): Promise<{ projectId: string; rollout: RolloutRecord }> {
  const projectId = await idOf(target);
  if (id !== undefined) return { projectId, rollout: await client.rollout(projectId, id) };
  for await (const rollout of client.listRollouts(projectId)) return { projectId, rollout };
  const { deploymentError } = await import("../../lib/contract/errors.ts");
  throw deploymentError("not_found", `${target} has no rollout.`, {
    hint: `Start one: sealift rollout start ${target} VERSION`,
  });
}

export class RolloutStart extends withOptions(rolloutStart) {
  static override paths = [["rollout", "start"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Bring a version to hosts in waves that stop themselves",
    details: `
      The version may be one that is not published yet: then no host gets it before its wave. Waves are shares that
      rise to 100%, and labels of hosts, such as \`env=canary\`. A wave opens when enough hosts of those before it run
      the version and the soak is over. Too many failing hosts halt the rollout; with \`--on-halt rollback\` those that
      took the version go back to what they ran. Hosts count that the hub knows before the start, and
      those whose keys speak for them alone; with \`--bound-hosts\` only these. Label them first.
    `,
    examples: [
      ["A tenth first", "$0 rollout start plugin:tide-table 1.5.0 --waves 10%,100% --soak 30m"],
      [
        "By label, in office hours",
        "$0 rollout start Harbour 2.0.0 --waves env=canary,50%,100% --window 'Mon-Thu 09:00-16:00 Europe/Berlin'",
      ],
    ],
  });

  target = Option.String(TARGET);
  version = Option.String({ required: true, name: "VERSION" });

  override async run(): Promise<number> {
    const { waves, soakMs, maxFailing, minDone, window, approve, onHalt, replace, boundHosts, allowEmptyWave } =
      this.options;
    const { client, idOf } = await managed(this.options);
    const rollout = await client.startRollout(await idOf(this.target), {
      ...{ version: this.version, waves, soak_seconds: soakMs / 1000, max_failing: maxFailing, min_done: minDone },
      ...{ window: window ?? null, approve, on_halt: onHalt, bound_hosts: boundHosts },
      ...(replace !== undefined && { replace }),
      ...(allowEmptyWave && { allow_empty_wave: true }),
    });
    this.note(`Started ${rollout.id}: ${this.target} ${this.version} in ${counted(waves.length, "wave")}.`);
    const others = rollout.base_version === null ? "get no version" : `get ${rollout.base_version}`;
    this.note(`Hosts that run ${this.version} keep it; others ${others} until their wave opens.`);
    return this.done({ rollout });
  }
}

export class RolloutList extends withOptions(connection) {
  static override paths = [["rollout", "list"]];
  static override listed = async () =>
    Object.keys((await import("../../lib/contract/surfaces/rollouts.ts")).rolloutRecord.shape);
  static override usage = Command.Usage({
    category: "Hub",
    description: "List the rollouts of a project, plugin or service",
    examples: [["Newest first", "$0 rollout list Harbour"]],
  });

  target = Option.String(TARGET);

  override async run(): Promise<number> {
    const { client, idOf } = await managed(this.options);
    return showList(this.surroundings(), {
      event: "rollout",
      rows: client.listRollouts(await idOf(this.target)),
      columns: {
        ROLLOUT: ({ id }) => id,
        VERSION: ({ version }) => version,
        STATE: ({ state }) => state,
        WAVES: ({ open, waves }) => `${open}/${waves.length}`,
        STARTED: ({ created_at: at }) => timeText(at),
      },
      none: "No rollout yet.",
    });
  }
}

export class RolloutShow extends withOptions(rolloutShow) {
  static override paths = [["rollout", "show"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Show a rollout: its waves, what it waits for, which hosts fail",
    details: `
      On a terminal it is shown live until \`q\` is pressed, and takes keys that approve, pause, resume and abort it
      (\`?\` lists them), each after a question; elsewhere, and with \`--no-tui\`, it is shown once.
    `,
    examples: [["The newest one", "$0 rollout show Harbour"]],
  });

  target = Option.String(TARGET);

  override async run(): Promise<number> {
    const hub = await managed(this.options);
    const { projectId, rollout } = await rolloutOf(hub, this.target, this.options.rollout);
    const terminal = terminalOf(this.context);
    if (terminal !== undefined && !this.json && this.options.tui && !this.options.screenReader) {
      const { rolloutDashboard } = await loadForProduction(() => import("./dashboard.ts"));
      const hubSide = {
        look: () => hub.client.rollout(projectId, rollout.id),
        act: (action: RolloutAction) => hub.client.actOnRollout(projectId, rollout.id, action, {}),
      };
      await rolloutDashboard(rollout, hubSide, { ...terminal, screenReader: false });
      return this.done({});
    }
    if (!this.json) {
      const { rolloutLines } = await import("./lines.ts");
      for (const line of rolloutLines(rollout, Date.now())) this.print.line(line);
    }
    return this.done({ rollout });
  }
}

export class RolloutChange extends withOptions(rolloutChange) {
  static override paths = [
    ["rollout", "pause"],
    ["rollout", "resume"],
    ["rollout", "approve"],
  ];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Pause or resume a rollout, or approve its next wave",
    details: `
      \`pause\` lets no further host have the version; \`resume\` goes on, also after a halt: failures so far no longer
      count. \`approve\` lets the next wave open when its time has come, and a wave pass that waits for a host which
      does not come; it needs a key with the scope \`projects\`.
    `,
    examples: [["After a look at the hosts", "$0 rollout resume Harbour"]],
  });

  target = Option.String(TARGET);

  override async run(): Promise<number> {
    const action = this.path.at(-1) as RolloutAction;
    const hub = await managed(this.options);
    const { reason } = this.options;
    const { projectId, rollout } = await rolloutOf(hub, this.target, this.options.rollout);
    const change = reason === undefined ? {} : { reason };
    const changed = await hub.client.actOnRollout(projectId, rollout.id, action, change);
    this.note(`${changed.id} of ${changed.version} ${ACTED[action]}.`);
    return this.done({ rollout: changed });
  }
}

export class RolloutAbort extends withOptions(rolloutAbort) {
  static override paths = [["rollout", "abort"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "End a rollout; its version goes to no further host",
    details: `
      With \`--rollback\` hosts that took the version go back to the release that they keep. The version is held until
      it is rolled out again, or until \`version release\`. \`--dry-run\` tells how many hosts would go back.
    `,
    examples: [["And take it back", "$0 rollout abort Harbour --rollback --reason 'loses data'"]],
  });

  target = Option.String(TARGET);

  override async run(): Promise<number> {
    const hub = await managed(this.options);
    const { reason, rollback, dryRun } = this.options;
    const { projectId, rollout } = await rolloutOf(hub, this.target, this.options.rollout);
    const took = rollout.waves.reduce((sum, { done }) => sum + done, 0);
    const isStuck = rollback && rollout.base_version === null;
    const fate = isStuck ? "keep it, since no other version is open" : rollback ? "go back" : "keep it";
    if (dryRun) {
      this.note(`would abort ${rollout.id} of ${rollout.version}; ${counted(took, "host")} run it and would ${fate}`);
      return this.done({ rollout, hosts: took, rollback, dry_run: true });
    }
    const change = { rollback, ...(reason !== undefined && { reason }) };
    const changed = await hub.client.actOnRollout(projectId, rollout.id, "abort", change);
    this.note(`${changed.id} of ${changed.version} ${ACTED.abort}; ${counted(took, "host")} run it and ${fate}.`);
    return this.done({ rollout: changed, hosts: took, rollback, dry_run: false });
  }
}
