import t from "tap";
import type { LogCommand } from "../../../lib/agent/supervisors/logs.ts";
import { usageError } from "../../../lib/contract/errors.ts";
import { followLog, LogModel, type LogSource } from "../../../lib/tui/log-feed.ts";

const program = (unit: string, script: string): LogCommand => ({ unit, command: ["sh", "-c", script] });

/** Follows a log until it shows what is waited for. */
async function followed(source: LogSource, shown: (model: LogModel) => boolean): Promise<LogModel> {
  const model = new LogModel();
  const stop = new AbortController();
  const seen = Promise.withResolvers<void>();
  // The pause between two tries keeps no program alive; in the dashboard, the watch does.
  const alive = setInterval(() => {}, 1000);
  const following = followLog(source, model, () => shown(model) && seen.resolve(), stop.signal, 1);
  await seen.promise;
  stop.abort();
  await following;
  clearInterval(alive);
  return model;
}

const texts = (model: LogModel): string[] => model.shown(false).map(({ text }) => text);

t.test(
  "the programs of a log end with it, and one that fails does not end the others",
  { timeout: 30_000 },
  async (t) => {
    let pid = 0;
    const model = await followed(
      async () => [program("a", "echo $$; exec sleep 1000"), program("b", "echo 'no such container' >&2; exit 1")],
      (log) => {
        pid = Number(log.shown(false).find(({ unit }) => unit === "a")?.text ?? 0);
        return pid > 0 && texts(log).includes("no such container");
      },
    );
    t.equal(texts(model).length, 2);
    t.throws(() => process.kill(pid, 0), { code: "ESRCH" });
  },
);

for (const [what, trap] of [
  ["takes its time to end", "sleep 0.3; exit"],
  ["ignores SIGTERM", ""],
]) {
  t.test(`a program that ${what} is not left behind`, { timeout: 30_000 }, async (t) => {
    const model = await followed(
      async () => [program("a", `trap '${trap}' TERM; echo $$; while :; do sleep 0.05; done`)],
      (log) => texts(log).length > 0,
    );
    t.throws(() => process.kill(Number(texts(model)[0]), 0), { code: "ESRCH" });
  });
}

t.test("a log that cannot be read, or ends, is told and read again", { timeout: 30_000 }, async (t) => {
  const notes = new Set<string>();
  let tries = 0;
  const model = await followed(
    async () => {
      tries++;
      if (tries === 1) throw usageError("usage", "Nothing of it runs here.", { hint: "Deploy it." });
      return tries === 2 ? [{ unit: "a", command: ["/nowhere/docker"] }] : [program("a", `echo ${tries}`)];
    },
    (log) => {
      if (log.note !== undefined) notes.add(log.note);
      return tries >= 4 && log.note !== undefined && texts(log)[0] === String(tries);
    },
  );
  t.equal(texts(model).length, 1, "the tail that is read again takes the place of the old one");
  t.strictSame(
    [...notes],
    ["Nothing of it runs here. Deploy it.", "/nowhere/docker is not installed here.", "The log has ended."],
  );
});

t.test(
  "a plugin that floods its log neither fills the memory nor holds up the loop",
  { timeout: 60_000 },
  async (t) => {
    let turns = 0;
    const ticking = setInterval(() => turns++, 1);
    t.teardown(() => clearInterval(ticking));
    let lines = 0;
    const model = await followed(
      async () => [program("a", "yes 'a line of a plugin that writes without end'")],
      () => ++lines === 20_000,
    );
    t.ok(model.shown(false).length <= 1000);
    t.ok(turns >= 20_000 / 500, `timers had ${turns} turns meanwhile`);
  },
);
