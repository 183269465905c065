// Holds: which version a host gets (lib/hub/gate/answer.ts, lib/hub/gate/host-answer.ts)
import fc from "fast-check";
import t from "tap";
import { answerTo, type AskingHost, type Gate, type Rolling } from "../../../../lib/hub/gate/answer.ts";
import { waveOf, wavesOf } from "../../../../lib/hub/gate/waves.ts";
import { isOpenAt, parseWindow } from "../../../../lib/hub/gate/window.ts";

const HOUR = 3_600_000;
const NOW = Date.parse("2026-11-24T10:00:00Z");
const WAVES = wavesOf(["env=canary", "30%", "100%"]);

/** @param above `2.0.0` for a held version, `2.0.0*` for the rolling one, `2.0.0-` for one that was taken back */
const gate = (above: readonly string[], rolling: Partial<Rolling> = {}): Gate => ({
  above: above.map((text) => ({
    ...{ version: text.replace(/[*-]$/, ""), isRolling: text.endsWith("*"), isTakenBack: text.endsWith("-") },
  })),
  rolling: above.some((text) => text.endsWith("*"))
    ? { id: "rol_a", isRunning: true, waves: WAVES, open: 1, window: undefined, known: 9, onlyBound: false, ...rolling }
    : undefined,
});
const host = (given: Partial<AskingHost> = {}): AskingHost => ({
  ...{ id: "a", labels: { env: "canary" }, firstChange: 1, isBound: false, running: "1.0.0", ...given },
});
const nameless = host({ id: undefined });

t.test("a host gets the rolling version when its wave is open, and hears of its hours where they are not now", (t) => {
  const rolling = ["2.0.0*"];
  t.same(answerTo(gate(rolling), "1.0.0", host(), NOW), { version: "2.0.0" });
  t.same(answerTo(gate(rolling, { open: 0 }), "1.0.0", host(), NOW), { version: "1.0.0" });
  t.same(answerTo(gate(rolling, { open: 2 }), "1.0.0", nameless, NOW), { version: "1.0.0" });
  t.same(answerTo(gate(rolling, { open: 3 }), "1.0.0", nameless, NOW), { version: "2.0.0" });
  for (const late of [{ firstChange: 10 }, { firstChange: undefined }])
    t.same(answerTo(gate(rolling, { open: 2 }), "1.0.0", host(late), NOW), { version: "1.0.0" }, "a new host");
  const late = host({ firstChange: 10, isBound: true });
  t.same(answerTo(gate(rolling), "1.0.0", late, NOW), { version: "2.0.0" }, "its own key speaks for it");
  const onlyBound = gate(rolling, { onlyBound: true });
  t.same(answerTo(onlyBound, "1.0.0", host(), NOW), { version: "1.0.0" }, "anybody's key speaks for it");
  t.same(answerTo(onlyBound, "1.0.0", host({ isBound: true }), NOW), { version: "2.0.0" });
  const window = parseWindow("Tue 12:00-13:00 UTC");
  const next = { version: "2.0.0", notBefore: Date.parse("2026-11-24T12:00:00Z") };
  const ahead = { version: "1.0.0", next };
  t.same(answerTo(gate(rolling, { window }), "1.0.0", host(), NOW), ahead);
  t.same(answerTo(gate(rolling, { window, open: 0 }), "1.0.0", host(), NOW), ahead, "it may fetch ahead");
  t.same(answerTo(gate(rolling, { window, open: 2 }), "1.0.0", nameless, NOW), ahead, "the wave after it");
  t.same(answerTo(gate(rolling, { window }), "1.0.0", nameless, NOW), { version: "1.0.0" }, "no later wave");
  const inWindow = answerTo(gate(rolling, { window, open: 2 }), "1.0.0", nameless, next.notBefore + 1000);
  t.same(inWindow, ahead, "and the same in the window, until its wave opens");
  const paused = { window, isRunning: false };
  t.same(
    answerTo(gate(rolling, paused), "1.0.0", host(), next.notBefore),
    { version: "1.0.0" },
    "nothing while paused",
  );
  t.end();
});

t.test("a host keeps the held or rolling version that it runs, unless that was taken back", (t) => {
  const running = (version: string | null | undefined) => host({ running: version, labels: {} });
  t.same(answerTo(gate(["2.0.0"]), "1.0.0", running("2.0.0"), NOW), { version: "2.0.0" });
  t.same(answerTo(gate(["2.0.0"]), "1.0.0", running("1.0.0"), NOW), { version: "1.0.0" });
  t.same(answerTo(gate(["2.0.0*"], { isRunning: false }), "1.0.0", running("2.0.0"), NOW), { version: "2.0.0" });
  const back = { version: "1.0.0", withdrawn: "2.0.0" };
  t.same(answerTo(gate(["2.0.0-"]), "1.0.0", running("2.0.0"), NOW), back);
  for (const other of ["1.0.0", null, undefined])
    t.same(answerTo(gate(["2.0.0-"]), "1.0.0", running(other), NOW), { version: "1.0.0" }, "names the host's own only");
  t.same(answerTo(gate(["2.0.1", "2.0.0-"]), "1.0.0", running("2.0.1"), NOW), { version: "2.0.1" });
  t.same(answerTo(gate(["2.0.1-", "2.0.0-"]), "1.0.0", running("2.0.0"), NOW), back, "two steps, each by its name");
  t.same(
    answerTo(gate(["2.0.1*", "2.0.0-"]), "1.0.0", host({ running: "2.0.0" }), NOW),
    { version: "2.0.1" },
    "up rather than back",
  );
  t.same(answerTo(gate(["2.0.0-"]), null, running("2.0.0"), NOW), { version: null }, "with no version open it stays");
  t.end();
});

t.test("a higher held version keeps no host from the rolling one below it", (t) => {
  const both = gate(["1.1.0", "1.0.2*"]);
  t.same(answerTo(both, "1.0.0", host(), NOW), { version: "1.0.2" });
  t.same(answerTo(both, "1.0.0", host({ running: "1.1.0" }), NOW), { version: "1.1.0" });
  t.end();
});

t.test("no host outside the open waves gets a version that it does not run, whatever it says of itself", (t) => {
  const windows = fc.constantFrom(
    undefined,
    "Mon-Fri 09:00-16:00 Europe/Berlin",
    "Sat-Sun 22:00-04:00 America/New_York",
  );
  const hosts = fc.record({
    id: fc.option(fc.string({ minLength: 1, maxLength: 8 }), { nil: undefined }),
    labels: fc.dictionary(fc.constantFrom("env", "x"), fc.constantFrom("canary", "prod")),
    firstChange: fc.constantFrom(undefined, 1, 9, 10),
    isBound: fc.boolean(),
    running: fc.constantFrom(undefined, null, "1.0.0", "1.5.0", "2.0.0", "3.0.0", "9.9.9"),
  });
  const rollouts = fc.record({
    open: fc.nat(3),
    isRunning: fc.boolean(),
    onlyBound: fc.boolean(),
    window: windows.map((text) => (text === undefined ? undefined : parseWindow(text))),
  });
  const times = fc.integer({ min: NOW, max: NOW + 14 * 24 * HOUR });
  fc.assert(
    fc.property(rollouts, hosts, times, (given, asking, now) => {
      const { version, next, withdrawn } = answerTo(gate(["3.0.0", "2.0.0*", "1.5.0-"], given), "1.0.0", asking, now);
      const wasThere = asking.firstChange !== undefined && asking.firstChange <= 9 && !given.onlyBound;
      const isKnown = asking.id !== undefined && (asking.isBound || wasThere);
      const wave = isKnown ? waveOf("rol_a", WAVES, { id: asking.id, labels: asking.labels }) : 2;
      const isItsTurn = given.isRunning && wave < given.open && isOpenAt(given.window, now);
      const allowed = ["1.0.0", ...(asking.running === "3.0.0" ? ["3.0.0"] : [])];
      if (isItsTurn || asking.running === "2.0.0") allowed.push("2.0.0");
      const best = allowed.toSorted().at(-1);
      const isNext = given.isRunning && given.window !== undefined && wave <= given.open && best === "1.0.0";
      return (
        version === best &&
        next?.version === (isNext ? "2.0.0" : undefined) &&
        withdrawn === (asking.running === "1.5.0" && best === "1.0.0" ? "1.5.0" : undefined)
      );
    }),
    { numRuns: 2000 },
  );
  t.end();
});
