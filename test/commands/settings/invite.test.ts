import t from "tap";
import { COMMANDS } from "../../../commands/shell/registry.ts";
import { termsOfLine } from "../../../lib/artifact/sealed/terms.ts";
import { joinTokenIn } from "../../../lib/contract/joining/token.ts";
import { settingsFleet } from "../../support/hub/settings-fleet.ts";
import { runHere } from "../../support/programs/run-here.ts";

const commands = COMMANDS.filter(({ paths }) => paths?.[0]?.[0] === "host");
const SIGNER = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

t.test("the line of an invite with an operator binds its terms, and no other hub's", async (t) => {
  const { hub, keyFile, operator, run } = await settingsFleet(t);
  await run("settings show");
  const invite = (words: string) =>
    runHere(commands, `host invite --project Harbour --signer-public-key ${SIGNER} ${words}`.split(" "));
  const { stdout, code } = await invite(`--label env=prod --host pier-7 --operator-key ${keyFile}`);
  t.equal(code, 0);
  const token = joinTokenIn(stdout)!;
  const { signed } = termsOfLine(hub.terms.text, token.operator!);
  t.match(signed, { operator, labels: { env: "prod" }, hosts: ["pier-7"], uses: 1, pins: token.fingerprint });
  t.match(await invite("--host pier-7"), { code: 2, stderr: /--host needs --operator-key/ });
  t.match(await invite(`--host .. --operator-key ${keyFile}`), { code: 2, stderr: /is not a name of a host/ });
  hub.terms.ways = "dropped";
  const dropped = await invite(`--operator-key ${keyFile}`);
  t.match(dropped, { code: 1, stdout: "", stderr: /without the operator's terms, and it was revoked/ });
  t.equal(hub.calls.at(-1), "DELETE /host-invites/inv_1");
  hub.terms.ways = "unknown";
  t.match(await invite(`--operator-key ${keyFile}`), { code: 1, stdout: "", stderr: /The hub is older than settings/ });
  t.match(await invite("--uses 2"), { code: 0, stdout: /^sjt_[\w-]{43}\.[0-9a-f]{32}\n$/ });
});
