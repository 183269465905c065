// Holds: what a plugin sees of the environment (lib/runtime/walls/spawn.ts)
import { allRefused, inEachSetting, startAttacker } from "../../support/runtime/attacker.ts";

inEachSetting(
  "a sandboxed plugin reads neither its parent's environment nor another process's memory",
  async (t, setting) => {
    process.env["SEALIFT_TEST_SECRET"] = "the parent's secret";
    t.teardown(() => delete process.env["SEALIFT_TEST_SECRET"]);
    const host = await startAttacker(t, { setting, env: { OTHER: "hidden" } });
    t.match(await host.attack(`return Object.keys(process.env)`), { done: [] });
    t.match(await host.attack(`return Object.keys((await load("node:process")).env)`), { done: [] });
    await allRefused(
      t,
      host,
      {
        "parent's environ": `return (await load("node:fs")).readFileSync("/proc/" + process.ppid + "/environ", "utf8")`,
        "own environ": `return (await load("node:fs")).readFileSync("/proc/self/environ", "utf8")`,
        "parent's command line": `return (await load("node:fs")).readFileSync("/proc/" + process.ppid + "/cmdline", "utf8")`,
        "parent's memory": `return (await load("node:fs")).openSync("/proc/" + process.ppid + "/mem")`,
      },
      {},
      setting === "wall" ? ["own environ"] : [],
    );
    const own = await host.attack(`return (await load("node:fs")).readFileSync("/proc/self/environ", "utf8")`);
    t.notMatch(JSON.stringify(own), /secret|hidden|plugin-key/);
    const report = (await host.attack(`return JSON.stringify(process.report.getReport())`)) as {
      done?: string;
      refused?: string;
    };
    t.notMatch(report.done ?? "", /the parent's secret|hidden/);
    const execution = (await host.attack(`return [process.argv, process.execArgv, process.title]`)) as {
      done: unknown;
    };
    t.notMatch(JSON.stringify(execution), /secret|hidden|plugin-key/);
  },
);
