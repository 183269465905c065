import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import t from "tap";
import { createProject, publication, type RunningHub, startHub } from "../support/hub/harness.ts";
import { commandLine } from "../support/programs/command-line.ts";
import { startHost } from "../support/runtime/host.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Mistakes that people make, typed at the real command: each answer says what is wrong, where, and what to do. */

const step = (fields: string): string => `  - {id: put, ${fields}}\n`;
const plan = (steps: string, name = "tides"): string =>
  `format_version: "1"\nproject_id: ${name}\nversion: "1.0.0"\nsteps:\n${steps}`;

const FILES: Readonly<Record<string, string>> = {
  "empty.key": "",
  "folder/note": "",
  "rubbish.key": "hello",
  secret: "a secret of sixteen letters",
  "signer.pub": "x",
  "yaml/broken.yaml": "a: [1\n",
  "yaml/integration.yaml": "app: {name: x, secret: y}\nservices: []\n",
  "yaml/notifiers.yaml": "deployed: mail\n",
  "yaml/options.yaml": "hub_ulr: http://hub\n",
  "yaml/plan-action.yaml": plan(step("action: instal_plugin, plugin: tides")),
  "yaml/plan-depends.yaml": plan(step("action: install_plugin, plugin: tides, depends_on: [prepare]")),
  "yaml/plan-key.yaml": plan(step("action: install_plugin, plugn: tides")),
  "yaml/plan-of-another.yaml": plan(step("action: install_plugin, plugin: tides"), "moon"),
  "yaml/plan-short.yaml": "format_version: 1\nsteps: []\n",
  "yaml/plan.yaml": plan(step("action: install_plugin, plugin: tides")),
  "yaml/watch-key.yaml": "targets:\n  - target: plugin:tides\n    interval_: 5\n    instal_plan: x\n",
  "yaml/watch-kind.yaml": "targets:\n  - target: plugn:tides\n",
  "yaml/watch-none.yaml": "interval: 5\n",
  "no-version/plugin.yaml": "name: tides\nentry_point: main.js\n",
};

/** Servers that are not a hub, or a hub that is not asked as it should be. */
interface Places {
  hub: RunningHub;
  site: string;
  runtime: string;
  readOnlyKey: string;
}

interface Mistake {
  line: string;
  code: number;
  /** Pattern of what is wrong, and where. */
  what: RegExp;
  /** Pattern of the advice. */
  todo: RegExp;
  env?: (places: Places) => Record<string, string | undefined>;
}

const AT_HUB = "--hub-url";
const DEPLOY = "marketplace deploy tides --signing-secret-file secret --install-plan";
const PUBLISH = "project publish folder --project-id Demo --version 1.2.0 --signing-key-file";
const at = (place: "site" | "runtime") => (places: Places) => ({ SEALIFT_HUB_URL: places[place] });
const nowhere = () => ({ SEALIFT_HUB_URL: undefined, SEALIFT_API_KEY: undefined });

const MISTAKES: readonly Mistake[] = [
  // Words
  { line: "kyes create", code: 2, what: /Unknown command: kyes/, todo: /Did you mean `sealift key create`/ },
  { line: "key", code: 2, what: /sealift key needs one more word/, todo: /create, list, revoke or rotate/ },
  { line: "quota list", code: 2, what: /Unknown command: quota/, todo: /Did you mean `sealift hub quota list`/ },
  { line: "--json", code: 2, what: /The command comes first/, todo: /sealift --help/ },
  { line: "key revoke", code: 2, what: /ID is missing/, todo: /Usage: sealift key revoke ID/ },
  { line: "key revoke a b", code: 2, what: /Unexpected argument: b/, todo: /Usage: sealift key revoke ID/ },
  { line: "pin plugin:tides 1.2.0", code: 2, what: /Unexpected argument: 1\.2\.0/, todo: /mean --version 1\.2\.0\?/ },
  // Options
  { line: "key create --nmae x", code: 2, what: /Unknown option: --nmae/, todo: /Did you mean --name\?/ },
  {
    line: "rollout start Demo --version 1.1.0",
    code: 2,
    what: /Unknown option: --version/,
    todo: /VERSION stands without it, in its place/,
  },
  { line: "webhook add --url https://x", code: 2, what: /Unknown option: --url/, todo: /mean --webhook-url\?/ },
  { line: "key list --jq .name", code: 2, what: /Unknown option: --jq/, todo: /Pipe --json to jq/ },
  { line: "key create", code: 2, what: /--name is missing/, todo: /Give it as a flag, as SEALIFT_NAME/ },
  { line: "key list", code: 2, what: /--hub-url and --api-key are missing/, todo: /sealift login URL/, env: nowhere },
  { line: `${DEPLOY} yaml/plan.yaml --symlinks`, code: 2, what: /--symlinks needs a value/, todo: /refuse\|skip/ },
  {
    line: `${DEPLOY} yaml/plan.yaml --symlinks keep`,
    code: 2,
    what: /--symlinks.*"keep"/,
    todo: /one of refuse, skip/,
  },
  { line: "watch plugin:tides --interval soon", code: 2, what: /--interval.*"soon"/, todo: /such as 60, 90s, 5m/ },
  { line: "key create --name x --expires 30", code: 2, what: /--expires needs a unit/, todo: /30s, 30m, 30h or 30d/ },
  {
    line: "key create --name x --expires soon",
    code: 2,
    what: /--expires.*"soon"/,
    todo: /a time such as 90s, 5m or 90d/,
  },
  { line: "watch plugin:tides --interval 0", code: 2, what: /--interval.*"0"/, todo: /must be 1s or longer/ },
  { line: "key create --name x --expires 0", code: 2, what: /--expires.*"0"/, todo: /must lie ahead, such as 90d/ },
  { line: "key create --name x --scope depoly", code: 2, what: /--scope.*"depoly"/, todo: /one of admin, .*deploy/ },
  { line: `key list ${AT_HUB} hub.example`, code: 2, what: /--hub-url.*"hub\.example"/, todo: /an http or https URL/ },
  {
    line: "key list --hub-url http://me:secret@hub",
    code: 2,
    what: /--hub-url holds a user name or password/,
    todo: /secrets have options of their own/,
  },
  {
    line: "key list slk_aaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    code: 2,
    what: /A secret stands in the arguments/,
    todo: /--api-key-file PATH/,
  },
  // Files
  {
    line: "key list --api-key-file nowhere.key",
    code: 2,
    what: /--api-key-file nowhere\.key cannot be read: there is no such file/,
    todo: /Check the path, or give the secret as SEALIFT_API_KEY/,
  },
  { line: "key list --api-key-file folder", code: 2, what: /folder cannot be read: it is a folder/, todo: /the path/ },
  {
    line: "key list --api-key-file empty.key",
    code: 2,
    what: /--api-key-file empty\.key is empty/,
    todo: /must hold the secret/,
  },
  { line: "key list --config nowhere.yaml", code: 2, what: /nowhere\.yaml cannot be read: there is no/, todo: /Check/ },
  { line: "key list --config yaml/broken.yaml", code: 2, what: /not valid YAML: line 2/, todo: /Correct the file/ },
  { line: "key list --config yaml/options.yaml", code: 2, what: /unknown keys: hub_ulr/, todo: /mean hub_url\?/ },
  {
    line: "watch --once --config yaml/watch-key.yaml",
    code: 2,
    what: /targets\.0: unknown keys "interval_", "instal_plan" \(line 3\)/,
    todo: /did you mean interval, install_plan\?/,
  },
  {
    line: "watch --once --config yaml/watch-kind.yaml",
    code: 2,
    what: /targets\.0\.target/,
    todo: /must be plugin:SLUG/,
  },
  { line: "watch --once --config yaml/watch-none.yaml", code: 2, what: /targets: must be a list/, todo: /watch init/ },
  { line: "watch --once", code: 2, what: /nothing to watch/, todo: /Name targets.*or give --config/s },
  { line: "watch --once tides", code: 2, what: /TARGET is .*not "tides"/, todo: /plugin:tides or service:tides/ },
  { line: "plan validate nowhere.yaml", code: 2, what: /nowhere\.yaml cannot be read/, todo: /sealift plan init/ },
  {
    line: "plan validate yaml/plan-action.yaml",
    code: 2,
    what: /steps\[put\]\.action: must be one of prepare, download/,
    todo: /did you mean install_plugin\? \(line 5\)/,
  },
  {
    line: "plan validate yaml/plan-key.yaml",
    code: 2,
    what: /steps\[put\]: unknown key "plugn"/,
    todo: /did you mean plugin\?/,
  },
  {
    line: "plan validate yaml/plan-short.yaml",
    code: 2,
    what: /project_id: is missing \(a text\).*steps: must have at least 1 item/,
    todo: /format_version: must be "1"/,
  },
  { line: "plan validate yaml/plan-depends.yaml", code: 2, what: /put depends on prepare/, todo: /Correct the plan/ },
  { line: `${DEPLOY} yaml/plan-of-another.yaml`, code: 2, what: /belongs to "moon"/, todo: /Use the plan of this/ },
  {
    line: `${DEPLOY} yaml/plan.yaml --notifiers-config yaml/notifiers.yaml`,
    code: 2,
    what: /notifiers\.yaml is not valid: deployed: must be a mapping, not a text \(line 1\)/,
    todo: /Correct the file/,
  },
  {
    line: "runtime serve --config yaml/integration.yaml",
    code: 2,
    what: /services: must be a mapping, not a list/,
    todo: /unknown key "secret"; did you mean secret_key\?/,
  },
  { line: "runtime serve --listen 8000", code: 2, what: /--listen.*"8000"/, todo: /such as 127\.0\.0\.1:8000/ },
  { line: "plugin pack folder", code: 2, what: /plugin\.yaml cannot be read/, todo: /sealift plugin init/ },
  { line: "plugin pack no-version", code: 2, what: /version: is missing \(a text\)/, todo: /sealift docs sdk/ },
  { line: `${PUBLISH} signer.pub`, code: 2, what: /signer\.pub is a public key/, todo: /such as signer\.key/ },
  {
    line: `${PUBLISH} rubbish.key`,
    code: 2,
    what: /holds no Ed25519 private key/,
    todo: /sealift signer create/,
  },
  // The way to the hub
  {
    line: "key list --hub-url http://127.0.0.1:9",
    code: 75,
    what: /Nothing listens at http:\/\/127\.0\.0\.1:9/,
    todo: /Check the hub's URL and that the hub is running/,
  },
  {
    line: "key list",
    code: 75,
    what: /https:\S+ does not speak TLS/,
    todo: /give the hub's URL with http:/,
    env: ({ hub }) => ({ SEALIFT_HUB_URL: hub.url.replace("http:", "https:") }),
  },
  {
    line: "key list",
    code: 1,
    what: /answered 200, but not with JSON/,
    todo: /the root of a Sealift hub/,
    env: at("site"),
  },
  {
    line: "key list",
    code: 1,
    what: /http:\S+ is a runtime, not a hub/,
    todo: /Give the hub's URL; \S+ belongs to --runtime-url/,
    env: at("runtime"),
  },
  {
    line: `${DEPLOY} yaml/plan.yaml`,
    code: 1,
    what: /http:\S+ is a runtime, not a hub/,
    todo: /Give the hub's URL/,
    env: at("runtime"),
  },
  // Answers of the hub
  {
    line: "key list",
    code: 3,
    what: /401: The API key is unknown, revoked or has expired/,
    todo: /Check the API key/,
    env: () => ({ SEALIFT_API_KEY: "slk_mistyped" }),
  },
  {
    line: "project create X",
    code: 3,
    what: /403: The key lacks the scope projects/,
    todo: /sealift key create/,
    env: ({ readOnlyKey }) => ({ SEALIFT_API_KEY: readOnlyKey }),
  },
  { line: "version list project:Dmo", code: 1, what: /no project.* named "project:Dmo"/, todo: /Did you mean "Demo"/ },
  { line: "version yank Demo 9.9.9", code: 1, what: /no such version/, todo: /sealift version list TARGET/ },
  { line: "rollout show Demo", code: 1, what: /Demo has no rollout/, todo: /sealift rollout start Demo VERSION/ },
  { line: "fleet label project:Demo pier env", code: 2, what: /label.*not "env"/, todo: /such as env=prod/ },
  { line: "fleet label project:Demo pier env=prod", code: 1, what: /no such host/, todo: /sealift fleet TARGET/ },
  // The host
  { line: "status --project-root folder", code: 2, what: /folder is not a project root/, todo: /--project-root/ },
];

const OF_OTHERS = /Invalid (?:input|option|discriminator)|Too (?:small|big)|Unrecognized key|ENOENT|EISDIR|\n {4}at /;

t.test("each mistake is answered with what is wrong, where, and what to do", async (t) => {
  const hub = await startHub(t, { dataDir: join(temporaryFolder(t), "hub") });
  const demo = await createProject(hub);
  await demo.publish(publication("1.0.0"));
  const site = createServer((_request, response) => response.setHeader("content-type", "text/html").end("<p>"));
  await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
  t.teardown(() => site.close());
  const issued = await hub.call("POST", "/devkeys/api-keys", { json: { name: "reader", scopes: ["read"] } });
  const places: Places = {
    hub,
    site: `http://127.0.0.1:${(site.address() as AddressInfo).port}`,
    runtime: (await startHost(t)).url,
    readOnlyKey: issued.body.key,
  };
  const cwd = temporaryFolder(t);
  for (const [name, content] of Object.entries(FILES)) {
    mkdirSync(dirname(join(cwd, name)), { recursive: true });
    writeFileSync(join(cwd, name), content);
  }
  const shared = { PATH: process.env.PATH, XDG_CONFIG_HOME: "/nowhere" };
  for (const { line, code, what, todo, env } of MISTAKES) {
    const ended = await commandLine(line.split(" "), {
      cwd,
      env: { ...shared, SEALIFT_HUB_URL: hub.url, SEALIFT_API_KEY: hub.adminKey, ...env?.(places) },
    });
    const told = ended.stderr + ended.stdout;
    t.equal(ended.code, code, line);
    t.match(told, what, `${line}: what`);
    t.match(told, todo, `${line}: what to do`);
    t.notMatch(told, OF_OTHERS, `${line}: in words of this program`);
  }
});
