// Holds: what is kept of an upload that was cut, and who goes on with it (lib/hub/publications/kept-uploads.ts)
/** Two hubs share a folder of blobs: what one hub keeps must not cost an upload that comes to the other. */
import { once } from "node:events";
import { connect } from "node:net";
import t from "tap";
import { createProject, publication } from "../../support/hub/harness.ts";
import { startPostgres } from "../../support/hub/postgres-server.ts";
import { cutUpload, incomingFiles, namedForm, newUploadId, placeOf } from "../../support/hub/resumed.ts";
import { startTwoHubs } from "../../support/hub/two-hubs.ts";
import { until } from "../../support/until.ts";

const MIB = 1024 * 1024;

t.test("an upload under way at one hub outlives cuts of its owner's uploads at the other", async (t) => {
  const databaseUrl = await startPostgres(t);
  if (databaseUrl === undefined) return void t.plan(0, "PostgreSQL is not installed");
  const [first, second] = await startTwoHubs(t, { databaseUrl });
  const place = placeOf(await createProject(first));
  const response = new Response(namedForm(publication("1.0.0", { size: 3 * MIB }), newUploadId()));
  const body = Buffer.from(await response.arrayBuffer());
  const { hostname, port } = new URL(first.url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const head = [
    `POST ${place.base}/publish HTTP/1.1`,
    ...["Host: hub", `X-API-Key: ${place.key}`, `Content-Type: ${response.headers.get("content-type")!}`],
    ...[`Content-Length: ${body.length}`, "Connection: close", "", ""],
  ].join("\r\n");
  socket.write(head);
  socket.write(body.subarray(0, 2 * MIB));
  await until(async () => Object.values(await incomingFiles(first)).some((bytes) => bytes >= MIB));
  // Others of the owner are cut at the second hub, while the first upload pauses.
  for (let index = 0; index < 9; index++)
    await cutUpload(second, place, namedForm(publication(`2.${index}.0`, { size: MIB }), newUploadId()), MIB / 2);
  socket.write(body.subarray(2 * MIB));
  await until(() => text.includes("\r\n\r\n"));
  t.match(text, /^HTTP\/1\.1 201 /);
});
