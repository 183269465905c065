import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { AppServe } from "../../../lib/apps/serve.ts";
import { damagedFile } from "../../../lib/releases/contents.ts";
import { currentRelease } from "../../../lib/releases/release.ts";
import { applicationHost, appSource } from "../../support/host/application-host.ts";
import { GRANT_USER } from "../../support/host/application-root.ts";
import { GIVEN_TARGET } from "../../support/host/given-source.ts";
import { plant } from "../../support/host/project-root.ts";
import { until } from "../../support/until.ts";

/** An application changes its own release, or wants the agent's keys, consents and grants. */

const STATE = ".sealift/state";
const SECRETS = ["host.key", "watch.secrets", "plugins/a.env", "apps/web.env"];
const OWNED = [`${STATE}/consent-${GIVEN_TARGET}.json`, `${STATE}/rights-${GIVEN_TARGET}.json`, "applications.yaml"];

/** A program that says what it could do. It finds the root above its release. */
const ATTACK = `
root=$PWD/../../../../../..
could() { echo "could $*"; }
for path in ${SECRETS.join(" ")}; do cat "$root/$path" >/dev/null 2>&1 && could read $path; done
for path in server.sh app.yaml .sealift/start ../../release.json ../../contents.ndjson; do
  { echo x >> $path; } 2>/dev/null && could change $path
  rm -f $path 2>/dev/null && could remove $path
  { echo x > $path.new; } 2>/dev/null && could add $path.new
done
for path in ${OWNED.join(" ")}; do
  { echo x >> $root/$path; } 2>/dev/null && could change $path
  rm -f $root/$path 2>/dev/null && could remove $path
done
for path in . .sealift .sealift/current apps ${STATE} .sealift/releases; do
  { echo x > $root/$path/planted; } 2>/dev/null && could add to $path
done
ls $root/.sealift/apps >/dev/null 2>&1 && could look at the control socket
ls $root/.sealift/logs/apps >/dev/null 2>&1 && could look at the logs of others
ln -sfn /tmp $root/.sealift/current/${GIVEN_TARGET} 2>/dev/null && could switch
mv $root/apps/web $root/apps/other 2>/dev/null && could rename its link
echo "as $(id -un) it tried all"
exec sleep 60
`;

t.test("an application of another user", { skip: "same_user" in GRANT_USER && "only root runs others" }, async (t) => {
  const h = await applicationHost(t, "supervisor: serve\napplications: { web: { user: nobody } }\n");
  await chmod(h.root, 0o755);
  await plant(h.root, Object.fromEntries([...SECRETS, ...OWNED.slice(0, 2)].map((path) => [path, "{}"])));
  for (const path of SECRETS) await chmod(join(h.root, path), 0o600);
  await writeFile(join(h.root, "apps/web.env"), "TOKEN=secret\n");
  await using _served = await AppServe.start(h.layout, () => undefined);
  const app = "command: [sh, server.sh]\nhealth: { stays_up: 1s }\n";
  const source = appSource("1.0.0", ["web"], app, { "apps/web/server.sh": ATTACK });
  t.match(await h.run(source, { supervisor: { name: "none" } }), { outcome: "deployed" });
  const log = join(h.layout.sealift, "logs/apps/web/log");
  const said = (): Promise<string> => readFile(log, "utf8").catch(() => "");
  await until(async () => /tried all/.test(await said()));
  t.match(await said(), /as nobody it tried all/);
  t.strictSame(
    (await said()).split("\n").filter((line) => line.startsWith("could")),
    [],
  );
  const release = (await currentRelease(h.layout, GIVEN_TARGET))!;
  t.equal(await damagedFile(h.layout.release(GIVEN_TARGET, release.name), release, true), undefined);
});
