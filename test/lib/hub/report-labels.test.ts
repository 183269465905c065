// Holds: which labels of a report count (lib/contract/labels.ts)
import t from "tap";
import { startHub } from "../../support/hub/harness.ts";
import { operatedFleet } from "../../support/hub/project-fleet.ts";

t.test("labels travel in a report's header, and its own field beats it", async (t) => {
  const hub = await startHub(t);
  const { project, key } = await operatedFleet(hub);
  const bearer = await project.session();
  const send = (host: string, more: object, labels: string) =>
    hub.call("POST", "/app/deploy/v1/deployments/report", {
      bearer,
      headers: { "x-sealift-labels": labels },
      json: {
        ...{ project_id: project.id, deployment_id: host, status: "success", version: "1.0.0", plugins: [] },
        ...{ started_at: "", completed_at: "", host_id: host, ...more },
      },
    });
  await send("header", {}, "env=canary,region=eu,Bad=x");
  await send("both", { labels: { env: "prod" } }, "env=canary");
  const { body } = await hub.call("GET", `/app/deploy/v1/projects/${project.id}/hosts`, { key });
  t.match(body, { header: { labels: { env: "canary", region: "eu" } }, both: { labels: { env: "prod" } } });

  const kind = { kind: "plugin", slug: "tides", version: "1.0.0", status: "success", host_id: "quay" };
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tides", kind: "plugin", slug: "tides" } });
  const at = new Date().toISOString();
  const answer = await hub.call("POST", "/app/deployments/deployments/report", {
    headers: { "x-sealift-labels": "env=canary" },
    json: { ...kind, started_at: at, completed_at: at },
  });
  t.match(answer.body, { labels: { env: "canary" } }, "on surface A, too");
});

t.test("a body by an unknown transfer coding is 400", async (t) => {
  const hub = await startHub(t);
  const { connect } = await import("node:net");
  const { hostname, port } = new URL(hub.url);
  const socket = connect(Number(port), hostname);
  socket.end(
    `POST /devkeys/projects HTTP/1.1\r\nHost: ${hostname}\r\nX-API-Key: ${hub.adminKey}\r\n` +
      "Content-Type: application/json\r\nTransfer-Encoding: xchunked\r\nConnection: close\r\n\r\n{}",
  );
  let text = "";
  for await (const chunk of socket) text += String(chunk);
  t.match(text, /^HTTP\/1\.1 400 /);
});
