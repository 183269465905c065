/** Compares hubs' answers to hosts with the oracle's. */
import { Broken, requireSame } from "./checks.ts";
import type { SimulatedHost } from "./host.ts";
import type { HubAnswer } from "./hubs.ts";
import type { Scene } from "./operator.ts";
import { isStepDown } from "./oracle/order.ts";
import type { Answer } from "./oracle/terms.ts";

export class Answers {
  readonly #scene: Scene;
  /** Versions that were open to every host at some time. */
  readonly everOpen = new Set<string>();
  #checks = 0;
  #detailEtag: string | null = null;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** Compares the answers to all hosts with the oracle's. @param detailEtag of the stored detail record */
  async checkAll(hosts: readonly SimulatedHost[], detailEtag: string | null): Promise<void> {
    this.#detailEtag = detailEtag;
    for (const { version, state } of this.#scene.oracle.versions.values())
      if (state === "open") this.everOpen.add(version);
    for (const host of hosts) await this.check(host);
  }

  /**
   * Requires that hubs answer a host as the oracle does, with its present version and as if it were newly installed.
   */
  async check(host: SimulatedHost): Promise<void> {
    const isTimed = (this.#scene.oracle.live?.rules.window ?? null) !== null;
    const first = this.#checks++ % this.#scene.hubs.count;
    // Without a window the clock decides nothing: one hub after the other is asked.
    for (const hub of isTimed ? this.#scene.plan.clocks.keys() : [first]) {
      const now = this.#scene.hubs.clock(hub);
      const found = await this.#scene.hubs.answer(hub, host.request, false);
      this.require(host, found, this.#scene.oracle.answer(host.asking, now));
      if (!host.plan.saysRunning || host.running === null) continue;
      const anew = await this.#scene.hubs.answer(hub, { ...host.request, running: null }, false);
      this.require(host, anew, this.#scene.oracle.answer({ ...host.asking, running: null }, now));
    }
  }

  /** Requires that an answer is the oracle's. */
  require(host: SimulatedHost, found: HubAnswer, wanted: Answer): void {
    const facts = ({ version, withdrawn, next }: typeof wanted) => ({ version, withdrawn, next });
    requireSame(`the answer to ${host.id} with ${host.running}`, facts(found), facts(wanted));
    const isPlain = !this.#scene.oracle.isGated;
    if (isPlain && found.detail === undefined)
      requireSame("without rollouts the ETag is that of the version", found.etag, `"${found.version}"`);
    if (isPlain && found.detail !== undefined)
      requireSame("without rollouts the detail record is everyone's", found.etag, this.#detailEtag);
  }

  /** Returns the hosts that run what they are told, and report it. */
  async settled(hosts: readonly SimulatedHost[]): Promise<SimulatedHost[]> {
    const settled: SimulatedHost[] = [];
    for (const host of hosts) {
      if (host.isDead || host.deploying !== undefined || !host.plan.saysRunning) continue;
      const { version } = await this.#scene.hubs.answer(0, host.request, false);
      if (version === host.running && !(await this.moves(host))) settled.push(host);
    }
    return settled;
  }

  /** Tells whether a host would now take another version, or go back. */
  async moves(host: SimulatedHost): Promise<boolean> {
    const answer = await this.#scene.hubs.answer(0, host.request, false);
    const decision = host.decide(answer, await this.goneFor(host, answer));
    return decision.do === "deploy" || decision.do === "go-back";
  }

  /** Returns the yanked and deleted versions that the host hears of. */
  async goneFor({ running }: SimulatedHost, { version, detail }: HubAnswer): Promise<readonly string[]> {
    if (detail !== undefined) return yankedIn(detail);
    if (running === null || version === null || !isStepDown(running, version)) return [];
    return (await this.#scene.hubs.isGone(running)) ? [running] : [];
  }

  /**
   * Requires that a host may take a version: it was open at some time, or rolls in the host's wave. A host that does
   * not say what it runs may take again what its last report, perhaps a late one, says.
   */
  requireAllowed(host: SimulatedHost, version: string): void {
    if (this.everOpen.has(version)) return;
    const { live } = this.#scene.oracle;
    const { id, labels, holder, hostId } = host.asking;
    const isOwners = this.#scene.plan.kind === "project" || holder === this.#scene.oracle.owner;
    const known = id === undefined || !isOwners ? undefined : this.#scene.oracle.view(holder).get(hostId);
    if (!host.plan.saysRunning && known?.running === version) return;
    if (live?.version === version && this.#scene.oracle.wave(live, known, hostId, labels) < live.open) return;
    throw new Broken("no host outside the waves gets a version that was never open", `${host.id} takes ${version}`);
  }
}

const details = new Map<string, string[]>();

/** Reads the yanked versions of a detail record. */
function yankedIn(detail: string): string[] {
  let found = details.get(detail);
  if (found === undefined) {
    const { versions = [] } = JSON.parse(detail) as { versions?: { version: string; is_yanked?: boolean }[] };
    found = versions.filter((each) => each.is_yanked === true).map(({ version }) => version);
    if (details.size > 100) details.clear();
    details.set(detail, found);
  }
  return found;
}
