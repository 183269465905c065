// Only in test:all: fleets of many hosts.
import t from "tap";
import { doctorOf } from "../../support/host/doctor.ts";
import { World } from "../../support/host/world.ts";

t.test("a host learns that a rollout keeps a version from it", { timeout: 120_000 }, async (t) => {
  await using world = await World.make();
  await world.publish("1.0.0");
  const root = world.path("host");
  const secrets = world.hostSecrets();
  await world.programs.run("deploy-project", world.deployArgs(root), secrets);
  const target = `project:${world.projectId}`;
  const why = () => doctorOf(target, ["--project-root", root, "--host-id", "pier-1"], secrets);
  const hub = (...words: string[]) => world.programs.run("sealift", words, world.admin);
  await hub("rollout", "start", target, "1.1.0", "--waves", "env=canary,100%", "--allow-empty-wave", "--soak", "1h");
  await world.publish("1.1.0");
  t.match(await why(), { code: 0, reason: "wave", message: /and not 1\.1\.0: .*\(1 of 2 waves open\)/ });
  await hub("rollout", "abort", target, "--reason", "loses data");
  t.match(await why(), { code: 0, reason: "held", message: /\(aborted\): loses data\.$/ });
  await hub("version", "yank", target, "1.1.0", "--reason", "loses more");
  t.match(await why(), { code: 0, reason: "yanked", message: /was yanked: loses more\.$/ });
  await hub("version", "unyank", target, "1.1.0");
  await hub("version", "release", target, "1.1.0");
  t.match(await why(), { code: 1, reason: "unheard", message: /no watch runs here/ });
});
