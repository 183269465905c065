import { createPrivateKey, createPublicKey, sign } from "node:crypto";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import {
  createProject,
  isErrorBody,
  newSigner,
  publication,
  publishForm,
  startHub,
  storedFiles,
} from "../../support/hub/harness.ts";

t.test("the parts of the form may come in any order", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  t.equal((await project.publish(publication("1.0.0"), { fileFirst: true })).status, 201);
  t.equal((await project.publish(publication("1.0.1"), { fileFirst: false })).status, 201);
  t.equal((await project.publish(publication("1.0.2", { size: 3_000_000 }), { fileFirst: true })).status, 201);
  t.equal((await storedFiles(hub)).length, 3);
});

t.test("the signature must verify over the bytes received, whether it came before or after them", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  for (const fileFirst of [true, false]) {
    const flipped = publication("1.0.0");
    flipped.bytes[500] = (flipped.bytes[500] ?? 0) ^ 1;
    isErrorBody(t, await project.publish(flipped, { fileFirst }), 400, "signature_rejected");
    const otherKey = { ...publication("1.0.0"), publicKey: newSigner().publicKey };
    isErrorBody(t, await project.publish(otherKey, { fileFirst }), 400, "signature_rejected");
    const lowOrder = { ...publication("1.0.0"), publicKey: Buffer.alloc(32), signature: Buffer.alloc(64) };
    isErrorBody(t, await project.publish(lowOrder, { fileFirst }), 400, "signature_rejected");
  }
  t.strictSame(await storedFiles(hub), []);
  const bearer = await project.session();
  const latest = await hub.call("GET", `/app/deploy/v1/projects/${project.id}/versions/latest`, { bearer });
  isErrorBody(t, latest, 404, "no_version");
});

t.test("fields that are malformed or missing are named, and nothing is stored", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  const short = (bytes: number) => Buffer.alloc(bytes, 7).toString("base64");
  for (const fileFirst of [true, false]) {
    const attempt = (changes: Record<string, string | undefined>) =>
      project.publish(publication("1.0.0"), { fileFirst, changes });
    isErrorBody(t, await attempt({ dek: "%%%" }), 400, "bad_request");
    isErrorBody(t, await attempt({ dek: short(31) }), 400, "bad_request");
    isErrorBody(t, await attempt({ signer_public_key: short(33) }), 400, "bad_request");
    isErrorBody(t, await attempt({ signature: short(63) }), 400, "bad_request");
    isErrorBody(t, await attempt({ version: "../../x" }), 422, "unprocessable");
    for (const version of ["latest", "v2.0.0", "2.0", "02.0.0", "2.0.0-"])
      isErrorBody(t, await attempt({ version }), 422, "unprocessable");
    isErrorBody(t, await attempt({ project_name: "a\0b" }), 422, "unprocessable");
    isErrorBody(t, await attempt({ content_sha256: "abc" }), 422, "unprocessable");
    isErrorBody(t, await attempt({ project_name: "x".repeat(9000) }), 413, "too_large");
    for (const field of ["version", "project_name", "content_sha256", "dek", "signature", "signer_public_key"]) {
      const answer = await attempt({ [field]: undefined });
      isErrorBody(t, answer, 422, "unprocessable");
      t.match(answer.body.error, `${field} is missing`);
    }
  }
  const withoutFile = publishForm(publication("1.0.0"));
  withoutFile.delete("artifact");
  const answer = await hub.call("POST", `/app/deploy/v1/projects/${project.id}/publish`, {
    key: project.key,
    form: withoutFile,
  });
  isErrorBody(t, answer, 422, "unprocessable");
  t.match(answer.body.error, /artifact/);
  t.strictSame(await storedFiles(hub), []);
});

t.test("unknown fields and further files are ignored, repeated ones refused", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  const send = (form: FormData) =>
    hub.call("POST", `/app/deploy/v1/projects/${project.id}/publish`, { key: project.key, form });
  const extra = publishForm(publication("1.0.0"));
  extra.set("comment", "hello");
  extra.set("notes", new Blob([new Uint8Array(100_000)]), "notes.txt");
  t.equal((await send(extra)).status, 201);
  const twice = publishForm(publication("1.0.1"));
  twice.append("version", "1.0.2");
  isErrorBody(t, await send(twice), 400, "bad_request");
  const twoFiles = publishForm(publication("1.0.1"));
  twoFiles.append("artifact", new Blob([new Uint8Array(10)]), "artifact.xdeploy");
  isErrorBody(t, await send(twoFiles), 400, "bad_request");
  t.equal((await storedFiles(hub)).length, 1);
});

t.test("the same bytes again give the same record, other bytes the stored content_sha256", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  const what = publication("1.0.0");
  const first = await project.publish(what);
  const again = await project.publish(what);
  t.equal(first.status, 201);
  t.equal(again.status, 200);
  t.strictSame(again.body, first.body);
  const other = await project.publish({ ...publication("1.0.0"), contentSha256: "0".repeat(64) });
  isErrorBody(t, other, 409, "version_exists");
  t.equal(other.body.content_sha256, what.contentSha256);
  t.equal((await storedFiles(hub)).length, 1);
});

t.test("of several publishers of one version exactly one wins, and no orphan stays", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  const answers = await Promise.all(
    Array.from({ length: 6 }, () => project.publish(publication("1.0.0", { size: 400_000 }))),
  );
  t.strictSame(answers.map(({ status }) => status).sort(), [201, 409, 409, 409, 409, 409]);
  const winner = answers.find(({ status }) => status === 201);
  t.strictSame(await storedFiles(hub), [winner?.body.artifact_id]);
});

t.test("publishing asks for the scope, and for a key of that project", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  const other = await createProject(hub);
  const reader = await createProject(hub, ["read"]);
  const send = (key: string | null, id = project.id) =>
    hub.call("POST", `/app/deploy/v1/projects/${id}/publish`, { key, form: publishForm(publication("1.0.0")) });
  isErrorBody(t, await send(null), 401, "key_missing");
  isErrorBody(t, await send("slk_wrong"), 401, "key_rejected");
  isErrorBody(t, await send(other.key), 403, "forbidden");
  isErrorBody(t, await send(reader.key, reader.id), 403, "forbidden");
  isErrorBody(t, await send(project.key, "prj_missing000"), 403, "forbidden");
  isErrorBody(t, await send(hub.adminKey, "prj_missing000"), 404, "not_found");
  t.equal((await send(hub.adminKey)).status, 201);
});

t.test("what is larger than the hub accepts is refused, declared or not", async (t) => {
  const hub = await startHub(t, { maxArtifactBytes: 100_000 });
  const project = await createProject(hub);
  t.equal((await project.publish(publication("1.0.0", { size: 100_000 }))).status, 201);
  isErrorBody(t, await project.publish(publication("1.0.1", { size: 100_001 })), 413, "too_large");
  isErrorBody(t, await project.publish(publication("1.0.1", { size: 3_000_000 })), 413, "too_large");
  t.equal((await storedFiles(hub)).length, 1);
});

t.test("a body that is not the form of the route is refused", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  const send = (contentType: string, body: string) =>
    hub.call("POST", `/app/deploy/v1/projects/${project.id}/publish`, {
      key: project.key,
      body,
      headers: { "content-type": contentType },
    });
  isErrorBody(t, await send("application/json", "{}"), 415, "unsupported_media_type");
  isErrorBody(t, await send("multipart/form-data", "--x--"), 400, "bad_request");
  isErrorBody(t, await send("multipart/form-data; boundary=x", "no parts here"), 400, "bad_request");
  const cut = '--x\r\nContent-Disposition: form-data; name="artifact"; filename="a"\r\n\r\nabc';
  isErrorBody(t, await send("multipart/form-data; boundary=x", cut), 400, "bad_request");
  const prototype = '--x\r\nContent-Disposition: form-data; name="__proto__"\r\n\r\nabc\r\n--x--\r\n';
  const answer = await send("multipart/form-data; boundary=x", prototype);
  t.ok(answer.status === 400 || answer.status === 422, String(answer.status));
  t.strictSame(await storedFiles(hub), []);
});

t.test("a publisher that dies in the middle leaves nothing", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  const { hostname, port } = new URL(hub.url);
  const socket = connect(Number(port), hostname);
  socket.write(
    `POST /app/deploy/v1/projects/${project.id}/publish HTTP/1.1\r\nHost: x\r\nX-API-Key: ${project.key}\r\n` +
      "Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 50000000\r\n\r\n" +
      '--x\r\nContent-Disposition: form-data; name="artifact"; filename="artifact.xdeploy"\r\n' +
      "Content-Type: application/octet-stream\r\n\r\n",
  );
  socket.write(Buffer.alloc(3_000_000, 1));
  let arriving: string[] = [];
  for (let i = 0; i < 100 && arriving.length === 0; i++) {
    await delay(20);
    arriving = await storedFiles(hub);
  }
  t.match(arriving, [/\.part$/]);
  socket.destroy();
  let left = arriving;
  for (let i = 0; i < 200 && left.length > 0; i++) {
    await delay(20);
    left = await storedFiles(hub);
  }
  t.strictSame(left, []);
  t.equal((await project.publish(publication("1.0.0"))).status, 201, "the hub goes on");
});

t.test("a signer whose private key is an earlier signer's public key is refused", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  const signer = newSigner();
  t.equal((await project.publish(publication("1.0.0", { signer }))).status, 201);
  const mistaken = createPrivateKey({
    key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), signer.publicKey]),
    format: "der",
    type: "pkcs8",
  });
  const publicKey = createPublicKey(mistaken).export({ format: "der", type: "spki" }).subarray(-32);
  const everybody = { publicKey, sign: (bytes: Uint8Array) => sign(null, bytes, mistaken) };
  const refused = await project.publish(publication("1.1.0", { signer: everybody }));
  isErrorBody(t, refused, 400, "signature_rejected");
  t.match(refused.body.error, /public key in the place of the private one/);
  t.equal((await project.publish(publication("1.1.0", { signer: newSigner() }))).status, 201, "a new key is fine");
});
