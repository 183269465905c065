/** Clauses of the rule, each with the product's code without it. */

export interface Mutation {
  clause: string;
  /** File, relative to `lib/hub`. */
  file: string;
  /** Texts that occur once in it, or in another file, with their replacements. */
  edits: readonly (readonly [find: string, replace: string, file?: string])[];
}

const mutation = (clause: string, file: string, ...edits: Mutation["edits"]): Mutation => ({ clause, file, edits });

const CHANGE = "records/latest/change-target.ts";
const STATES = "records/latest/states.ts";
const MANAGED = "records/managed-versions.ts";
const ANSWER = "gate/answer.ts";
const ASKED = "gate/host-answer.ts";
const COMMANDS = "features/rollouts/commands.ts";
const DECIDE = "features/rollouts/decide.ts";
const PART = "features/rollouts/target-part.ts";
const APPROVE = "features/staging/approve.ts";
const TERMS = "../contract/rollout-terms.ts";
const TALLY = "features/rollouts/tally.ts";
const LABELS = "features/rollouts/label-waves.ts";
const WAVES = "gate/waves.ts";

export const MUTATIONS: readonly Mutation[] = [
  mutation("a version fails only where it is to blame", "features/rollouts/fleet.ts", [
    'record.status !== "success" && waits === undefined',
    'record.status !== "success"',
  ]),
  mutation("a rollout halts before its first wave, too", DECIDE, [
    "(status.open > 0 || facts.isPublished)",
    "status.open > 0",
  ]),
  mutation("the latest is unyanked", CHANGE, ["is_yanked === 0 && state === null", "state === null"]),
  mutation("open excludes held and rolling", CHANGE, ["is_yanked === 0 && state === null", "is_yanked === 0"]),
  mutation("a gate has what was yanked only if it was taken back", CHANGE, [
    'eb("is_taken_back", "=", 1)]',
    "eb.lit(true)]",
  ]),
  mutation("taken back stays taken back when it is yanked", CHANGE, ['eb("is_taken_back", "=", 1)]', "eb.lit(false)]"]),
  mutation("taken back stays taken back when it is deleted", CHANGE, [
    "...deleted.map(",
    "...deleted.slice(0, 0).map(",
  ]),
  mutation("without a kept release a host goes down to what it ran", "../agent/watch/decide.ts", [
    "isTakenBack && keepsEarlier && ",
    "isTakenBack && ",
  ]),
  mutation("what was taken back is not kept", ANSWER, ["=== host.running && !isTakenBack", "=== host.running"]),
  mutation("a host keeps what it runs", ANSWER, ["=> isKept(each) || (", "=> ("]),
  mutation("withdrawn is left out below the answer", ANSWER, ["if (isAbove(running) && ", "if (running !== -1 && "]),
  mutation("a host waits for its wave", ANSWER, ["wave < rolling.open", "rolling.open > 0"]),
  mutation("hosts switch in the window", ANSWER, ["&& isOpenAt(rolling.window, now)", ""]),
  mutation("nobody new while paused", ANSWER, ["rolling.isRunning && wave", "wave"]),
  mutation("no next while paused", ANSWER, ["|| !rolling.isRunning || ", "|| "]),
  mutation("next is for the next wave at most", ANSWER, ["if (wave <= rolling.open)", "if (wave >= 0)"]),
  mutation("a new host is in the last wave", ANSWER, ["isKnown(rolling, host) ?", "true ?"]),
  mutation("hosts are counted that were known before", TALLY, ["!isKnown(this.#rollout, host) || ", ""]),
  mutation("hosts are known whose keys speak for them", WAVES, ["  isBound || (", "  ("]),
  mutation("--bound-hosts knows no others", WAVES, ["!onlyBound && ", ""]),
  mutation("--bound-hosts takes no other's label", LABELS, ["if (onlyBound && ", "if (false && "]),
  mutation("hosts are counted that say their name", TALLY, [" || !(host.isNamed || host.isByKit)", ""]),
  mutation("kept versions leave the count", TALLY, ["kept.find((greater) => greater === host.running)", "undefined"]),
  mutation("failures that a person saw do not count", TALLY, [" && host.reportedAt > failuresSince", ""]),
  mutation("an unhealthy host is not done", TALLY, ["=== version && !host.isUnhealthy", "=== version"]),
  mutation("an unhealthy host fails", TALLY, ["=== version ? host.isUnhealthy :", "=== version ? false :"]),
  mutation("a report says who is unhealthy", "records/received-reports.ts", [
    "  health: report.health,\n",
    "  health: undefined,\n",
  ]),
  mutation("a host that was long silent does not count", TALLY, ["now - heardAt > SILENT_MS", "false"]),
  mutation("a labelled wave waits for a host", TERMS, ["if (current?.isLabelled === true &&", "if (false &&"]),
  mutation("completion waits for a host", TERMS, ["return open === waves.length && ", "return false && "]),
  mutation("approval lets an empty wave pass", DECIDE, ["return approved > open || !needsHost", "return !needsHost"]),
  mutation("a wave waits for approval", DECIDE, ["rules.approve && status.approved", "false && status.approved"]),
  mutation("enough hosts run it before the soak", DECIDE, [', "done") < Math.min(', ', "done") < 0 * Math.min(']),
  mutation("a wave waits for its soak", DECIDE, ["if (now < soakedAt)", "if (false)"]),
  mutation("a fall below min_done begins the soak anew", DECIDE, [
    'waiting("hosts", null, { soakingSince: null })',
    'waiting("hosts", null)',
  ]),
  mutation("each wave has its own soak", DECIDE, ["openedAt: now, soakingSince: null", "openedAt: now"]),
  mutation(
    "a pause begins the soak anew",
    COMMANDS,
    ["reason, soakingSince: null", "reason"],
    ["reason: null, soakingSince: null", "reason: null"],
    ["return { ...still, soakingSince: null }", "return still", DECIDE],
  ),
  mutation("waves open in the window", DECIDE, ["    if (!isOpenAt(rules.window, now))", "    if (false)"]),
  mutation("failures halt", DECIDE, ["halt !== undefined && (status.open > 0 || facts.isPublished)", "false"]),
  mutation("a paused rollout halts, too", DECIDE, ["halt !== undefined && ", 'status.state === "running" && halt && ']),
  mutation("the limit is one of hosts in open waves", DECIDE, [
    "sumOf(tally.waves.slice(0, open), ",
    "sumOf(tally.waves, ",
  ]),
  mutation("published beside a rollout: held", PART, ["(await this.#findLive()) ?? (await newest", "(await newest"]),
  mutation("published after an abort: held", PART, ['else if (state === "completed")', "else if (true)"]),
  mutation("published again: what it was", "records/insert-version.ts", [
    "else if (existing === undefined) await tell",
    "else await tell",
  ]),
  mutation("published again: where it ranked", "records/insert-version.ts", [
    "...(existing && carryOver(existing)), ",
    "",
  ]),
  mutation("a replaced version is held", COMMANDS, ["if (live.version !== version) {", "if (false) {"]),
  mutation("an aborted version is held", COMMANDS, ["await hold(transaction, target, row.version, held)", ""]),
  mutation("a halted version is held", PART, [
    'await hold(transaction, target, live.version, { cause: "halted"',
    'Object.assign({ cause: "halted"',
  ]),
  mutation("a halt takes back under --on-halt rollback", PART, ['=== "rollback"', "=== 'never'"]),
  mutation("an abort takes back with --rollback", COMMANDS, ["isTakenBack: rollback", "isTakenBack: false"]),
  mutation("a replacement keeps the mark", STATES, ["isTakenBack || before.is_taken_back !== 0", "isTakenBack"]),
  mutation("a start clears the mark", STATES, [
    "told_at: null, is_taken_back: 0 }",
    "told_at: null, is_taken_back: 1 }",
  ]),
  mutation("a completed version is open", "features/rollouts/rounds.ts", [
    "await open(transaction, target, row.version)",
    "",
  ]),
  mutation("an open one above ends the rollout", PART, ["if (latest !== null && (", "if (false && ("]),
  mutation("a yank of a staged version halts nothing", MANAGED, [
    'if (yanked && before?.state !== "staged") await',
    "if (yanked) await",
  ]),
  mutation("a halt and an abort hold no staged version", STATES, [' || before.state === "staged"', ""]),
  mutation("start and resume refuse a staged version", COMMANDS, ['if (fate === "staged")', "if (false)"]),
  mutation("release refuses a staged version", MANAGED, ['if (marks.state === "staged")', "if (false)"]),
  mutation("a staged version is not above the latest", CHANGE, [
    '["rolling", "held"]',
    '["rolling", "held", "staged"]',
  ]),
  mutation("a staged version ranks as an unpublished one", CHANGE, ['eb("state", "!=", "staged")', "eb.lit(true)"]),
  mutation("an approval is a publication", APPROVE, ['await tell({ what: "publish", version })', ""]),
  mutation("an approved version ranks by its approval", APPROVE, [", created_at: at", ""]),
  mutation("whoever staged it does not approve", APPROVE, ["requireAnother(staged, approver);", ""]),
  mutation("what was yanked is not approved", APPROVE, ["if (staged.is_yanked !== 0)", "if (false)"]),
  mutation("a yank halts", MANAGED, ['if (yanked && before?.state !== "staged") await', "if (false) await"]),
  mutation("a deletion ends the rollout", MANAGED, [
    "if (blobs !== undefined) {\n        await",
    "if (blobs !== undefined) {\n        if (false) await",
  ]),
  mutation("a deletion renews the latest", MANAGED, [
    "        touch(deletion.version)",
    "        if (false) touch(deletion.version)",
  ]),
  mutation("a transfer ends the rollout", "records/transfer.ts", ["await tell({", "if (false) await tell({"]),
  mutation("resume requires the highest", COMMANDS, ["await requireAbove(transaction, target, row.version, now)", ""]),
  mutation("start requires the highest", COMMANDS, ["await requireAbove(transaction, target, version, now)", ""]),
  mutation("start refuses what was yanked", COMMANDS, ['if (fate === "yanked")', "if (false)"]),
  mutation("start refuses what was deleted", COMMANDS, ['if (fate === "deleted")', "if (false)"]),
  mutation("start refuses a label without hosts", COMMANDS, ["if (request.allow_empty_wave !== true)", "if (false)"]),
  mutation("release is refused while it is rolled out", MANAGED, [
    'await tell({ what: "release"',
    'if (false) await tell({ what: "release"',
  ]),
  mutation("hosts of other owners are in the last wave", ASKED, ["id: isOwners ? id : undefined", "id"]),
  mutation("an operator's labels beat a host's own", ASKED, [
    "labels: given ?? claimedLabels",
    "labels: claimedLabels",
  ]),
  mutation("a host's word beats its last report", ASKED, [
    "running === undefined ? record && runningVersion(record) : running",
    "record && runningVersion(record)",
  ]),
  mutation("a hub decides about what others changed", "features/rollouts/rounds.ts", [
    "JSON.stringify([Number(revision), gate, Number(changes ?? 0), Number(forgotten ?? 0)])",
    '"the same"',
  ]),
];
