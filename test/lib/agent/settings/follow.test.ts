// Holds: what a host takes of its operator's settings, and when it asks again (lib/agent/settings/follow.ts)
import { cp, mkdir, readFile, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { FollowedSettings, type SettingsCheck } from "../../../../lib/agent/settings/follow.ts";
import { settingsFindings } from "../../../../lib/agent/settings-standing.ts";
import { hostKeyOf, newHostSeed } from "../../../../lib/artifact/sealed/host-key.ts";
import { readOutcome, sealSettings } from "../../../../lib/artifact/sealed/settings.ts";
import { publicKeyOf } from "../../../../lib/artifact/signatures/ed25519.ts";
import type { OwnSettingsClient } from "../../../../lib/client/settings.ts";
import { deploymentError } from "../../../../lib/contract/errors.ts";
import { targetName } from "../../../../lib/contract/target.ts";
import {
  type AcceptedSettings,
  fleetSettingsName,
  NO_SETTINGS,
  readFleetSettings,
  writeFleetSettings,
} from "../../../../lib/releases/fleet-settings.ts";
import { layoutOf } from "../../../support/host/project-root.ts";

const PROJECT = `prj_${"0".repeat(32)}`;
const OF = { kind: "project", slug: PROJECT, target: targetName({ kind: "project", slug: PROJECT }) } as const;

/** A host, the document that its hub has, and what became of it. */
function hostOf(t: Test, name = "root") {
  const layout = layoutOf(join(t.testdir({ [name]: {} }), name));
  const seeds = { first: newHostSeed(), second: newHostSeed() };
  const host = {
    ...{ layout, seeds, key: hostKeyOf(newHostSeed()), operators: [hex(seeds.first)], named: 1 },
    ...{ sealed: undefined as { number: number; sealed: string } | undefined, reads: 0 },
    ...{ isAway: false, isOlder: false, takesCards: false, card: undefined as { card: string } | undefined, cards: 0 },
    ...{ carried: [] as number[], said: [] as string[], unused: [] as string[], refused: [] as string[] },
    gives(number: number, seed: Uint8Array, level = "info"): void {
      const document = { project: PROJECT, to: host.key.fingerprint, number, made_at: "2026-01-01T00:00:00Z" };
      const { sealed } = sealSettings({ ...document, apps: { web: { LEVEL: level } } }, host.key.x25519, seed);
      host.sealed = { number, sealed: sealed.toString("base64") };
      host.named++;
    },
    /** One turn of a watch that finds no version. */
    async check(follows: FollowedSettings): Promise<void> {
      const { key, operators, named } = host;
      const client = {
        read: async () => (host.reads++, host.sealed && { ...host.sealed, to: key.fingerprint }),
        sendCard: async () => {
          host.cards++;
          if (host.isOlder || host.takesCards) return host.takesCards;
          throw deploymentError("hub_refused", "The hub answered 422: the card has another form.");
        },
        sendOutcome: async (text: string) => {
          if (host.isAway) throw deploymentError("hub_unavailable", "The hub is away.");
          try {
            const { state, ignored } = readOutcome(text, { ...key, project: PROJECT });
            host.said.push(state);
            host.unused.push(...ignored.map(({ name, code }) => `${name}: ${code}`));
          } catch (cause) {
            throw deploymentError("hub_refused", "The hub answered 422 outcome_invalid.", { cause });
          }
        },
      } as unknown as OwnSettingsClient;
      const check: SettingsCheck = {
        ...{ layout, of: OF, named, signal: new AbortController().signal },
        source: { key, operators, card: host.card, project: PROJECT, client: () => client },
        emit: (event) => event.event === "settings.refused" && host.refused.push(event.code),
        run: async ({ number }: AcceptedSettings) => {
          host.carried.push(number);
          return { state: "applied", code: null, ignored: [], release: null, units: [] };
        },
      };
      await follows.followOrTell(check);
      await follows.settle(check, { outcome: "unpublished" });
    },
  };
  return host;
}

const hex = (seed: Uint8Array): string => Buffer.from(publicKeyOf(seed)).toString("hex");

t.test("settings that came before their operator was pinned are taken once he is", async (t) => {
  for (const restarts of [true, false]) {
    const host = hostOf(t, `restarts-${restarts}`);
    let follows = new FollowedSettings();
    host.gives(1, host.seeds.second);
    await host.check(follows);
    await host.check(follows);
    t.strictSame([host.refused, host.carried, host.reads], [["settings_operator"], [], 1], "asked once, told once");
    host.operators = [hex(host.seeds.second)];
    if (restarts) follows = new FollowedSettings();
    await host.check(follows);
    t.strictSame([host.carried, host.said], [[1], ["applied"]]);
  }
});

t.test("a host whose target was removed takes the very settings again that it has had", async (t) => {
  const host = hostOf(t);
  host.gives(1, host.seeds.first);
  await host.check(new FollowedSettings());
  const forget = () => rm(join(host.layout.sealift, "state", fleetSettingsName(OF.target)));
  await forget();
  await host.check(new FollowedSettings());
  t.strictSame([host.carried, host.refused], [[1, 1], []]);
  await forget();
  host.gives(1, host.seeds.first, "debug");
  await host.check(new FollowedSettings());
  t.strictSame([host.carried, host.refused], [[1, 1], ["settings_old"]], "others of the same number do not count");
});

t.test("a host that was restored from an image takes the newest, and whatever a hub shows it in between", async (t) => {
  const host = hostOf(t);
  const state = join(host.layout.sealift, "state");
  const image = join(t.testdirName, "image");
  const takes = async (number: number): Promise<void> => {
    host.gives(number, host.seeds.first);
    await host.check(new FollowedSettings());
  };
  await takes(1);
  await cp(state, image, { recursive: true });
  const restore = async (): Promise<void> => {
    await rm(state, { recursive: true });
    await cp(image, state, { recursive: true });
  };
  for (const number of [2, 3]) await takes(number);
  await restore();
  await takes(3);
  t.strictSame([host.carried, host.refused], [[1, 2, 3, 3], []]);
  await restore();
  for (const number of [2, 3, 2]) await takes(number);
  t.strictSame([host.carried, host.refused], [[1, 2, 3, 3, 2, 3], ["settings_old"]], "the page says so");
});

t.test(
  "the very settings that a host has are not carried out again, and others of their number are refused",
  async (t) => {
    const host = hostOf(t);
    const follows = new FollowedSettings();
    for (const level of ["info", "info", "debug"]) {
      host.gives(1, host.seeds.first, level);
      await host.check(follows);
    }
    t.strictSame([host.carried, host.refused, host.reads], [[1], ["settings_old"], 3]);
  },
);

t.test("settings are said to be untried where no version is installed", async (t) => {
  const host = hostOf(t);
  host.gives(1, host.seeds.first);
  await host.check(new FollowedSettings());
  t.strictSame([host.said, host.unused], [["applied"], ["web: no_version"]]);
});

t.test("settings that wait are carried out, unless they have failed with what is installed", async (t) => {
  const next = { operator: "op", to: "to", number: 2, digest: "d", apps: {} };
  for (const [failed, carried] of [
    [{ number: 2, code: "env_missing", release: null }, []],
    [{ number: 2, code: "env_missing", release: "1.0.0" }, [2]],
    [{ number: 1, code: "env_missing", release: null }, [2]],
  ] as const) {
    const host = hostOf(t, `${failed.number}-${failed.release}`);
    await writeFleetSettings(host.layout, OF.target, { ...NO_SETTINGS, next, failed });
    await host.check(new FollowedSettings());
    t.strictSame(host.carried, carried);
  }
});

t.test("numbers of one operator say nothing about those of another", async (t) => {
  const host = hostOf(t);
  host.operators = [hex(host.seeds.first), hex(host.seeds.second)];
  const follows = new FollowedSettings();
  host.gives(5, host.seeds.first);
  await host.check(follows);
  host.gives(1, host.seeds.second);
  await host.check(follows);
  t.strictSame([host.carried, host.refused], [[5, 1], []]);
});

t.test("settings of before do not come back where a kill has kept the newest number from its file", async (t) => {
  const host = hostOf(t);
  const numbers = join(host.layout.sealift, "state", `settings-numbers-${OF.target}.json`);
  host.gives(1, host.seeds.first);
  await host.check(new FollowedSettings());
  const before = await readFile(numbers);
  host.gives(2, host.seeds.first);
  await host.check(new FollowedSettings());
  await writeFile(numbers, before);
  host.gives(1, host.seeds.first);
  await host.check(new FollowedSettings());
  t.strictSame([host.carried, host.refused], [[1, 2], ["settings_old"]]);
});

t.test("settings that a fault of the disk kept away are asked for again", async (t) => {
  const host = hostOf(t);
  const follows = new FollowedSettings();
  const numbers = join(host.layout.sealift, "state", `settings-numbers-${OF.target}.json`);
  await mkdir(numbers, { recursive: true });
  host.gives(1, host.seeds.first);
  await host.check(follows);
  t.strictSame([host.carried, host.refused.length], [[], 1]);
  await rmdir(numbers);
  await host.check(follows);
  t.strictSame(host.carried, [1]);
});

t.test("a hub that has no settings is asked once for each counter", async (t) => {
  const host = hostOf(t);
  const follows = new FollowedSettings();
  for (let checks = 0; checks < 2; checks++) await host.check(follows);
  t.strictSame([host.reads, host.refused], [1, []]);
  host.named++;
  await host.check(follows);
  t.equal(host.reads, 2);
});

t.test("a host without an operator says nothing of the settings that it has", async (t) => {
  const host = hostOf(t);
  const follows = new FollowedSettings();
  host.gives(1, host.seeds.first);
  host.isAway = true;
  await host.check(follows);
  Object.assign(host, { isAway: false, operators: [] });
  await host.check(follows);
  t.strictSame([host.carried, host.said], [[1], []]);
});

t.test("an outcome of a former key, which no hub takes any more, stands in the way of nothing", async (t) => {
  const host = hostOf(t);
  host.gives(1, host.seeds.first);
  host.isAway = true;
  await host.check(new FollowedSettings());
  t.strictSame([host.carried, host.said], [[1], []]);
  Object.assign(host, { isAway: false, key: hostKeyOf(newHostSeed()) });
  host.gives(1, host.seeds.first);
  await host.check(new FollowedSettings());
  t.strictSame([host.carried, host.said], [[1, 1], ["applied"]]);
});

t.test("a hub that has no place for cards is told of once, and doctor says it until it has", async (t) => {
  const host = hostOf(t);
  const follows = new FollowedSettings();
  Object.assign(host, { isOlder: true, card: { card: "{}" }, named: undefined });
  const doctor = async () =>
    (await Array.fromAsync(settingsFindings(host.layout, OF.target))).map(({ message }) => message);
  for (let checks = 0; checks < 3; checks++) await host.check(follows);
  t.strictSame([host.refused, host.cards], [["hub_refused"], 1]);
  t.match((await doctor()).join("\n"), /older than settings/);
  const bare = hostOf(t, "bare");
  Object.assign(bare, { isOlder: true, card: { card: "{}" }, named: undefined, operators: [] });
  await bare.check(new FollowedSettings());
  t.strictSame(bare.refused, [], "without an operator nobody waits for settings");
  const laterMs = performance.now() + 2 * 3_600_000;
  t.intercept(performance, "now", { value: () => laterMs });
  await host.check(follows);
  t.strictSame([host.refused, host.cards], [["hub_refused"], 2], "sent again after an hour, and told once");
  const evenLaterMs = laterMs + 2 * 3_600_000;
  t.intercept(performance, "now", { value: () => evenLaterMs });
  host.takesCards = true;
  for (let checks = 0; checks < 2; checks++) await host.check(follows);
  t.strictSame([host.refused, host.cards], [["hub_refused"], 3], "a hub that has become newer gets it once");
  t.notMatch((await doctor()).join("\n"), /older than settings/);
});

t.test("a hub that takes the card is told of in no way", async (t) => {
  const host = hostOf(t);
  Object.assign(host, { takesCards: true, card: { card: "{}" } });
  await host.check(new FollowedSettings());
  t.strictSame([host.refused, host.cards], [[], 1]);
});

t.test("neither a card nor an outcome that the hub refuses stands in the way of newer settings", async (t) => {
  const host = hostOf(t);
  const follows = new FollowedSettings();
  Object.assign(host, { isAway: true, card: { card: "{}" } });
  for (const number of [1, 2]) {
    host.gives(number, host.seeds.first);
    await host.check(follows);
  }
  t.strictSame([host.carried, host.cards], [[1, 2], 2], "and the card is sent again");
  t.strictSame(host.refused.slice(0, 2), ["hub_refused", "hub_unavailable"], "what was refused is told");
});

t.test("whom the watch has pinned is noted for doctor, once for each change", async (t) => {
  const host = hostOf(t);
  const follows = new FollowedSettings();
  const noted = async () => (await readFleetSettings(host.layout, OF.target)).pinned;
  await host.check(follows);
  t.strictSame(await noted(), host.operators);
  const file = join(host.layout.sealift, "state", fleetSettingsName(OF.target));
  const before = await stat(file);
  await host.check(follows);
  t.equal((await stat(file)).ino, before.ino, "nothing is written where nothing has changed");
  host.operators = [hex(host.seeds.second), hex(host.seeds.first)];
  await host.check(follows);
  t.strictSame(await noted(), host.operators);
  host.operators = [];
  await host.check(follows);
  t.strictSame(await noted(), []);
});
