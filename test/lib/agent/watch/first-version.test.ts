// Holds: what a host is told whose first version fails (lib/agent/watch/decide.ts)
import t from "tap";
import { Watch } from "../../../../lib/agent/watch/watch.ts";
import { artifactError, deploymentError, type SealiftError } from "../../../../lib/contract/errors.ts";
import { layoutOf } from "../../../../lib/releases/layout.ts";
import { GIVEN_TARGET } from "../../../support/host/given-source.ts";
import { install, prepareRelease } from "../../../support/host/project-root.ts";
import { givenTarget } from "../../../support/host/watching.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const ADVICE =
  /Nothing runs here yet\. .*version yank project:prj_0123456789 1\.1\.0.*sealift pin project:prj_\S+ --version/;

/** Two checks of a host whose latest version is 1.1.0, which fails. */
async function turns(root: string, error: SealiftError) {
  const target = givenTarget(root, { given: () => ({ fetch: () => Promise.reject(error) }) });
  target.publish("1.1.0");
  const once = async () => (await new Watch([target], () => undefined).once(AbortSignal.timeout(60_000)))[0];
  return [await once(), await once()];
}

t.test("a host whose first version fails hears how it gets another one", async (t) => {
  const [failed, held] = await turns(temporaryFolder(t), artifactError("plan_invalid", "It is broken."));
  t.match(failed, { outcome: "failed", error: { code: "plan_invalid", hint: ADVICE } });
  t.match(held, { outcome: "held", error: { code: "quarantined", hint: ADVICE } });
});

t.test("not where the version is not to blame, or another one runs", async (t) => {
  const away = deploymentError("supervisor_unavailable", "The supervisor is away.", { hint: "Start it." });
  for (const turn of await turns(temporaryFolder(t), away)) t.match(turn, { error: { hint: /^Start it\.$/ } });
  const root = temporaryFolder(t);
  await install(await prepareRelease(layoutOf(root), GIVEN_TARGET, "1.0.0", { "plugins/a/version": "1.0.0" }));
  const [failed, held] = await turns(root, artifactError("plan_invalid", "It is broken."));
  t.notMatch(failed?.error?.hint, "Nothing runs");
  t.match(held, { error: { hint: /^Publish a newer version, or run/ } });
});
