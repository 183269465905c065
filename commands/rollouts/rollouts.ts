import type { Calls } from "../../lib/client/calls.ts";
import { SealiftError } from "../../lib/contract/errors.ts";
import type { RolloutAction, RolloutRecord } from "../../lib/contract/rollouts/records.ts";
import type * as routes from "../../lib/contract/rollouts/routes.ts";
import { connection } from "../../lib/options/connection.ts";
import { rolloutAbort, rolloutChange, rolloutShow, rolloutStart } from "../../lib/options/rollouts.ts";
import { counted } from "../../lib/support/counted.ts";
import { managed } from "../hub/managed.ts";
import { withHint } from "../shell/output/failure.ts";
import { showList, timeText } from "../shell/output/listing.ts";
import { loadForProduction, terminalOf } from "../shell/output/terminal.ts";
import { resource } from "../shell/resource.ts";
import { ACTED } from "./acted.ts";

const ofTarget = resource("rollout", ["TARGET"], rolloutsOf);
const ofVersion = resource("rollout", ["TARGET", "VERSION"], rolloutsOf);
const ofRollout = resource("rollout", ["TARGET"], async (options, target) => {
  const { client } = await rolloutsOf(options, target);
  return { client, find: (id: string | undefined) => rolloutOf(client, target, id) };
});

/** Rollouts of a project, plugin or service (docs/rollouts.md). */
type Rollouts = Calls<typeof routes, "id">;

/** Returns the rollouts of a target, and its id. @throws as `idOf` of {@link managed} */
export async function rolloutsOf(options: Parameters<typeof managed>[0], target: string) {
  const [{ hub, client, idOf }, { callsOf }, table] = await Promise.all([
    managed(options),
    import("../../lib/client/calls.ts"),
    import("../../lib/contract/rollouts/routes.ts"),
  ]);
  const id = await idOf(target);
  const rollouts: Rollouts = callsOf(table, hub, { id });
  return { id, client: rollouts, keyService: client };
}

/** Finds a rollout of a target: the newest, unless its id is given. @throws DeploymentError `not_found` */
export async function rolloutOf(client: Rollouts, target: string, id: string | undefined): Promise<RolloutRecord> {
  if (id !== undefined) return client.showRollout({ params: { rollout: id } });
  for await (const rollout of client.listRollouts()) return rollout;
  const { deploymentError } = await import("../../lib/contract/errors.ts");
  throw deploymentError("not_found", `${target} has no rollout.`, {
    hint: `Start one: sealift rollout start ${target} VERSION`,
  });
}

/** Adds the flag that replaces the rollout under way to a refusal for its sake. */
async function withReplacement(error: unknown, client: Rollouts, replace: string | undefined): Promise<unknown> {
  if (!(error instanceof SealiftError) || error.code !== "conflict" || replace !== undefined) return error;
  for await (const { id, ended_at: endedAt } of client.listRollouts())
    if (endedAt === null) return withHint(error, `--replace ${id} starts this one in its place.`);
    else break;
  return error;
}

export const RolloutStart = ofVersion("start", rolloutStart, {
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
  async run({ client }, { options, note, done }, [target, version]) {
    const { waves, soakMs, maxFailing, minDone, window, approve, onHalt, replace, boundHosts, allowEmptyWave } =
      options;
    const request = {
      ...{ version, waves, soak_seconds: soakMs / 1000, max_failing: maxFailing, min_done: minDone },
      ...{ window: window ?? null, approve, on_halt: onHalt, bound_hosts: boundHosts },
      ...(replace !== undefined && { replace }),
      ...(allowEmptyWave && { allow_empty_wave: true }),
    };
    const rollout = await client.startRollout({ body: request }).catch(async (error: unknown) => {
      throw await withReplacement(error, client, replace);
    });
    note(`Started ${rollout.id}: ${target} ${version} in ${counted(waves.length, "wave")}.`);
    const others = rollout.base_version === null ? "get no version" : `get ${rollout.base_version}`;
    note(`Hosts that run ${version} keep it; others ${others} until their wave opens.`);
    return done({ rollout });
  },
});

export const RolloutList = ofTarget("list", connection, {
  description: "List the rollouts of a project, plugin or service",
  examples: [["Newest first", "$0 rollout list Harbour"]],
  listed: async () => Object.keys((await import("../../lib/contract/rollouts/records.ts")).rolloutRecord.shape),
  run: ({ client }, shell) =>
    showList(shell, {
      event: "rollout",
      rows: client.listRollouts(),
      columns: {
        ROLLOUT: ({ id }) => id,
        VERSION: ({ version }) => version,
        STATE: ({ state }) => state,
        WAVES: ({ open, waves }) => `${open}/${waves.length}`,
        STARTED: ({ created_at: at }) => timeText(at),
      },
      none: "No rollout yet.",
    }),
});

export const RolloutShow = ofRollout("show", rolloutShow, {
  description: "Show a rollout: its waves, what it waits for, which hosts fail",
  details: `
    On a terminal it is shown live until \`q\` is pressed, and takes keys that approve, pause, resume and abort it
    (\`?\` lists them), each after a question; elsewhere, and with \`--no-tui\`, it is shown once.
  `,
  examples: [["The newest one", "$0 rollout show Harbour"]],
  async run({ client, find }, { options, context, json, print, done }) {
    const rollout = await find(options.rollout);
    const terminal = terminalOf(context);
    if (terminal !== undefined && !json && options.tui && !options.screenReader) {
      const { rolloutDashboard } = await loadForProduction(() => import("./dashboard.ts"));
      const hubSide = {
        look: () => client.showRollout({ params: { rollout: rollout.id } }),
        act: (action: RolloutAction) => client.ACTION_ROUTES[action]({ params: { rollout: rollout.id }, body: {} }),
      };
      await rolloutDashboard(rollout, hubSide, { ...terminal, screenReader: false });
      return done({});
    }
    if (!json) {
      const { rolloutLines } = await import("./lines.ts");
      for (const line of rolloutLines(rollout, Date.now())) print.line(line);
    }
    return done({ rollout });
  },
});

export const RolloutChange = ofRollout("pause", rolloutChange, {
  also: [
    ["rollout", "resume"],
    ["rollout", "approve"],
  ],
  description: "Pause or resume a rollout, or approve its next wave",
  details: `
    \`pause\` lets no further host have the version; \`resume\` goes on, also after a halt: failures so far no longer
    count. \`approve\` lets the next wave open when its time has come, and a wave pass that waits for a host which
    does not come; it needs a key with the scope \`projects\`.
  `,
  examples: [["After a look at the hosts", "$0 rollout resume Harbour"]],
  async run({ client, find }, { options: { reason, rollout: id }, path, note, done }) {
    const action = path.at(-1) as RolloutAction;
    const rollout = await find(id);
    const change = reason === undefined ? {} : { reason };
    const changed = await client.ACTION_ROUTES[action]({ params: { rollout: rollout.id }, body: change });
    note(`${changed.id} of ${changed.version} ${ACTED[action]}.`);
    return done({ rollout: changed });
  },
});

export const RolloutAbort = ofRollout("abort", rolloutAbort, {
  description: "End a rollout; its version goes to no further host",
  details: `
    With \`--rollback\` hosts that took the version go back to the release that they keep. The version is held until
    it is rolled out again, or until \`version release\`. \`--dry-run\` tells how many hosts would go back.
  `,
  examples: [["And take it back", "$0 rollout abort Harbour --rollback --reason 'loses data'"]],
  async run({ client, find }, { options: { reason, rollback, dryRun, rollout: id }, note, done }) {
    const rollout = await find(id);
    const took = rollout.waves.reduce((sum, { done }) => sum + done, 0);
    const isStuck = rollback && rollout.base_version === null;
    const on = `it runs on ${counted(took, "host")}`;
    const fate = isStuck ? "stays, since no other version is open" : rollback ? "is taken back there" : "stays";
    if (dryRun) {
      note(`would abort ${rollout.id} of ${rollout.version}: ${on}, and ${fate}`);
      return done({ rollout, hosts: took, rollback, dry_run: true });
    }
    const change = { rollback, ...(reason !== undefined && { reason }) };
    const changed = await client.abortRollout({ params: { rollout: rollout.id }, body: change });
    note(`${changed.id} of ${changed.version} ${ACTED.abort}; ${on}, and ${fate}.`);
    return done({ rollout: changed, hosts: took, rollback, dry_run: false });
  },
});
