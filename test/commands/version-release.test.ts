import t from "tap";
import { VersionRelease, VersionYank } from "../../commands/hub/versions.ts";
import { RolloutAbort, RolloutStart } from "../../commands/rollouts/rollouts.ts";
import { startHub } from "../support/hub/harness.ts";
import { publicationForm } from "../support/hub/publishers.ts";
import { runHere } from "../support/programs/run-here.ts";

t.test("the release of a held version that was yanked does not say that every host gets it", async (t) => {
  const hub = await startHub(t);
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  const publish = (version: string) =>
    hub.call("POST", "/app/marketplace/plugins/tide/versions", { form: publicationForm(version) });
  const sealift = (...words: string[]) =>
    runHere(
      [RolloutStart, RolloutAbort, VersionYank, VersionRelease],
      [...words, ...["--hub-url", hub.url, "--api-key", hub.adminKey]],
    );
  await publish("1.0.0");
  const waves = ["--waves", "100%", "--soak", "1h"];
  t.equal((await sealift("rollout", "start", "plugin:tide", "1.1.0", ...waves)).code, 0);
  t.equal((await publish("1.1.0")).status, 201);
  t.equal((await sealift("rollout", "abort", "plugin:tide", "--reason", "loses data")).code, 0);
  t.equal((await sealift("version", "yank", "plugin:tide", "1.1.0", "--reason", "loses data")).code, 0);
  const released = await sealift("version", "release", "plugin:tide", "1.1.0");
  t.match(released, { code: 0, stderr: /^plugin:tide 1\.1\.0 is open to every host, unless it is yanked\.$/m });
  const { body } = await hub.call("GET", "/app/marketplace/plugins/tide");
  t.equal(body["latest_version"], "1.0.0", "which it is");
  const again = await sealift("version", "release", "plugin:tide", "1.1.0");
  t.match(again, { code: 0, stderr: /was not held; nothing has changed/ });
});
