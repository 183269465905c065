import type { HostKey } from "../../artifact/sealed/host-key.ts";
import { openSettings, readOutcome, type SignedSettings, signOutcome } from "../../artifact/sealed/settings.ts";
import type { OwnSettingsClient } from "../../client/settings.ts";
import { EXIT } from "../../contract/codes.ts";
import { artifactError, asSealiftError } from "../../contract/errors.ts";
import type { CardUpload } from "../../contract/settings/records.ts";
import { MAX_IGNORED, type SettingsOutcome } from "../../contract/settings/texts.ts";
import {
  type AcceptedSettings,
  type FleetSettings,
  highestTaken,
  noteNumber,
  readFleetSettings,
  writeFleetSettings,
} from "../../releases/fleet-settings.ts";
import type { Layout } from "../../releases/layout.ts";
import { currentName } from "../../releases/release.ts";
import type { AgentEvent, Emit } from "../base/events.ts";
import type { Deployed } from "../deployment/run.ts";
import { type SettingsResult, unusedSince } from "./apply.ts";
import { saidAfter, type TurnEnd, untriedIn } from "./first-start.ts";

/** Settings of the fleet as a host takes them: its key, whose they may be, and where they come from. */
export interface SettingsSource {
  key: HostKey;
  /** Public keys of the operators who are pinned, hexadecimal; none for a host that only sends its card. */
  operators: readonly string[];
  card: CardUpload | undefined;
  /** Project whose settings count. */
  project: string;
  client(signal: AbortSignal): OwnSettingsClient;
}

/** One check of a target's settings. */
export interface SettingsCheck {
  layout: Layout;
  source: SettingsSource;
  of: Pick<Deployed, "kind" | "slug" | "target">;
  /** Counter that the hub has named; undefined where it names none. */
  named: number | undefined;
  emit: Emit;
  signal: AbortSignal;
  /** Carries out settings when it is this target's turn. */
  run: (settings: AcceptedSettings) => Promise<SettingsResult>;
}

/** Sentence of a host with an operator, at a hub that has no place for its card. */
export const OLDER_HUB =
  "The hub is older than settings of a fleet: this host goes on with those that it has, and follows versions.";

/** Time after which a card is sent again that an older hub had no place for, in milliseconds. */
const CARD_AGAIN_MS = 3_600_000;

/** Settings of the fleet of one watched target: a newer number is taken by the check that hears of it. */
export class FollowedSettings {
  #isCardSent = false;
  /** When the card may be sent again, by the clock of `performance`. */
  #cardAgain = 0;
  /** Key and operators by whom the hub's settings were judged last. */
  #judgedBy: string | undefined;
  #refused: string | undefined;
  #trouble: string | undefined;

  /**
   * Follows settings as {@link follow} does. What goes wrong stands in the way of no version: it is told once, and the
   * next check tries again.
   *
   * @throws the abort of the signal
   */
  followOrTell(check: SettingsCheck): Promise<void> {
    return this.#orTell(check, async () => {
      await this.follow(check);
      this.#trouble = undefined;
    });
  }

  /**
   * Sends, at the end of a turn, what became of settings with which the first version was to start
   * ({@link saidAfter}). What goes wrong is told as by {@link followOrTell}.
   *
   * @throws the abort of the signal
   */
  settle(check: SettingsCheck, end: TurnEnd): Promise<void> {
    return this.#orTell(check, async () => {
      const { layout, of, source, signal, emit } = check;
      if (source.operators.length === 0) return;
      const before = await readFleetSettings(layout, of.target);
      const own = before.outcome === null ? undefined : ownOutcome(before.outcome.text, source);
      if (own === undefined) return;
      const said = saidAfter(own, before, await unusedNow(layout, of.target, before.held, own), end);
      if (said === undefined) return;
      if (said !== own) {
        const text = signOutcome({ ...said, at: new Date().toISOString() }, source.key);
        await writeFleetSettings(layout, of.target, { ...before, outcome: { text, sent: false } });
        emit(doneEvent(said, [], end.error?.message ?? null));
      }
      await sendOutcome(check, source.client(signal));
    });
  }

  async #orTell(check: SettingsCheck, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (thrown) {
      check.signal.throwIfAborted();
      const { code, message } = asSealiftError(thrown);
      if (this.#trouble !== message) check.emit({ event: "settings.refused", code, message });
      this.#trouble = message;
    }
  }

  /** Sends what the hub lacks, takes newer settings, and carries them out. @throws errors of requests and the host */
  async follow(check: SettingsCheck): Promise<void> {
    const { source, signal } = check;
    await notePinned(check);
    const client = source.client(signal);
    const refusals: unknown[] = [];
    // What the hub refuses to hear stands in the way of nothing that it has to say.
    const send = (sending: Promise<void>): Promise<void> =>
      sending.catch((error: unknown) => void refusals.push(error));
    await send(this.#sendCard(check, client));
    if (source.operators.length > 0) {
      // Where nothing runs, the end of the turn says more.
      const runs = (await currentName(check.layout, check.of.target)) !== undefined;
      if (runs) await send(sendOutcome(check, client));
      signal.throwIfAborted();
      await this.#take(check, client);
      if ((await carryOut(check)) && runs) await send(sendOutcome(check, client));
    }
    if (refusals.length > 0) throw refusals[0];
  }

  async #sendCard({ source, layout, of, emit }: SettingsCheck, client: OwnSettingsClient): Promise<void> {
    if (source.card === undefined || this.#isCardSent || performance.now() < this.#cardAgain) return;
    this.#isCardSent = await client.sendCard(source.card);
    if (source.operators.length === 0) return;
    const before = await readFleetSettings(layout, of.target);
    const isOlder = !this.#isCardSent;
    if (before.older_hub !== isOlder) await writeFleetSettings(layout, of.target, { ...before, older_hub: isOlder });
    if (isOlder && this.#cardAgain === 0) emit({ event: "settings.refused", code: "hub_refused", message: OLDER_HUB });
    if (isOlder) this.#cardAgain = performance.now() + CARD_AGAIN_MS;
  }

  /** Asks for settings where the hub names another counter, or somebody else reads them now. */
  async #take(check: SettingsCheck, client: OwnSettingsClient): Promise<void> {
    const { source, layout, of } = check;
    // What was refused before may count now that another operator is pinned, or the host has another key.
    const reader = [source.key.fingerprint, ...source.operators].join(" ");
    const isNew = check.named !== (await readFleetSettings(layout, of.target)).seen || reader !== this.#judgedBy;
    if (check.named !== undefined && isNew) {
      await this.#fetch(check, client, check.named);
      this.#judgedBy = reader;
    }
  }

  async #fetch(check: SettingsCheck, client: OwnSettingsClient, seen: number): Promise<void> {
    const { layout, of, source, emit } = check;
    const found = await client.read();
    const before = await readFleetSettings(layout, of.target);
    // A hub that has none takes no value away.
    if (found === undefined) return writeFleetSettings(layout, of.target, { ...before, seen });
    try {
      const settings = openSettings(Buffer.from(found.sealed, "base64"), source);
      const next = await newerOf(layout, of.target, before, settings);
      if (next !== undefined) {
        // Before its number: of a kill in between nothing is left but a number that was taken twice.
        const came_at = new Date().toISOString();
        await writeFleetSettings(layout, of.target, { ...before, next, failed: null, seen, came_at, behind: false });
        await noteNumber(layout, of.target, next);
        this.#refused = undefined;
        return;
      }
      await writeFleetSettings(layout, of.target, { ...before, seen, behind: false });
    } catch (error) {
      const { code, message, exitCode } = asSealiftError(error);
      if (exitCode !== EXIT.verification) throw error;
      await writeFleetSettings(layout, of.target, { ...before, seen, behind: code === "settings_old" });
      if (this.#refused !== message) emit({ event: "settings.refused", code, message });
      this.#refused = message;
    }
  }
}

/**
 * Returns settings that are newer than all that this host has taken of their operator; undefined for the very ones that
 * it has.
 *
 * @throws ArtifactError `settings_old`
 */
async function newerOf(
  layout: Layout,
  target: Deployed["target"],
  { held, next }: FleetSettings,
  { signed, digest }: SignedSettings,
): Promise<AcceptedSettings | undefined> {
  const { operator, to, number, apps } = signed;
  const known = [held, next].filter((one) => one?.operator === operator && one.to === to);
  // The digest is over the number, too.
  if (known.some((one) => one?.digest === digest)) return undefined;
  const taken = await highestTaken(layout, target, { operator, to });
  const highest = Math.max(taken?.number ?? 0, ...known.map((one) => one?.number ?? 0));
  // A target that was removed, and comes again, has lost those that it had.
  const isLost = number === highest && taken?.digest === digest;
  if (number > highest || isLost) return { operator, to, number, digest, apps };
  const what = number === highest ? `other settings of the number ${number}` : `settings of the number ${number}`;
  throw artifactError("settings_old", `The hub has ${what}, and this host has taken ${highest} already.`, {
    hint: "Apply them again (`sealift settings apply`): the next ones get a higher number. The host goes on with its own.",
  });
}

/** Carries out settings that wait. @returns whether there is an outcome to send */
async function carryOut({ layout, of, source, emit, run }: SettingsCheck): Promise<boolean> {
  const { next, failed } = await readFleetSettings(layout, of.target);
  if (next === null) return false;
  const current = await currentName(layout, of.target);
  // What failed with one release may work with another.
  if (failed !== null && failed.number === next.number && failed.release === (current ?? null)) return false;
  emit({ event: "settings.taken", number: next.number, operator: next.operator });
  const { state, code, ignored, release, units, error } = await run(next);
  const { number, digest, to } = next;
  const at = new Date().toISOString();
  const said = { project: source.project, to, number, digest, state, code, ignored: ignored.slice(0, MAX_IGNORED), at };
  const outcome = { text: signOutcome(said, source.key), sent: false };
  const before = await readFleetSettings(layout, of.target);
  // Newer ones may have come while these were carried out.
  const rest = before.next?.number === number ? null : before.next;
  const isApplied = state === "applied";
  const failure = { number, code: code ?? "internal", release };
  await writeFleetSettings(layout, of.target, {
    ...before,
    ...(isApplied ? { held: next, next: rest, failed: null } : { failed: failure }),
    outcome,
  });
  emit(doneEvent(said, units, error?.message ?? null));
  return true;
}

const doneEvent = (
  { number, state, code, ignored }: Pick<SettingsOutcome, "number" | "state" | "code" | "ignored">,
  units: readonly string[],
  message: string | null,
): AgentEvent => ({
  ...{ event: "settings.done", number, state, units, code, message },
  ignored: ignored.map(({ name }) => name),
});

/** Returns what the release that is installed does not use of the settings that are held; undefined for no release. */
async function unusedNow(
  layout: Layout,
  target: Deployed["target"],
  held: FleetSettings["held"],
  own: SettingsOutcome,
): Promise<SettingsOutcome["ignored"] | undefined> {
  const name = await currentName(layout, target);
  if (name === undefined) return undefined;
  // Little is read at each turn of a host that uses all of them.
  if (held === null || (own.ignored.length === 0 && own.state === "applied")) return own.ignored;
  return unusedSince(layout, target, held, untriedIn(own));
}

/** Notes for `sealift doctor` whose settings this host takes. */
async function notePinned({ layout, of, source: { operators } }: SettingsCheck): Promise<void> {
  const before = await readFleetSettings(layout, of.target);
  if (before.pinned.join(" ") === operators.join(" ")) return;
  await writeFleetSettings(layout, of.target, { ...before, pinned: [...operators] });
}

/** Sends the outcome that the hub does not have yet. That of a former key of the host says nothing to anybody. */
async function sendOutcome({ layout, of, source }: SettingsCheck, client: OwnSettingsClient): Promise<void> {
  const { outcome } = await readFleetSettings(layout, of.target);
  if (outcome === null || outcome.sent || ownOutcome(outcome.text, source) === undefined) return;
  await client.sendOutcome(outcome.text);
  const before = await readFleetSettings(layout, of.target);
  if (before.outcome?.text === outcome.text)
    await writeFleetSettings(layout, of.target, { ...before, outcome: { ...outcome, sent: true } });
}

/** Returns an outcome that a host with this key, of this project, has signed; undefined for another's. */
function ownOutcome(text: string, { key, project }: SettingsSource): SettingsOutcome | undefined {
  try {
    return readOutcome(text, { ed25519: key.ed25519, fingerprint: key.fingerprint, project });
  } catch {
    return undefined;
  }
}
