// Holds: which addresses app.yaml names (lib/contract/files/application.ts)
import t from "tap";
import { addressNames, healthSocket } from "../../../lib/contract/files/address-variables.ts";
import { application } from "../../../lib/contract/files/application.ts";

const command = ["node", "server.js"];
const faultsOf = (value: object): string[] =>
  application
    .safeParse({ command, ...value })
    .error?.issues.map(({ path, message }) => `${path.join(".")} ${message}`) ?? [];

t.test("addresses are sockets that are handed over, and ports that an application binds itself", async (t) => {
  const app = application.parse({
    command,
    listen: ["http"],
    ports: ["metrics"],
    health: { http: "/", port: "metrics" },
  });
  t.same(addressNames(app), ["http", "metrics"]);
  t.equal(healthSocket(app), "metrics");
  const one = application.parse({ command, ports: ["http"], health: { http: "/healthz" } });
  t.equal(healthSocket(one), "http", "the only one answers");
  t.equal(healthSocket(application.parse({ command, ports: ["http"] })), undefined);
});

t.test("a name stands once, and the one that answers is named", async (t) => {
  t.match(faultsOf({ listen: ["http"], ports: ["http"] }), [/listen names http/]);
  t.match(faultsOf({ listen: ["a", "a"] }), [/listen names a/]);
  t.match(faultsOf({ ports: ["a"], listen: ["b"], health: { http: "/" } }), [/health\.port must name/]);
  t.match(faultsOf({ health: { http: "/" } }), [/health\.port must name/]);
  t.match(faultsOf({ ports: ["a"], health: { http: "/", port: "c" } }), [/health\.port is c, which neither/]);
});
