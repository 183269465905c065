import t, { type Test } from "tap";
import { RecordWriter } from "../../commands/shell/output/records.ts";
import { type RunningHub, startHub } from "../support/hub/harness.ts";
import { commandLine, type Ended } from "../support/programs/command-line.ts";

const sealift = (hub: RunningHub, line: string): Promise<Ended> =>
  commandLine(line.split(" "), {
    env: { PATH: process.env.PATH, SEALIFT_HUB_URL: hub.url, SEALIFT_API_KEY: hub.adminKey },
  });

/** Reports that these hosts have deployed a version. */
async function report(hub: RunningHub, version: string, hosts: Record<string, string>): Promise<void> {
  for (const [host_id, status] of Object.entries(hosts)) {
    const at = new Date().toISOString();
    const json = { kind: "plugin", slug: "tides", version, status, started_at: at, completed_at: at, host_id };
    const { status: answered } = await hub.call("POST", "/app/deployments/deployments/report", { json });
    if (answered > 299) throw new Error(`the hub answered ${answered}`);
  }
}

async function fleetOf(t: Test): Promise<RunningHub> {
  const hub = await startHub(t, { rateLimits: false });
  await sealift(hub, "project create Tides --kind plugin --slug tides");
  return hub;
}

t.test("--fields and --csv print what was asked for, and nothing else", async (t) => {
  const hub = await fleetOf(t);
  await report(hub, "1.0.0", { "host-1": "success", "host-2": "failed" });
  const rows = await sealift(hub, "fleet plugin:tides --fields host_id,version");
  t.same(rows.stdout, '{"host_id":"host-1","version":"1.0.0"}\n{"host_id":"host-2","version":"1.0.0"}\n');
  const csv = await sealift(hub, "fleet plugin:tides --csv --fields host_id,status,error_message");
  t.same(csv.stdout, "host_id,status,error_message\nhost-1,success,\nhost-2,failed,\n");
  t.match(await sealift(hub, "fleet plugin:tides --fields host_id,staus"), {
    code: 2,
    stdout: "",
    stderr: /--fields: there is no staus\. A record has .*host_id.*\n {2}Did you mean status\?/,
  });
  const one = await sealift(hub, "project create Clock --fields project.kind,project.name");
  t.same(one.stdout, '{"project.kind":"project","project.name":"Clock"}\n');
  const failed = await sealift(hub, "key revoke nothing --csv");
  t.match(failed, { code: 1, stdout: "", stderr: /^error \(not_found\)/ });
});

t.test("a cell of CSV is quoted where it has to be, and is not a formula", (t) => {
  const lines: string[] = [];
  const records = new RecordWriter({ fields: [], csv: true }, (line) => lines.push(line));
  records.add({ event: "host", name: 'a "b", c', why: "=1+1", list: ["x"], none: null, count: -3 });
  t.same(lines, ["name,why,list,none,count", '"a ""b"", c",\'=1+1,"[""x""]",,-3']);
  t.end();
});

t.test("fleet wait ends when enough hosts run the version, and not before", async (t) => {
  const hub = await fleetOf(t);
  await report(hub, "1.0.0", { "host-1": "success", "host-2": "success", "host-3": "success" });
  await report(hub, "2.0.0", { "host-1": "success", "host-2": "failed" });
  const behind = await sealift(hub, "fleet wait plugin:tides --version 2.0.0 --timeout 0 --json");
  t.equal(behind.code, 75);
  t.match(JSON.parse(behind.stdout.trim().split("\n").at(-1)!), {
    error: { code: "fleet_behind", message: /1 of 3 hosts run 2\.0\.0, 1 failing after 0 s/ },
  });
  t.equal((await sealift(hub, "fleet wait plugin:tides --version 2.0.0 --timeout 0 --min 1")).code, 0);
  t.equal((await sealift(hub, "fleet wait plugin:tides --version 2.0.0 --timeout 0 --min 33%")).code, 0);
  const waiting = sealift(hub, "fleet wait plugin:tides --version 2.0.0 --min 66% --interval 0.2s --timeout 60s");
  await report(hub, "2.0.0", { "host-2": "success" });
  t.match(await waiting, { code: 0, stderr: /2 of 3 hosts run 2\.0\.0\n$/ });
  t.match(await sealift(hub, "fleet wait plugin:tides --version 2.0.0 --min most"), {
    code: 2,
    stderr: /--min is a share/,
  });
});

t.test("fleet and fleet wait count what runs, and show a failed try beside it", async (t) => {
  const hub = await fleetOf(t);
  await report(hub, "1.0.0", { "host-1": "success", "host-2": "success" });
  await report(hub, "2.0.0", { "host-2": "rolled_back" });
  const shown = await sealift(hub, "fleet plugin:tides");
  t.match(shown.stdout, /^host-2 +1\.0\.0 +rolled_back .*2\.0\.0 failed$/m);
  t.match(shown.stderr, /2 hosts, 1 failing, 1\.0\.0 on 2\n/);
  t.match(await sealift(hub, "fleet wait plugin:tides --version 1.0.0 --timeout 0"), { code: 0 });
});

t.test("a scope may be given several times, or with commas", async (t) => {
  const hub = await fleetOf(t);
  const { stdout } = await sealift(hub, "key create --name ci --scope publish,read --scope report --fields key.scopes");
  t.same(JSON.parse(stdout), { "key.scopes": ["publish", "read", "report"] });
});

t.test("a command that stops reading early ends at once", async (t) => {
  const hub = await fleetOf(t);
  await report(hub, "1.0.0", { "host-1": "success", "host-2": "failed" });
  // The hub keeps an idle connection for 72 s; one run in four waited for its end.
  for (let run = 0; run < 8; run++) {
    const started = performance.now();
    t.equal((await sealift(hub, "fleet plugin:tides --fields staus")).code, 2);
    t.ok(performance.now() - started < 60_000);
  }
});
