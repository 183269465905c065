/** The files under ops/ for two hubs name options, files and variables that exist. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import t from "tap";
import { parse } from "yaml";
import { freePort } from "../support/free-port.ts";
import { startHaproxy } from "../support/hub/balancer.ts";
import { faultsOfCommand } from "../support/programs/container-command.ts";

const ops = new URL("../../ops/", import.meta.url);

interface Service {
  command?: string[];
  environment?: Record<string, string>;
  volumes?: string[];
}

t.test("the compose file starts hubs with options that exist, behind the balancer of the page", async (t) => {
  const text = await readFile(new URL("compose/compose.yaml", ops), "utf8");
  const { services } = parse(text, { merge: true }) as { services: Record<string, Service> };
  for (const name of ["hub-a", "hub-b"]) {
    const { command = [], environment = {} } = services[name] ?? {};
    const variables = [...Object.keys(environment), ...(text.match(/SEALIFT_[A-Z_]+(?==)/g) ?? [])];
    const args = command.map((arg) => arg.replace("${PUBLIC_URL:-", "").replace(/\}$/, ""));
    t.ok(args.length >= 7, `${name}: ${args.join(" ")}`);
    t.same(faultsOfCommand(args, variables), []);
  }
  const balancer = services["balancer"];
  const mounted = (balancer?.volumes ?? []).map((volume) => volume.split(":")[0]!);
  t.same(
    mounted.map((path) => existsSync(new URL(path, new URL("compose/", ops)))),
    [true],
  );
  const configuration = await readFile(new URL("haproxy/haproxy.cfg", ops), "utf8");
  const variables = new Set([...configuration.matchAll(/"\$\{([A-Z_]+)\}"/g)].map(([, name]) => name!));
  t.same([...variables].toSorted(), Object.keys(balancer?.environment ?? {}).toSorted());
});

t.test("the compose file of a host starts its two programs with options that exist", async (t) => {
  const { services } = parse(await readFile(new URL("compose/host.yaml", ops), "utf8"), { merge: true }) as {
    services: Record<string, Service>;
  };
  t.strictSame(Object.keys(services), ["apps", "watch"]);
  for (const { command = [] } of Object.values(services)) {
    t.same(faultsOfCommand(command, []), []);
    t.match(command.at(-1), /=\/var\/lib\/sealift\//, "below the folder of its volume");
  }
});

t.test("a balancer without hubs says so to clients, to people and to Prometheus", async (t) => {
  const nobody = async (): Promise<string> => `http://127.0.0.1:${await freePort()}`;
  const balancer = await startHaproxy(t, [await nobody(), await nobody()], 503);
  if (balancer === undefined) return void t.plan(0, "HAProxy is not installed");
  const answer = await fetch(balancer.url);
  t.match({ status: answer.status, body: await answer.json() }, { status: 503, body: { code: "hub_unavailable" } });
  t.equal(answer.headers.get("retry-after"), "5");
  t.match(await (await fetch(balancer.statusUrl)).text(), /Statistics Report/);
  const metrics = await (await fetch(`${balancer.statusUrl}/metrics`)).text();
  const alerts = await readFile(new URL("prometheus/alerts.yml", ops), "utf8");
  const named = alerts.match(/\bhaproxy_[a-z_]+\{[^}]*\}/g) ?? [];
  t.ok(named.length > 0);
  for (const series of named) {
    const [name, labels] = series.slice(0, -1).split("{");
    const wanted = labels!.split(",");
    const found = metrics
      .split("\n")
      .some((line) => line.startsWith(`${name}{`) && wanted.every((l) => line.includes(l)));
    t.ok(found, `${series} is measured`);
  }
});

t.test("pages link to files under ops/ that are there", async (t) => {
  for (const page of ["scaling.md", "metrics.md", "installing.md"]) {
    const text = await readFile(new URL(`../../docs/${page}`, import.meta.url), "utf8");
    const paths = [...new Set(text.match(/ops\/[a-z]+(\/[A-Za-z.-]*[a-z])?/g) ?? [])];
    t.ok(paths.length > 0);
    for (const path of paths) t.ok(existsSync(fileURLToPath(new URL(`../../${path}`, import.meta.url))), path);
  }
});
