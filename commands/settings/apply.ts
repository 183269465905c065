import { Command, Option } from "clipanion";
import { type SealiftError, usageError } from "../../lib/contract/errors.ts";
import { labelsText } from "../../lib/contract/labels.ts";
import type { Arrival, Judged } from "../../lib/fleet/admission.ts";
import type { ApplyEvent, ApplyOptions } from "../../lib/fleet/carry-out.ts";
import type { FleetPlan } from "../../lib/fleet/plan.ts";
import type { Roll } from "../../lib/fleet/roll.ts";
import { settingsApply } from "../../lib/options/settings.ts";
import { counted } from "../../lib/support/counted.ts";
import { namesText } from "../../lib/support/names-text.ts";
import { printable } from "../../lib/support/printable.ts";
import { interruptible, withOptions } from "../shell/base.ts";

export class SettingsApply extends withOptions(settingsApply) {
  static override paths = [["settings", "apply"]];
  static override usage = Command.Usage({
    category: "Settings",
    description: "Give each host its settings from one file",
    details: `
      Reads \`fleet.yaml\`, signs the settings of each host, and seals them to it: the hub can neither read nor change
      them. Names what is added, changed and removed for which hosts, never values. Then hosts get them in waves: one,
      ten per cent, the rest. It stops at the first host that could not use them. \`fleet.lock\` beside the file keeps
      the hosts' keys and numbers; keep both in git.
    `,
    examples: [
      ["See what would change", "$0 settings apply fleet.yaml --operator-key operator.key --dry-run"],
      ["Apply it", "$0 settings apply fleet.yaml --operator-key operator.key"],
      ["One host alone", "$0 settings apply fleet.yaml --operator-key operator.key --only pier-7"],
    ],
  });

  file = Option.String({ name: "FILE", required: true });

  override async run(): Promise<number> {
    const { operatorKey, dryRun, replace, only } = this.options;
    const [
      { operatorSeedIn },
      { judgedAt, openFleet },
      { planOf, requireNothingLost },
      { enrolledAs },
      { publicKeyOf },
    ] = await Promise.all([
      import("./operator-key.ts"),
      import("./fleet.ts"),
      import("../../lib/fleet/plan.ts"),
      import("../../lib/fleet/accepting.ts"),
      import("../../lib/artifact/signatures/ed25519.ts"),
    ]);
    const operatorSeed = await operatorSeedIn(operatorKey);
    const operator = Buffer.from(publicKeyOf(operatorSeed)).toString("hex");
    const opened = await openFleet(this.options, this.file);
    const { fleet, roll, client } = opened;
    this.#checkOperator(roll, operator);
    const judged = await this.#enrolled(await judgedAt(opened, operator, replace), roll);
    for (const name of only) enrolledAs(roll, name);
    const plan = await planOf({
      ...{ fleet, roll, judged, operatorSeed, runsCommands: !dryRun, replaces: replace },
      only: only.length === 0 ? undefined : new Set(only),
    });
    this.#showPlan(plan, judged);
    if (!dryRun) {
      requireNothingLost(fleet.file, plan);
      roll.operator = operator;
      await roll.save();
      await this.#carryOut(plan, { client, roll, operatorSeed });
    }
    const refused = judged.flatMap((one) => (one.state === "refused" ? [one.error] : []));
    if (refused.length > 0) throw refusal(refused);
    const hosts = plan.planned.map(({ host }) => host.name);
    if (hosts.length === 0) this.note("No host needs new settings.");
    return this.done({ hosts, unchanged: plan.unchanged, absent: plan.absent, dry_run: dryRun });
  }

  /** @throws UsageError `usage` for a roll of another operator's key */
  #checkOperator({ operator: former, file }: Roll, operator: string): void {
    if (former === null || former === operator || this.options.newOperator) return;
    throw usageError("usage", `${file} was written with the operator key ${former}, and this one is ${operator}.`, {
      hint: "Hosts obey the operators that they pin. --new-operator takes the file over, and uploads all settings anew.",
    });
  }

  /** Takes new hosts into the roll that are expected or confirmed. */
  async #enrolled(judged: readonly Judged[], roll: Roll): Promise<Judged[]> {
    const arrivals = judged.flatMap((one) => (one.state === "arrived" ? [one.arrival] : []));
    const unexpected = arrivals.filter(({ isExpected }) => !isExpected);
    const areConfirmed = unexpected.length === 0 || (await this.#confirms(unexpected));
    return judged.map((one) => {
      if (one.state !== "arrived" || !(one.arrival.isExpected || areConfirmed)) return one;
      const { host } = one.arrival;
      roll.put(host);
      this.#say(
        { event: "enrolled", host_id: host.name, fingerprint: host.fingerprint },
        `new: ${arrivalText(one.arrival)}`,
      );
      return { row: one.row, state: "known", host };
    });
  }

  /** Asks whether new hosts are those that were invited. */
  async #confirms(arrivals: readonly Arrival[]): Promise<boolean> {
    const { acceptNew, dryRun } = this.options;
    if (acceptNew || dryRun) return true;
    const { canAnswer, confirm } = await import("../shell/output/confirm.ts");
    if (canAnswer(this.context) && !this.json) {
      this.note("New hosts, whose invites others may have, too:");
      for (const arrival of arrivals) this.note(`  ${arrivalText(arrival)}`);
      return confirm(this.context, `Take ${counted(arrivals.length, "host")} into fleet.lock?`);
    }
    const message = `${counted(arrivals.length, "new host")} got nothing: confirm at a terminal, or with --accept-new.`;
    this.#say({ event: "warning", message }, `warning: ${message}`);
    return false;
  }

  #showPlan({ changes, absent, idle }: FleetPlan, judged: readonly Judged[]): void {
    for (const one of judged)
      if (one.state === "refused")
        this.#say(
          { event: "refused", host_id: one.row.host_id, ...one.error.toJSON() },
          `warning: ${one.error.message}`,
        );
    for (const { text } of idle) {
      const message = text.endsWith("?") ? text : `${text}.`;
      this.#say({ event: "warning", message }, `warning: ${message}`);
    }
    if (absent.length > 0) {
      const message = `The hub does not list ${namesText(absent)}.`;
      this.#say({ event: "warning", message }, `warning: ${message}`);
    }
    for (const { hosts, added, changed, removed } of changes) {
      const names = hosts.map(({ name }) => name);
      if (this.json) {
        this.print.event({ event: "change", hosts: names, added, changed, removed });
        continue;
      }
      this.print.line(`${counted(names.length, "host")}: ${namesText(names)}`);
      for (const [sign, settings] of [
        ["+", added],
        ["~", changed],
        ["-", removed],
      ] as const)
        for (const name of settings) this.print.line(`  ${sign} ${name}`);
    }
  }

  async #carryOut(plan: FleetPlan, parts: Pick<ApplyOptions, "client" | "roll" | "operatorSeed">): Promise<void> {
    const { allAtOnce, waitMs, noWait } = this.options;
    const { carryOut } = await import("../../lib/fleet/carry-out.ts");
    using interrupt = interruptible();
    await carryOut(plan, {
      ...{ ...parts, allAtOnce, waitMs: noWait ? undefined : waitMs, signal: interrupt.signal },
      tell: (event) => this.#say(event, eventText(event)),
    });
  }

  /** Reports an event to programs, or one line to people: hosts and hub have written parts of it. */
  #say(event: Record<string, unknown> & { event: string }, text: string): void {
    if (this.json) this.print.event(event);
    else this.note(printable(text));
  }
}

const arrivalText = ({ host: { name, fingerprint, labels } }: Arrival): string =>
  [name, labelsText(labels), fingerprint.slice(0, 32)].filter((word) => word !== "").join("  ");

function eventText(event: ApplyEvent): string {
  if (event.event === "uploaded") {
    const wave = event.waves === 1 ? "" : ` (wave ${event.wave} of ${event.waves})`;
    return `Uploaded for ${counted(event.hosts.length, "host")}${wave}.`;
  }
  if (event.event === "awaited")
    return `Waiting for ${namesText(event.hosts)}: uploaded by an apply before, and not heard yet.`;
  if (event.event === "out_of_service")
    return `Not waiting for ${namesText(event.hosts)}: out of service, and last to get settings.`;
  if (event.event === "untried") {
    const next = event.is_last ? "the others follow all the same." : "another one is the first.";
    return `${event.host_id} has not tried its settings (${event.code}): ${next}`;
  }
  const { host_id: host, number, state, code, ignored } = event;
  const unused = ignored.map((one) => `${one.name} (${one.code})`).join(", ");
  if (state !== "applied") return `✗ ${host}: number ${number} failed${code === null ? "" : `: ${code}`}`;
  return `✓ ${host}: applied number ${number}${unused === "" ? "" : `, without ${unused}`}`;
}

/** Returns the first refusal, with the number of the others. */
function refusal([first, ...others]: readonly SealiftError[]): SealiftError {
  if (others.length > 0) first!.message += ` So were ${counted(others.length, "other host")}.`;
  return first!;
}
