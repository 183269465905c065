import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { COMMANDS } from "../../commands/shell/registry.ts";
import { startHub } from "../support/hub/harness.ts";
import { signatureOf, startReceiver } from "../support/hub/receiver.ts";
import { senderOf } from "../support/hub/webhooks.ts";
import { runHere } from "../support/programs/run-here.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const webhookCommands = COMMANDS.filter(({ paths }) => paths?.[0]?.[0] === "webhook");

t.test("a receiver is added, tried, given another secret, found to be away, and removed", async (t) => {
  const folder = temporaryFolder(t);
  process.env["XDG_CONFIG_HOME"] = folder;
  const hub = await startHub(t, { webhookAllow: ["127.0.0.1"] });
  const receiver = await startReceiver(t);
  Object.assign(process.env, { SEALIFT_HUB_URL: hub.url, SEALIFT_API_KEY: hub.adminKey });
  const run = (line: string) => runHere(webhookCommands, line.split(" "));
  const { body: tide } = await hub.call("POST", "/devkeys/projects", {
    json: { name: "Tide", kind: "plugin", slug: "tide" },
  });

  const file = join(folder, "url");
  await writeFile(file, `${receiver.url}/s3cret\n`);
  const added = await run(`webhook add --name ops --webhook-url-file ${file} --event host.failed --target Tide`);
  t.match(added, { code: 0, stdout: /^SEALIFT_WEBHOOK_SECRET=whsec_\S+\n$/, stderr: /sealift webhook test ops/ });
  t.notMatch(added.stderr, /s3cret/);
  const secretIn = ({ stdout }: { stdout: string }): string => stdout.trim().replace("SEALIFT_WEBHOOK_SECRET=", "");
  t.match(await run("webhook test ops"), { code: 0, stderr: /reached ops/ });
  t.equal(receiver.received[0]!.headers["webhook-signature"], signatureOf(receiver.received[0]!, secretIn(added)));
  const rotated = await run("webhook rotate ops --grace 0");
  await run("webhook test ops");
  t.equal(receiver.received[1]!.headers["webhook-signature"], signatureOf(receiver.received[1]!, secretIn(rotated)));

  receiver.answer = (response) => response.writeHead(410).end();
  t.match(await run("webhook test ops"), { code: 1, stderr: /the receiver answered 410/ });
  const report = {
    ...{ kind: "plugin", slug: "tide", version: "1.0.0", status: "failed", host_id: "a", error_message: "no port" },
    ...{ started_at: "2026-01-01T00:00:00Z", completed_at: "2026-01-01T00:00:00Z" },
  };
  await hub.call("POST", "/app/deployments/deployments/report", { json: report });
  await senderOf(hub.hub).idle();
  const { body } = await hub.call("GET", "/devkeys/webhooks");
  t.match(
    (body as { items: object[] }).items,
    [{ target: "plugin:tide", events: ["host.failed"], dead: 1 }],
    String(tide),
  );
  t.match(await run("webhook list"), { code: 0, stdout: /^ops\s.*127\.0\.0\.1.*disabled/m });
  t.match(await run("webhook deliveries ops"), { code: 0, stdout: /host\.failed\s+dead/ });
  t.match(await run("webhook redeliver ops"), { code: 1, stderr: /disabled/ });
  receiver.answer = (response) => response.writeHead(200).end();
  t.match(await run("webhook enable ops"), { code: 0, stderr: /sealift webhook redeliver ops/ });
  t.match(await run("webhook redeliver ops"), { code: 0, stderr: /^1 message is on the way to / });
  await senderOf(hub.hub).idle();
  t.match(receiver.received.at(-1)!.body, { type: "host.failed", data: { host_id: "a" } });

  t.match(await run("webhook remove ops --dry-run"), { code: 0, stderr: /^would remove ops/ });
  t.match(await run("webhook remove ops"), { code: 0, stderr: /^Removed ops/ });
  t.match(await run("webhook test ops"), { code: 1, stderr: /no webhook named "ops"/ });
  t.match(await run("webhook add --webhook-url https://10.0.0.1/"), { code: 1, stderr: /private address/ });
  t.match(await run("webhook add --webhook-url https://10.0.0.1/ --event lunch"), { code: 2, stderr: /is one of/ });
});
