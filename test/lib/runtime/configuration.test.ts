import t from "tap";
import { readConfiguration, resolveConfiguration } from "../../../lib/runtime/configuration.ts";
import { createRuntime } from "../../../lib/runtime/runtime.ts";

const KEY = "an-unguessable-plugin-key-0123456789";
const faultsOf = (document: unknown, env: Record<string, string> = {}): string[] => {
  try {
    resolveConfiguration(document, env);
  } catch (error) {
    t.equal((error as { code: string }).code, "config_invalid");
    return (error as { faults: string[] }).faults;
  }
  return [];
};

t.test("defaults are those of the contract", (t) => {
  const { settings } = resolveConfiguration({ app: { secret_key: "k" } }, {});
  t.match(settings, {
    app: { plugin_prefix: "/plugin", env: "development", server: { host: "127.0.0.1", port: 8000 } },
    plugins: { directory: "plugins", strict_trusted: true, grants: {} },
    services: { databases: {}, cache: { backend: "memory" }, scheduler: { jobs: [] }, extensions: {} },
  });
  t.end();
});

t.test("variables are replaced from the environment, and every unset one is named", (t) => {
  const document = {
    app: { secret_key: "${KEY}", server: { port: "${PORT}" } },
    services: { databases: { main: { type: "sqlite", url: "sqlite:${DIR}/x.db" } } },
  };
  const { settings, reserved } = resolveConfiguration(document, { KEY, PORT: "9000", DIR: "/data" });
  t.equal(settings.app.secret_key, KEY);
  t.equal(settings.app.server.port, 9000);
  t.equal(settings.services.databases["main"]?.url, "sqlite:/data/x.db");
  t.same([...reserved].sort(), ["DIR", "KEY"], "what goes into secrets is not a plugin's");
  t.same(faultsOf(document), [
    "app.secret_key: the variable KEY is not set",
    "app.server.port: the variable PORT is not set",
    "services.databases.main.url: the variable DIR is not set",
  ]);
  t.end();
});

t.test("a variable that is not set may be a systemd credential, which no plugin gets either", (t) => {
  const env = { CREDENTIALS_DIRECTORY: t.testdir({ KEY: `${KEY}\n`, PORT: "1" }), PORT: "9000" };
  const document = { app: { secret_key: "${KEY}", server: { port: "${PORT}" } } };
  const { settings, reserved } = resolveConfiguration(document, env);
  t.equal(settings.app.secret_key, KEY);
  t.equal(settings.app.server.port, 9000, "the environment comes first");
  t.same([...reserved], ["KEY"]);
  t.same(faultsOf({ app: { secret_key: "${ABSENT}" } }, env), ["app.secret_key: the variable ABSENT is not set"]);
  t.end();
});

t.test("SEALIFT__SECTION__KEY overrides, whatever the case of the file's key, and texts stay texts", (t) => {
  const env = {
    SEALIFT__APP__SERVER__PORT: "0",
    SEALIFT__APP__SECRET_KEY: "123456",
    SEALIFT__PLUGINS__STRICT_TRUSTED: "false",
    SEALIFT__SERVICES__DATABASES__MAIN__URL: "sqlite:y.db",
    SEALIFT__AUTH__JWT: "{algorithms: [HS256], issuer: i, audience: a, secret_file: f}",
  };
  const { settings } = resolveConfiguration(
    { app: { secret_key: "k" }, services: { databases: { Main: { type: "sqlite", url: "sqlite:x.db" } } } },
    env,
  );
  t.equal(settings.app.server.port, 0);
  t.equal(settings.app.secret_key, "123456");
  t.equal(settings.plugins.strict_trusted, false);
  t.equal(settings.services.databases["Main"]?.url, "sqlite:y.db");
  t.equal(settings.auth.jwt?.issuer, "i");
  t.end();
});

t.test("production refuses default and short secrets, development does not", (t) => {
  for (const secret_key of [
    "change-me",
    "changeme-changeme-changeme-1",
    "secret",
    "short",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "default-plugin-key-for-everyone",
    "plugin-key-for-development-only",
    "plugin_key_plugin_key_plugin_key_1234",
  ]) {
    t.match(faultsOf({ app: { env: "production", secret_key } }), [/app\.secret_key/], secret_key);
    t.same(faultsOf({ app: { secret_key } }), []);
  }
  t.match(faultsOf({ app: { env: "production", secret_key: KEY }, plugins: { secret_key: "short" } }), [
    /plugins\.secret_key/,
  ]);
  t.same(faultsOf({ app: { env: "production", secret_key: KEY }, plugins: { secret_key: KEY } }), []);
  const random = "plugin-key-0f1e2d3c4b5a69788796a5b4c3d2e1f0";
  t.same(faultsOf({ app: { env: "production", secret_key: random } }), [], "a random key may begin with any word");
  t.end();
});

t.test("wrong values are refused, all of them at once", (t) => {
  t.match(faultsOf({}), [/app/]);
  t.match(faultsOf("text"), ["not a mapping"]);
  t.equal(faultsOf({ app: { secret_key: "", plugin_prefix: "no-slash", server: { port: 70000 } } }).length, 3);
  const jwt = (extra: object) =>
    faultsOf({
      app: { secret_key: "k" },
      auth: { jwt: { algorithms: ["RS256"], issuer: "i", audience: "a", public_key_file: "f", ...extra } },
    });
  t.same(jwt({}), []);
  for (const extra of [
    { algorithms: ["none"] },
    { algorithms: [] },
    { algorithms: ["HS256"] },
    { algorithms: ["RS256", "HS256"] },
    { secret_file: "g" },
    { public_key_file: undefined },
    { issuer: undefined },
    { audience: undefined },
  ]) {
    t.ok(jwt(extra).length > 0, JSON.stringify(extra));
  }
  t.ok(faultsOf({ app: { secret_key: "k" }, services: { databases: { x: { type: "mysql", url: "x" } } } }).length > 0);
  t.ok(
    faultsOf({ app: { secret_key: "k" }, services: { scheduler: { jobs: [{ name: "j", plugin: "p", action: "a" }] } } })
      .length > 0,
  );
  t.end();
});

t.test("a file that is missing or no YAML is a configuration error with its path", async (t) => {
  const folder = t.testdir({ "bad.yaml": "a: [", "good.yaml": "app: { secret_key: k }" });
  await t.rejects(readConfiguration(`${folder}/absent.yaml`, {}), { code: "config_invalid", message: /absent\.yaml/ });
  await t.rejects(readConfiguration(`${folder}/bad.yaml`, {}), { code: "config_invalid", message: /bad\.yaml/ });
  t.equal((await readConfiguration(`${folder}/good.yaml`, {})).settings.app.secret_key, "k");
});

t.test("a key file of auth.jwt that cannot be used is a configuration error, before anything starts", async (t) => {
  const jwt = (extra: object) => ({
    app: { secret_key: "k" },
    auth: { jwt: { issuer: "i", audience: "a", ...extra } },
    observability: { logging: { level: "fatal" } },
  });
  const root = t.testdir({ "no.pem": "not a key", "short.secret": "short" });
  for (const extra of [
    { algorithms: ["RS256"], public_key_file: "absent.pem" },
    { algorithms: ["RS256"], public_key_file: "no.pem" },
    { algorithms: ["HS256"], secret_file: "short.secret" },
  ]) {
    await t.rejects(createRuntime({ configuration: jwt(extra), root, env: {} }), { code: "config_invalid" });
  }
});

t.test("keys that the file does not have are faults, wherever they stand", (t) => {
  const app = { secret_key: KEY };
  const documents: [document: object, key: string][] = [
    [{ app, servces: {} }, "servces"],
    [{ app: { ...app, server: { prot: 1 } } }, "prot"],
    [{ app, services: { database: {} } }, "database"],
    [{ app, plugins: { strict_trustd: true } }, "strict_trustd"],
    [{ app, plugins: { greeter: { instance: 2 } } }, "instance"],
    [{ app, auth: { jwts: {} } }, "jwts"],
    [{ app, observability: { metrics: { opened: true } } }, "opened"],
  ];
  for (const [document, key] of documents) t.match(faultsOf(document).join(), key);
  t.same(faultsOf({ app, plugins: { greeter: { instances: 2 } } }), []);
  t.end();
});
